"""The trials of a study while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import optuna
    from optuna.distributions import BaseDistribution

    from betabo.optuna.recommendation import Recommended
    from betabo.optuna.trials import TrialRecord


class TrialReader:
    """Reads the trials of a study again and again; what has ended is read once.

    Args:
        study: Any study of Optuna's.
    """

    def __init__(self, study: optuna.Study) -> None:
        self._study = study
        self._over: dict[int, TrialRecord] = {}
        self._box: dict[str, BaseDistribution] = {}

    def recommended(self) -> Recommended | None:
        """What the model believes best where it sees noise; None elsewhere."""
        from betabo.optuna.recommendation import recommended_with_noise

        return recommended_with_noise(self._study, self.read())

    def read(self) -> list[TrialRecord]:
        """The trials in the order of their numbers, without those that were withdrawn before they began.

        Raises:
            StudyError: The storage cannot be read.
        """
        from betabo.optuna.box import planned_box
        from betabo.optuna.trials import TrialRecord

        self._box = self._box or planned_box(self._study)
        found = self._study.get_trials(deepcopy=False)
        for frozen in found:
            if frozen.state.is_finished() and frozen.number not in self._over:
                self._over[frozen.number] = TrialRecord.of(frozen, self._box)
        trials = [self._over.get(frozen.number) or TrialRecord.of(frozen, self._box) for frozen in found]
        return [trial for trial in trials if trial.state != "withdrawn"]

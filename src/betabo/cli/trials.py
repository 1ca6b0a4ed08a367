"""The trials of a study while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import optuna

    from betabo.optuna.trials import TrialRecord


class TrialReader:
    """Reads the trials of a study again and again; what has ended is read once.

    Args:
        study: Any study of Optuna's.
    """

    def __init__(self, study: optuna.Study) -> None:
        self._study = study
        self._over: dict[int, TrialRecord] = {}

    def read(self) -> list[TrialRecord]:
        """The trials in the order of their numbers, without those that were withdrawn before they began.

        Raises:
            StudyError: The storage cannot be read.
        """
        from betabo.optuna.trials import TrialRecord

        found = self._study.get_trials(deepcopy=False)
        for frozen in found:
            if frozen.state.is_finished() and frozen.number not in self._over:
                self._over[frozen.number] = TrialRecord.of(frozen)
        trials = [self._over.get(frozen.number) or TrialRecord.of(frozen) for frozen in found]
        return [trial for trial in trials if trial.state != "withdrawn"]

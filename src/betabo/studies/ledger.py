"""The books of a study: which trials count, which were interrupted, which are still owed.

An interrupted trial is repeated as a new trial that says `retry_of` whom. A *line* is a trial and its repetitions; it
yields one result. A new line may start only while fewer lines than the study's total were started before it. Trial
numbers are given out by the database one at a time, so every worker comes to the same decision, and lines that were
accepted never exceed the total, however many workers there are. A trial that somebody put into the queue is run the
same way, as a new trial in its place, because that is one step of the database and taking it over would be two.

Two workers may open a repetition of the same trial at once. The one with the lower number goes on with the line; the
other is *spare*: it is never run, and never repeated, even if both workers die before either of them looks.

What is written into a trial is written before its state becomes final, in an order that leaves nothing in doubt when
the writer dies in between.
"""

from __future__ import annotations

from collections.abc import Sequence

from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import RETRY_OF, WORKER
from betabo.optuna.trials import COUNTED, State, state_of


class Ledger:
    """The trials of a study, in the order of their numbers, and what follows from them."""

    def __init__(self, trials: Sequence[FrozenTrial]) -> None:
        self.trials = sorted(trials, key=lambda trial: trial.number)
        self._states = {trial.number: state_of(trial) for trial in self.trials}
        self._by_number = {trial.number: trial for trial in self.trials}
        self._retries: dict[int, int] = {}
        self._spare: set[int] = set()
        for number, trial in self._by_number.items():
            repeated = trial.system_attrs.get(RETRY_OF)
            if repeated is None:
                continue
            is_idle = self._states[number] == "withdrawn" or repeated in self._spare
            if is_idle or self._retries.setdefault(repeated, number) != number:
                self._spare.add(number)

    def state(self, trial: FrozenTrial) -> State:
        """What became of a trial."""
        return self._states[trial.number]

    def is_spare(self, trial: FrozenTrial) -> bool:
        """Whether a trial is a repetition that its line does without: withdrawn, not the first, or of such a one."""
        return trial.number in self._spare

    @property
    def finished(self) -> int:
        """Number of trials that count: complete, pruned, or failed by the objective."""
        return sum(state in COUNTED for state in self._states.values())

    @property
    def running(self) -> list[FrozenTrial]:
        """The trials that are open: a worker runs them, or ran them until it died, and nobody has closed them yet.

        One machine knows at once that a worker is dead and another one later. So that all come to the same numbers, it
        is the closing that counts.
        """
        return [t for t in self.trials if t.state == TrialState.RUNNING and not self._is_foreign(t)]

    @property
    def owed(self) -> list[FrozenTrial]:
        """The trials that were interrupted, or are in the queue, and that nobody runs yet."""
        return [
            trial
            for trial in self.trials
            if self.state(trial) in ("interrupted", "waiting")
            and trial.state != TrialState.RUNNING
            and trial.number not in self._retries
            and not self.is_spare(trial)
        ]

    @property
    def taken(self) -> int:
        """Number of trials that count, or will once they have ended."""
        return self.finished + len(self.running)

    @property
    def lines(self) -> int:
        """Number of lines."""
        return self._lines_before(len(self.trials))

    @property
    def waiting(self) -> list[FrozenTrial]:
        """The trials in the queue."""
        return [trial for trial in self.trials if self.state(trial) == "waiting"]

    def may_run(self, number: int, total: int) -> bool:
        """Whether a trial is needed in a study of `total` trials, and is not spare."""
        trial = self._by_number[number]
        if RETRY_OF not in trial.system_attrs:
            return self._lines_before(number) < total
        earlier = sum(other.number < number for other in self.running)
        return not self.is_spare(trial) and self.finished + earlier < total

    def _lines_before(self, number: int) -> int:
        """Number of lines that began before trial `number`."""
        return sum(
            trial.number < number
            and RETRY_OF not in trial.system_attrs
            and (self.state(trial) != "withdrawn" or trial.number in self._retries)
            and not self._is_foreign(trial)
            for trial in self.trials
        )

    def _is_foreign(self, trial: FrozenTrial) -> bool:
        """Whether a trial is run by a program that uses Optuna directly, which may be dead without anybody knowing."""
        return trial.state == TrialState.RUNNING and WORKER not in trial.system_attrs

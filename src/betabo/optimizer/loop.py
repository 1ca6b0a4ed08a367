"""The loop of a search: ask, evaluate, tell, until there is enough; whatever keeps the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from betabo.optimizer.callers import Caller
from betabo.optimizer.evaluation import OnError, explain_first, is_double_interrupt
from betabo.optimizer.history import Evaluation
from betabo.optimizer.optimizer import Optimizer, TooManyFailuresError
from betabo.optimizer.progress import SearchProgress
from betabo.optimizer.result import SearchResult
from betabo.optimizer.stopping import Progress, Stopping
from betabo.problem import Measurement, Problem


class Search(Protocol):
    """What proposes points and keeps the record."""

    @property
    def problem(self) -> Problem:
        """What is searched for."""

    @property
    def evaluated(self) -> list[Evaluation]:
        """The evaluations so far, without what was known before."""

    def ask(self) -> Any:
        """The next point, in the user's units; None if no more are to be evaluated, or none before another has ended.

        Raises:
            TooManyFailuresError: So many evaluations failed in a row that going on makes no sense.
        """

    def tell(self, point: Any, found: Measurement) -> None:
        """Record what the evaluation of a point gave, the very one that was asked for."""

    def tell_failure(self, point: Any, reason: str) -> None:
        """Record that the evaluation of a point failed."""

    def withdraw(self, point: Any) -> None:
        """Take a point back, as if it had not been asked for: the objective is broken."""

    def result(self, message: str = "", *, refit: bool = True) -> SearchResult:
        """The best point so far and the whole record."""

    def progress(self) -> Progress:
        """What a rule for stopping sees."""

    def close(self) -> None:
        """Let go of what is held; points under way are no longer waited for."""


class MemorySearch:
    """A search that lives as long as this process.

    Args:
        optimizer: What proposes, and keeps the record.
        budget: Number of evaluations.
        confirm: Share of them that is kept for the end, to measure promising points again.
    """

    def __init__(self, optimizer: Optimizer, budget: int, confirm: float = 0.0) -> None:
        self._optimizer, self._budget = optimizer, budget
        self._searching = budget - round(confirm * budget)
        self._asked = 0

    @property
    def problem(self) -> Problem:
        """What is searched for."""
        return self._optimizer.problem

    @property
    def evaluated(self) -> list[Evaluation]:
        """The evaluations so far."""
        return self._optimizer.evaluated

    def ask(self) -> Any:
        """The next point; None once the budget is used up."""
        if self._asked >= self._budget:
            return None
        self._asked += 1
        return self._optimizer.ask(confirm=self._asked > self._searching)

    def tell(self, point: Any, found: Measurement) -> None:
        """Record what the evaluation of a point gave."""
        self._optimizer.tell(point, found)

    def tell_failure(self, point: Any, reason: str) -> None:
        """Record that the evaluation of a point failed."""
        self._optimizer.tell_failure(point, reason)

    def withdraw(self, point: Any) -> None:
        """Nothing: the record ends with the search."""

    def result(self, message: str = "", *, refit: bool = True) -> SearchResult:
        """The best point so far and the whole record."""
        return self._optimizer.result(message, refit=refit)

    def progress(self) -> Progress:
        """What a rule for stopping sees."""
        return self._optimizer.progress()

    def close(self) -> None:
        """Nothing is held."""


def run_search(
    search: Search,
    caller: Caller,
    display: SearchProgress,
    *,
    budget: int,
    stopping: Stopping,
    on_error: OnError = "raise",
    callback: Callable[[SearchResult], Any] | None = None,
) -> SearchResult:
    """Run a search to its end.

    Args:
        search: What proposes points and keeps the record.
        caller: Who calls the objective.
        display: Where progress is shown.
        budget: Number of evaluations that end it.
        stopping: What may end it before.
        on_error: See `betabo.minimize`.
        callback: See `betabo.minimize`.
    """
    message, complete = "", True
    try:
        while True:
            while caller.is_free and not message and (point := search.ask()) is not None:
                caller.submit(point)
            if not caller.is_busy:
                break
            point, returned = caller.take()
            try:
                found = search.problem.measure(returned())
            except Exception as error:
                if on_error == "raise" and all(evaluation.failed for evaluation in search.evaluated):
                    search.withdraw(point)
                    explain_first(error)
                    raise
                search.tell_failure(point, f"{type(error).__name__}: {error}")
            else:
                search.tell(point, found)
            display.update(search.evaluated)
            answer = None if callback is None else callback(search.result(refit=False))
            if isinstance(answer, (bool, np.bool_)) and answer:
                message = message or "the callback asked to stop"
            elif len(search.evaluated) < budget and not stopping.is_empty:
                message = message or stopping.reason(search.progress())
    except TooManyFailuresError as error:
        message, complete = str(error), False
    except KeyboardInterrupt:
        if is_double_interrupt() or not search.evaluated:
            raise
        message, complete = f"interrupted after {len(search.evaluated)} evaluations", False
    result = search.result(message or f"the budget of {budget} evaluations is used up")
    result.success = complete and result.success
    return result

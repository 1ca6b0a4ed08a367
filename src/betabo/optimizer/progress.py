"""An optional display of a search on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from betabo.extras import needs_extra
from betabo.optimizer.history import Evaluation
from betabo.optimizer.result import best_of
from betabo.problem import Problem


class SearchProgress:
    """Shows nothing."""

    def update(self, history: list[Evaluation]) -> None:
        """Called after each evaluation."""

    def __enter__(self) -> SearchProgress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


@contextmanager
def show_progress(budget: int, problem: Problem) -> Iterator[SearchProgress]:
    """A bar with the best value and the time left."""
    with needs_extra("progress", "progress=True needs rich"):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    columns = (
        TextColumn(" and ".join(dict.fromkeys(problem.directions)).replace("ize", "izing")),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("best {task.fields[best]}"),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns) as bar:
        task = bar.add_task("", total=budget, best="-", failed="")

        class Bar(SearchProgress):
            def update(self, history: list[Evaluation]) -> None:
                best = best_of(problem, history)
                failures = sum(evaluation.failed for evaluation in history)
                bar.update(
                    task,
                    completed=len(history),
                    best="-" if best is None else ", ".join(f"{number:.6g}" for number in best.numbers),
                    failed=f"{failures} failed" if failures else "",
                )

        yield Bar()

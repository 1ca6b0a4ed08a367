"""An optional display of a search on the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from betabo.extras import needs_extra
from betabo.optimizer.history import Evaluation


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
def show_progress(budget: int) -> Iterator[SearchProgress]:
    """A bar with the best value and the time left."""
    with needs_extra("progress", "progress=True needs rich"):
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    columns = (
        TextColumn("minimizing"),
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
                values = [e.value for e in history if e.value is not None]
                failures = len(history) - len(values)
                bar.update(
                    task,
                    completed=len(history),
                    best=f"{min(values):.6g}" if values else "-",
                    failed=f"{failures} failed" if failures else "",
                )

        yield Bar()

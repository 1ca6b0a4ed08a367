"""`betabo compress` with a goal: a size, a largest drop, a front, or a point of a front. Nothing is searched."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.cli.errors import warn

if TYPE_CHECKING:
    from betabo.compress.by_size import CompressionBySize, SizedModel
    from betabo.compress.figures import ModelFigures
    from betabo.compress.session import CompressionSession


@dataclass(frozen=True)
class Goal:
    """What a compression without a search is to reach.

    Attributes:
        target_size: Share of the layers' parameters that is left.
        max_drop: How much the metric may fall.
        front: Whether several sizes are made at once.
        pick: Folder of a front, of which one point is stored.
    """

    target_size: float | None = None
    max_drop: float | None = None
    front: bool = False
    pick: Path | None = None

    @property
    def given(self) -> bool:
        """Whether there is a goal."""
        return any((self.target_size is not None, self.max_drop is not None, self.front, self.pick is not None))

    def check(self, protocol: str | None, search: Sequence[str]) -> None:
        """Refuse what does not go together.

        Args:
            protocol: The protocol that was asked for.
            search: Options of a search that were given.

        Raises:
            ValueError: There is no goal, more than one, or one with a search.
        """
        goals = {
            "--target-size": self.target_size is not None and self.pick is None,
            "--max-drop": self.max_drop is not None,
            "--front": self.front,
            "--pick": self.pick is not None,
        }
        chosen = [name for name, given in goals.items() if given]
        if len(chosen) != 1:
            found = " and ".join(chosen) if chosen else "none"
            raise ValueError(f"the goal is {found}; expected one of {', '.join(goals)}.")
        if self.pick is not None and self.target_size is None:
            raise ValueError("--pick is without --target-size; give the size of the point to store.")
        if protocol == "paper":
            raise ValueError(f"{chosen[0]} is given with --protocol paper, which searches; leave one of them out.")
        if search:
            raise ValueError(f"{search[0]} is for a search, and {chosen[0]} needs none; leave one of them out.")
        if self.target_size is not None and not 0 < self.target_size <= 1:
            raise ValueError(f"--target-size is {self.target_size:g}, expected a share above 0 and at most 1.")
        if self.max_drop is not None and not 0 <= self.max_drop < 1:
            raise ValueError(f"--max-drop is {self.max_drop:g}, expected a share from 0 to less than 1.")


def compress_by_size(session: CompressionSession, goal: Goal, steps: int, say: Callable[[str], None]) -> None:
    """Reach a goal, store what came of it, and print it."""
    from betabo.compress.by_size import FRONT_FILE, write_front

    dims = session.prepared.plan.dims

    def progress(done: int, total: int) -> None:
        if done * 4 // total > (done - 1) * 4 // total:
            say(f"  {done} of {total}")

    sized = session.by_size(steps=steps, on_progress=progress)
    say(f"measuring what each of the {dims} coordinates is worth")
    _ = sized.sensitivities
    if goal.front:
        front = sized.front()
        settings = {**asdict(session.settings), "steps_after": steps}
        write_front(session.out / FRONT_FILE, front, settings)
        _print_front(sized, front)
        _screen_line(f"front: {session.out}; store one with: betabo compress --pick {session.out} --target-size S")
        return
    if goal.target_size is not None:
        chosen = sized.at(goal.target_size)
    else:
        say(f"looking for the smallest size that loses at most {goal.max_drop:.2%}")
        chosen = sized.within(goal.max_drop or 0.0)
    _store(sized, chosen, session.out, say)


def pick_from_front(folder: Path, size: float, out: Path, *, quiet: bool) -> None:
    """Store the largest model of a front that is not larger than a size."""
    from betabo.compress.by_size import FRONT_FILE, largest_within, read_front
    from betabo.compress.session import CompressionSession
    from betabo.compress.settings import CompressionSettings

    def say(line: str) -> None:
        if not quiet:
            _screen_line(line)

    front, settings = read_front(folder / FRONT_FILE)
    chosen = largest_within(front, size)
    steps = settings.pop("steps_after")
    session = CompressionSession(CompressionSettings(**settings), folder, on_stage=say)
    _store(session.by_size(steps=steps), chosen, out, say)


def _store(sized: CompressionBySize, chosen: SizedModel, out: Path, say: Callable[[str], None]) -> None:
    from betabo.compress.figures import only_guesses

    say("measuring it beside the original, one ratio for all layers, and eight bits")
    table = sized.store(chosen, out)
    problem = sized.problem
    _print_table(table, problem.task.metric, str(problem.device))
    labels = problem.data.validation.tensors.get("label")
    if only_guesses(chosen.result.metrics, problem.task.metric, labels):
        warn("this model only guesses: it is no better than the most frequent answer; take a larger size, or train")
    _screen_line(f"model: {out}")


def _print_front(sized: CompressionBySize, front: Sequence[SizedModel]) -> None:
    from betabo.cli.tables import console, print_table, table

    metric = sized.problem.task.metric
    listing = table()
    for head in ("size", "parameters", "FLOPs", f"{metric}, validation", "change"):
        listing.add_column(head, justify="right", no_wrap=True)
    original = sized.problem.original
    for result in (*(point.result for point in front), original):
        found = result.metrics[metric]
        cells = (f"{result.size:.3f}", f"{result.parameters:,}", f"{result.flops:,}", f"{found:.4f}")
        listing.add_row(*cells, f"{found - original.metrics[metric]:+.4f}")
    print_table(console(), listing)


def _print_table(figures: Mapping[str, ModelFigures], metric: str, device: str) -> None:
    """A column for each model."""
    from betabo.cli.tables import console, print_table, table

    listing = table()
    listing.add_column("", no_wrap=True)
    for name in figures:
        listing.add_column(name, justify="right", no_wrap=True)
    models = list(figures.values())
    listing.add_row("size of the layers", *(f"{model.size:.3f}" for model in models))
    listing.add_row("megabytes", *(f"{model.megabytes:.1f}" for model in models))
    listing.add_row("MFLOPs", *(f"{model.flops / 1e6:,.1f}" for model in models))
    listing.add_row(f"latency ({device}), ms", *(f"{1e3 * model.latency:.2f}" for model in models))
    listing.add_row(f"{metric}, validation", *(f"{model.validation[metric]:.4f}" for model in models))
    if all(model.test is not None for model in models):
        listing.add_row(f"{metric}, test", *(f"{(model.test or {})[metric]:.4f}" for model in models))
    print_table(console(), listing)


def _screen_line(line: str) -> None:
    from betabo.cli.tables import console

    console().print(line, soft_wrap=True)

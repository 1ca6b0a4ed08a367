"""`betabo compress` with a goal: a size, a largest drop, a latency, a front, or a point of a front."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.cli.errors import warn
from betabo.compress.settings import EXAMPLES

if TYPE_CHECKING:
    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.front import SizedModel
    from betabo.compress.session import CompressionSession


ONLY_GUESSES = "this model only guesses: it is no better than the most frequent answer; take a larger size, or train it"


@dataclass(frozen=True)
class Goal:
    """What a compression that is not searched by the paper's protocol is to reach.

    Attributes:
        target_size: Share of the layers' parameters that is left.
        max_drop: How much the metric may fall.
        max_latency: Share of the original's latency.
        front: Whether several sizes are made at once.
        pick: Folder of a front, of which one point is stored.
    """

    target_size: float | None = None
    max_drop: float | None = None
    max_latency: float | None = None
    front: bool = False
    pick: Path | None = None

    @property
    def given(self) -> bool:
        """Whether there is a goal."""
        numbers = (self.target_size, self.max_drop, self.max_latency)
        return self.front or self.pick is not None or any(number is not None for number in numbers)

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
            "--max-latency": self.max_latency is not None,
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
            raise ValueError(
                f"{search[0]} is for a search by the paper's protocol, which {chosen[0]} is not; leave one of them out."
            )
        if self.target_size is not None and not 0 < self.target_size <= 1:
            raise ValueError(f"--target-size is {self.target_size:g}, expected a share above 0 and at most 1.")
        if self.max_drop is not None and not 0 <= self.max_drop < 1:
            raise ValueError(f"--max-drop is {self.max_drop:g}, expected a share from 0 to less than 1.")
        if self.max_latency is not None and not 0 < self.max_latency < 1:
            raise ValueError(
                f"--max-latency is {self.max_latency:g}, expected a share of the original's, above 0 and less than 1."
            )


@dataclass(frozen=True)
class SizeOptions:
    """How a goal is reached.

    Attributes:
        steps: Steps of training after compression.
        keep: Share of the rows that each layer keeps beside its low-rank part.
        int8: Whether the layers are rounded to eight bits.
        search: Designs that a search looks at, from where sensitivities lead.
        examples: Training examples that layers are decomposed for, and that is measured on.
    """

    steps: int = 0
    keep: float = 0.0
    int8: bool = False
    search: int = 0
    examples: int = EXAMPLES


def compress_by_size(session: CompressionSession, goal: Goal, options: SizeOptions, say: Callable[[str], None]) -> None:
    """Reach a goal, store what came of it, and print it."""
    from betabo.compress.front import FRONT_FILE, read_front, write_front

    dims = session.prepared.plan.dims

    def progress(done: int, total: int) -> None:
        if done * 4 // total > (done - 1) * 4 // total:
            say(f"  {done} of {total}")

    sized = _sized(session, options, say, progress)
    say(f"decomposing the layers, and measuring what each of the {dims} coordinates is worth")
    _ = sized.sensitivities
    if goal.front:
        metric, path = sized.problem.task.metric, session.out / FRONT_FILE
        about = json.loads(json.dumps({**asdict(session.settings), "options": asdict(options)}))
        before, of = read_front(path) if path.is_file() else ([], {})
        made: list[SizedModel] = []

        def on_point(point: SizedModel) -> None:
            made.append(point)
            write_front(path, made, about)  # as it happens: the same command goes on from there
            say(f"  size {point.result.size:.3f}: {metric} {point.result.metrics[metric]:.4f}")

        say("making a compression of each size")
        front = sized.front(on_point=on_point, known=before if of == about else ())
        _print_front(sized, front)
        _screen_line(f"front: {session.out}; store one with: betabo compress --pick {session.out} --target-size S")
        return
    if goal.target_size is not None:
        say(f"making a compression to a size of {goal.target_size:g}")
        chosen = sized.at(goal.target_size)
    elif goal.max_latency is not None:
        say(f"timing layers, and looking for what takes at most {goal.max_latency:.0%} of the original's time")
        chosen = sized.at_latency(goal.max_latency)
    else:
        say(f"looking for the smallest size that loses at most {goal.max_drop:.2%}")
        chosen = sized.within(goal.max_drop or 0.0)
    _store(sized, chosen, session.out, say)


def pick_from_front(folder: Path, size: float, out: Path, *, int8: bool, quiet: bool) -> None:
    """Store the largest model of a front that is not larger than a size, with eight bits on top if they are wanted."""
    from betabo.compress.front import FRONT_FILE, largest_within, read_front
    from betabo.compress.session import CompressionSession
    from betabo.compress.settings import CompressionSettings

    def say(line: str) -> None:
        if not quiet:
            _screen_line(line)

    front, settings = read_front(folder / FRONT_FILE)
    chosen = largest_within(front, size)
    before = {"steps": settings.pop("steps_after")} if "steps_after" in settings else settings.pop("options")
    session = CompressionSession(CompressionSettings(**settings), folder, on_stage=say)
    options = SizeOptions(**before)
    options = replace(options, int8=options.int8 or int8)
    sized = _sized(session, options, say)
    say(f"making the compression of size {chosen.result.size:.3f}")
    _store(sized, sized.made(chosen.target, chosen.ratios), out, say)


def _sized(
    session: CompressionSession,
    options: SizeOptions,
    say: Callable[[str], None],
    progress: Callable[[int, int], None] | None = None,
) -> CompressionBySize:
    from betabo.compress.preparation import training_progress

    on_loss = training_progress(say, options.steps) if options.steps else None
    return session.by_size(**asdict(options), on_progress=progress, on_loss=on_loss)


def _store(sized: CompressionBySize, chosen: SizedModel, out: Path, say: Callable[[str], None]) -> None:
    from betabo.compress.figures import only_guesses, table_rows

    say("measuring it beside the original, one ratio for all layers, and eight bits")
    table = sized.store(chosen, out)
    problem = sized.problem
    _print_table(table_rows(table, str(problem.device)))
    if only_guesses(problem.task, problem.data.validation, chosen.result.metrics):
        warn(ONLY_GUESSES)
    _screen_line(f"model: {out}")


def _print_front(sized: CompressionBySize, front: Sequence[SizedModel]) -> None:
    from betabo.cli.tables import console, print_table, table

    task, original = sized.problem.task, sized.problem.original
    listing = table()
    for head in ("size", "parameters", "FLOPs", *original.metrics, "drop"):
        listing.add_column(head, justify="right", no_wrap=True)
    for result in (*(point.result for point in front), original):
        metrics = (f"{value:.4f}" for value in result.metrics.values())
        drop = task.drop(original.metrics, result.metrics)
        listing.add_row(f"{result.size:.3f}", f"{result.parameters:,}", f"{result.flops:,}", *metrics, f"{drop:.2%}")
    print_table(console(), listing)


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    """A column for each model."""
    from betabo.cli.tables import console, print_table, table

    heads, *body = rows
    listing = table()
    for number, head in enumerate(heads):
        listing.add_column(head, justify="right" if number else "left", no_wrap=True)
    for row in body:
        listing.add_row(*row)
    print_table(console(), listing)


def _screen_line(line: str) -> None:
    from betabo.cli.tables import console

    console().print(line, soft_wrap=True)

"""What a reproduction is, what it may use, and what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from betabo.extras import needs_extra
from betabo.lab.reproduce.files import write_figure, write_table, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

T = TypeVar("T")

Scale = Literal["smoke", "standard", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
"""From under a minute, over at most about twenty minutes on two cores, to the paper's own numbers."""


@dataclass
class Context:
    """Where a reproduction runs and what it may use.

    Args:
        out: Folder of its files.
        scale: How much of it to do.
        workers: Processes that it may use.
        progress: Whether to show on the terminal how far it is.
        finished: Whether to draw the searches that are finished, and to start none.

    Attributes:
        files: Names of the files written so far, in order.
    """

    out: Path
    scale: Scale = "standard"
    workers: int = 1
    progress: bool = False
    finished: bool = False
    files: list[str] = field(default_factory=list)

    def choose(self, *, smoke: T, standard: T, paper: T) -> T:
        """The value for the scale."""
        return {"smoke": smoke, "standard": standard, "paper": paper}[self.scale]

    def save_figure(self, name: str, figure: Figure) -> None:
        """Write `name.png` and `name.pdf`."""
        self.files += write_figure(self.out, name, figure)

    def save_table(self, name: str, table: DataFrame) -> None:
        """Write `name.csv`."""
        self.files += write_table(self.out, name, table)

    def save_text(self, name: str, text: str) -> None:
        """Write a text file, such as `table.md`."""
        self.files += write_text(self.out, name, text)

    def track(self, items: Iterable[T], description: str) -> Iterator[T]:
        """Go through the items, with a bar if progress is shown."""
        items = list(items)
        if not self.progress:
            yield from items
            return
        with needs_extra("progress", "progress needs rich"):
            from rich.progress import track
        yield from track(items, description=description, transient=True)


Verdict = Literal["holds", "holds in part", "does not hold", "not under these settings"]


@dataclass(frozen=True)
class Claim:
    """Something that the paper says, and what we find.

    Args:
        text: The claim, in our words.
        checks: What it comes down to, each true or false: it holds if all are true, in part if some are.
        evidence: Our numbers.
        under_settings: Whether they come from searches, whose settings the paper does not say in full: what does not
            hold under ours may hold under others.
    """

    text: str
    checks: tuple[bool, ...]
    evidence: str
    under_settings: bool = False

    @property
    def verdict(self) -> Verdict:
        """Whether the claim holds."""
        if all(self.checks):
            return "holds"
        if any(self.checks):
            return "holds in part"
        return "not under these settings" if self.under_settings else "does not hold"


@dataclass(frozen=True)
class Summary:
    """What came of a reproduction.

    Args:
        claims: The paper's claims with our verdicts.
        figures: The numbers behind them, as JSON takes them.
        settings: Under which settings the searches were made, and how many; empty where nothing was searched.
    """

    claims: tuple[Claim, ...]
    figures: dict[str, Any] = field(default_factory=dict)
    settings: str = ""

    @property
    def comparison(self) -> str:
        """How the result compares with the paper, in one line."""
        under = f"Under {self.settings}: " if self.settings else ""
        found = [f"{claim.text}: {claim.verdict} ({claim.evidence})" for claim in self.claims]
        return under + ("; ".join(found) or "nothing to compare") + "."


@dataclass(frozen=True)
class Reproduction(ABC):
    """A figure or table of the paper that can be made anew.

    Its module is `betabo.lab.reproduce.NAME`, with underscores for the hyphens of the name. What `summarize` of that
    module is given depends on where the data come from: see `Computation` and `Searches`.

    Args:
        name: Name on the command line.
        description: One line for people.
    """

    name: str
    description: str

    @abstractmethod
    def estimate(self, scale: Scale) -> float:
        """Seconds that it takes at this scale on two cores."""

    @abstractmethod
    def run(self, context: Context) -> Summary:
        """Get the data, write the files into `context.out`, and compare with the paper."""

    def module(self) -> ModuleType:
        """The module of the reproduction, loaded when it is first needed."""
        for package in ("matplotlib", "pandas"):
            with needs_extra("plot,tables", f"{self.name} needs {package}"):
                import_module(package)
        return import_module(f"betabo.lab.reproduce.{self.name.replace('-', '_')}")


@dataclass(frozen=True)
class Computation(Reproduction):
    """A reproduction whose data `summarize(context)` computes, or that come with the package.

    Args:
        seconds: Seconds on two cores at the scale `"smoke"` and at the two others.
    """

    seconds: tuple[float, float]

    def estimate(self, scale: Scale) -> float:
        """Seconds that it takes at this scale on two cores."""
        return self.seconds[scale != "smoke"]

    def run(self, context: Context) -> Summary:
        """Compute, write the files, and compare."""
        summary: Summary = self.module().summarize(context)
        return summary

"""Tables and figures on the terminal, the same in every command."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table

from betabo.visible import visible

_UNLIMITED = 100_000  # columns


class _VisibleConsole(Console):
    """A console that shows control characters in place of obeying them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The pieces of what is printed; those that control the terminal are rich's own."""
        for piece in super().render(renderable, options):
            yield piece if piece.control else Segment(visible(piece.text), piece.style)


def console(stderr: bool = False) -> Console:
    """A console that prints text as it is, with its control characters to be seen: no markup, no automatic colours."""
    return _VisibleConsole(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=False)


def table(**settings: Any) -> Table:
    """An empty table in the common style."""
    return Table(
        box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, **settings
    )


def print_table(screen: Console, listing: Table) -> None:
    """Print a table; into a file or a pipe at its full width, so that nothing is cut."""
    if not screen.is_terminal:
        screen.width = max(screen.width, Console(width=_UNLIMITED).measure(listing).maximum)
    screen.print(listing)


def number(value: object, digits: int = 5) -> str:
    """A value in few characters: floats to `digits` significant digits, everything else as it is."""
    if isinstance(value, float):
        return f"{value:.{digits}g}"
    return str(value)


def assignments(parameters: Mapping[str, object], most: int | None = None) -> str:
    """Parameters on one line, such as `lr=0.001 act=gelu`; of more than `most`, the first ones and how many follow."""
    shown = [f"{name}={number(value)}" for name, value in parameters.items()]
    if most is not None and len(shown) > most:
        shown = [*shown[:most], f"+{len(shown) - most}"]
    return " ".join(shown)


def values_text(values: Sequence[float | None] | None, digits: int = 6, errors: Sequence[float] = ()) -> str:
    """One value, or several with commas between, each with its error if there are any."""
    if not values:
        return "-"
    shown = ["-" if value is None else number(float(value), digits) for value in values]
    return ", ".join(map(" ± ".join, zip(shown, (number(e, 2) for e in errors), strict=True)) if errors else shown)


def duration(seconds: float | None) -> str:
    """Seconds as people read them: `0.31s`, `12.4s`, `3:05`, `2:03:05`."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.2f}s"
    if seconds < 60:
        return f"{seconds:.1f}s"
    return clock(seconds)


def clock(seconds: float) -> str:
    """Whole seconds as a clock shows them: `3:05`, `2:03:05`."""
    hours, rest = divmod(round(seconds), 3600)
    minutes, rest = divmod(rest, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def ago(moment: datetime | None) -> str:
    """How long ago a local time was, such as `3 minutes ago`."""
    if moment is None:
        return ""
    passed = max(datetime.now(moment.tzinfo) - moment, timedelta())
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        count = int(passed.total_seconds() // size)
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"

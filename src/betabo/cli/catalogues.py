"""`betabo kernels` and `betabo acquisitions`: what can be chosen by name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from betabo.cli.errors import user_errors
from betabo.cli.options import AsJson, print_json


class _Entry(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...


@user_errors
def kernels(as_json: AsJson = False) -> None:
    """List the kernels that --kernel takes.

    Example: betabo kernels
    """
    from betabo.kernels.catalogue import KERNELS
    from betabo.optimizer import Config

    _show(KERNELS.values(), Config().kernel, as_json)


@user_errors
def acquisitions(as_json: AsJson = False) -> None:
    """List the acquisition functions that --acquisition takes.

    Example: betabo acquisitions
    """
    from betabo.acquisition.catalogue import ACQUISITIONS
    from betabo.optimizer import Config

    _show(ACQUISITIONS.values(), Config().acquisition, as_json)


def _show(entries: Iterable[_Entry], default: object, as_json: bool) -> None:
    if as_json:
        print_json([{"name": e.name, "description": e.description, "default": e.name == default} for e in entries])
        return
    from rich.text import Text

    from betabo.cli.tables import console, print_table, table

    listing = table()
    listing.add_column("name", style="bold", no_wrap=True)
    listing.add_column("what it is")
    for entry in entries:
        note = " (default)" if entry.name == default else ""
        listing.add_row(entry.name, Text.assemble(entry.description, (note, "green")))
    print_table(console(), listing)

"""Figures, tables and text in a folder, each file written whole or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from betabo import files

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def write_figure(folder: Path, name: str, figure: Figure) -> list[str]:
    """Write a figure as PNG and PDF, without dates, so that the same figure gives the same files."""
    from betabo.lab.plots.style import style

    metadata: dict[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    with style():
        for kind, entries in metadata.items():
            with files.whole_file(folder / f"{name}.{kind}", parents=True) as path:
                figure.savefig(path, format=kind, metadata=entries)
    return [f"{name}.{kind}" for kind in metadata]


def write_table(folder: Path, name: str, table: DataFrame) -> list[str]:
    """Write a table as CSV, numbers to ten digits."""
    with files.whole_file(folder / f"{name}.csv", parents=True) as path:
        table.to_csv(path, index=False, float_format="%.10g")
    return [f"{name}.csv"]


def write_text(folder: Path, name: str, text: str) -> list[str]:
    """Write a text file."""
    files.write_text(folder / name, text, parents=True)
    return [name]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is aligned left, the others right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"

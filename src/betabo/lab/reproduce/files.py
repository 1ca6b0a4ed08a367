"""Figures, tables and text in a folder, each file written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


def write_figure(folder: Path, name: str, figure: Figure) -> list[str]:
    """Write a figure as PNG and PDF, without dates, so that the same figure gives the same files."""
    from betabo.lab.plots.style import style

    metadata: dict[str, dict[str, Any]] = {"png": {"Software": None}, "pdf": {"CreationDate": None}}
    with style():
        for kind, entries in metadata.items():
            _write(folder / f"{name}.{kind}", partial(figure.savefig, format=kind, metadata=entries))
    return [f"{name}.{kind}" for kind in metadata]


def write_table(folder: Path, name: str, table: DataFrame) -> list[str]:
    """Write a table as CSV, numbers to ten digits."""
    _write(folder / f"{name}.csv", lambda path: table.to_csv(path, index=False, float_format="%.10g"))
    return [f"{name}.csv"]


def write_text(folder: Path, name: str, text: str) -> list[str]:
    """Write a text file."""
    _write(folder / name, lambda path: path.write_text(text, encoding="utf-8"))
    return [name]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; the first column is aligned left, the others right."""
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _write(path: Path, write: Callable[[Path], object]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".writing-") as folder:
        temporary = Path(folder) / path.name
        write(temporary)
        os.replace(temporary, path)

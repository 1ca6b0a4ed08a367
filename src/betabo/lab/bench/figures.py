"""All figures of a campaign, from its folder to files."""

from __future__ import annotations

import io
from pathlib import Path

from betabo.files import write_bytes
from betabo.lab.bench.plots import draw_convergence, draw_critical_difference, draw_ranks
from betabo.lab.bench.results import read_results, values_at
from betabo.lab.bench.statistics import Blocks, compare, convergence, rank_curves
from betabo.lab.plots.style import style


def write_figures(
    folder: str | Path, out: str | Path, *, at: int | None = None, blocks: Blocks = "problem"
) -> list[Path]:
    """Draw convergence and, of two or more optimizers, ranks and the critical-difference diagram.

    Args:
        folder: The folder of the runs.
        out: The folder of the figures.
        at: Number of evaluations up to which is drawn and after which is compared; None is that of the shortest run.
        blocks: What ranks and tests are over, see `betabo.lab.bench.statistics.compare`.

    Returns:
        The files, each figure as PNG and PDF.
    """
    results = read_results(folder, columns=[])
    values = values_at(results, at)
    last = values["evaluation"].iloc[0]
    first = results["starting_points"].clip(upper=last)  # before that all optimizers are the same
    results = results[results["evaluation"].between(first, last)]
    figures = {"convergence": draw_convergence(convergence(results))}
    if values["optimizer"].nunique() > 1:
        figures["ranks"] = draw_ranks(rank_curves(results[results["evaluation"] >= first.max()], blocks))
        figures["critical-difference"] = draw_critical_difference(compare(values, blocks))
    paths = []
    for name, figure in figures.items():
        for ending in ("png", "pdf"):
            contents = io.BytesIO()
            with style():
                figure.savefig(contents, format=ending)
            path = Path(out) / f"{name}.{ending}"
            write_bytes(path, contents.getvalue(), parents=True)
            paths.append(path)
    return paths

"""Where each kernel would go by itself: under its prior, and after a few values that say nothing.

The paper says that its kernel evaluates points near the boundary (Figures 3 and 5). A search goes where the mean is low
and the deviation is large. Before there are values, the deviation is the prior's: is it larger at a vertex than at the
centre? And after a few random values at random points, where is the confidence bound lowest? What is seen then is the
kernel alone. Kernels are as the catalogue starts them; nothing is fitted. All kernels get the same points and values.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import torch
from botorch.acquisition.analytic import UpperConfidenceBound
from gpytorch.kernels import Kernel
from pandas import DataFrame
from torch import Tensor

from betabo.acquisition.catalogue import DEFAULT_BETA
from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import maximize
from betabo.kernels.catalogue import KERNELS, make_kernel
from betabo.lab.plots.names import method_name
from betabo.lab.plots.selection import PANELS, draw_selection
from betabo.lab.reproduce.entry import Claim, Context, Scale, Summary
from betabo.lab.reproduce.files import markdown_table
from betabo.surrogate.gp import GaussianProcess

DIMS = (2, 5, 10, 20, 50)
VALUES = 10
"""Random values that are known, each at a random point; chosen here."""

NOISE = 1e-4
"""Variance of their noise, so small that the values are taken for what they are."""

REPEATS: dict[Scale, int] = {"smoke": 1, "standard": 20, "paper": 20}

FACE = 1e-6
"""Distance to a face, in shares of the side, within which a coordinate is on it: rounding of the maximization."""

UNIFORM = "uniform points"


def summarize(context: Context) -> Summary:
    """Find where each kernel goes, draw it, and say what of the paper's claim is the prior."""
    settings = [(name, d) for name in KERNELS for d in DIMS]
    rows = [row for name, d in context.track(settings, "kernels") for row in chosen(name, d, REPEATS[context.scale])]
    points = pd.DataFrame(rows)
    table = points.groupby(["kernel", "d"], sort=False)[list(PANELS)].mean().reset_index()
    table = pd.concat([table, uniform()], ignore_index=True)
    context.save_table("points", points)
    context.save_table("selection-profile", table)
    context.save_text("table.md", markdown(table))
    context.save_figure("selection-profile", draw_selection(table))
    wide = table.pivot_table(index="d", columns="kernel", values="share on faces")
    figures = {
        str(kernel): {f"d = {d}": round(float(share), 3) for d, share in shares.items()}
        for kernel, shares in wide.items()
    }
    return Summary(compare(table), {"share of coordinates on a face": figures})


def chosen(name: str, dims: int, repeats: int) -> Iterator[dict[str, object]]:
    """Where a kernel goes after random values, once for each repeat.

    Yields:
        `kernel`, `d`, `repeat`, `prior ratio` (see `prior_ratio`), `share on faces` and `boundary distance` of the
        point with the lowest confidence bound: the share of its coordinates that are on a face, and its distance to the
        nearest one, 1 at the centre.
    """
    kernel = make_kernel(name, dims).double()
    ratio = prior_ratio(kernel, dims)
    for repeat in range(repeats):
        generator = torch.Generator().manual_seed(repeat)
        x = torch.rand(VALUES, dims, generator=generator, dtype=torch.float64)
        y = torch.randn(VALUES, generator=generator, dtype=torch.float64)
        point = lowest_bound(kernel, x, y, seed=repeat)
        gaps = torch.minimum(point, 1 - point)
        yield {
            "kernel": name,
            "d": dims,
            "repeat": repeat,
            "prior ratio": ratio,
            "share on faces": float((gaps <= FACE).double().mean()),
            "boundary distance": float(2 * gaps.min()),
        }


def prior_ratio(kernel: Kernel, dims: int) -> float:
    """Prior standard deviation at a vertex over that at the centre of the cube."""
    ends = torch.stack([torch.zeros(dims, dtype=torch.float64), torch.full((dims,), 0.5, dtype=torch.float64)])
    with torch.no_grad():
        vertex, centre = kernel(ends, diag=True)
    return float((vertex / centre).sqrt())


def lowest_bound(kernel: Kernel, x: Tensor, y: Tensor, seed: int) -> Tensor:
    """Where the lower confidence bound of the process is lowest, `d`.

    Args:
        kernel: Covariance function with its parameters.
        x: Points, `n x d`.
        y: Values, `n`.
        seed: Seed of the starts of the maximization.
    """
    process = GaussianProcess(x, y, kernel, NOISE)
    bound = UpperConfidenceBound(process, beta=torch.tensor(DEFAULT_BETA, dtype=x.dtype), maximize=False)
    points, _ = maximize(lean_form(bound), x[y.argsort()], seed=seed)
    return points[0]


def uniform() -> DataFrame:
    """Uniform points for comparison: never on a face, and in mean 1/(d + 1) away from the nearest one."""
    distances = [1 / (d + 1) for d in DIMS]
    return pd.DataFrame({"kernel": UNIFORM, "d": DIMS, "share on faces": 0.0, "boundary distance": distances})


def compare(table: DataFrame) -> tuple[Claim, ...]:
    """How much of the paper's claim is the prior.

    Args:
        table: Columns `kernel`, `d`, `prior ratio`, `share on faces`.
    """
    shares, ratios = (
        table.pivot_table(index="d", columns="kernel", values=name) for name in ("share on faces", "prior ratio")
    )
    beta, without, matern = (shares[name] for name in ("beta-paper", "beta-correlation", "matern"))

    def show(share: pd.Series) -> str:
        return ", ".join(f"{value:.0%}" for value in share)

    dims = ", ".join(map(str, shares.index))
    return (
        Claim(
            "the paper's kernel goes to the boundary by itself, more than Matern, whatever the values are",
            (
                *(bool(r > 1.01) for r in ratios["beta-paper"]),
                *(bool(b > m) for b, m in zip(beta, matern, strict=True)),
            ),
            f"its prior deviation at a vertex is {', '.join(f'{r:.2g}' for r in ratios['beta-paper'])} times that at "
            f"the centre in d = {dims}; after {VALUES} random values {show(beta)} of its coordinates lie on a "
            f"face, of Matern's {show(matern)}",
        ),
        Claim(
            "it is the boundary weight that sends it there, not the shape of the kernel",
            tuple(bool(w < (b + m) / 2) for w, b, m in zip(without, beta, matern, strict=True)),
            f"with weight 0 the share is {show(without)}",
        ),
    )


def markdown(table: DataFrame) -> str:
    """The figure's numbers for people."""
    parts = []
    for column, (title, form) in PANELS.items():
        wide = table.pivot_table(index="kernel", columns="d", values=column, sort=False).dropna(how="all")
        rows = [[method_name(str(name)), *(form.format(value) for value in row)] for name, row in wide.iterrows()]
        header = [title.replace("\n", " "), *(f"d = {d}" for d in np.unique(table["d"]))]
        parts.append(markdown_table(header, rows))
    return "\n".join(parts)

"""Can the boundary weight be learned? Fits of it to data whose weight is known, under priors that pull less and less.

The paper's kernel has weight 1 and stationary ones have 0; a kernel that learns it is to find which of them the data
come from. Data are drawn from the Beta kernel itself at uniform points, so that nothing but the prior and the number of
points stands in the way.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import torch
from gpytorch.priors import GammaPrior, Prior, UniformPrior
from pandas import DataFrame
from torch import Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.factory import beta_covariance
from betabo.lab.plots.weights import draw_weights
from betabo.lab.reproduce.entry import Claim, Context, Scale, Summary
from betabo.lab.reproduce.files import markdown_table
from betabo.surrogate.fit import fit_gp

DIMS = (2, 5)
POINTS = 60
"""Values drawn at uniform points, as many as a search begins to learn much from; chosen here."""

BANDWIDTH = 0.25
"""Of the kernel that data are drawn from, for every coordinate: in the middle of those that the paper shows."""

WEIGHTS = (0.0, 0.3, 1.0)
"""Boundary weights that data are drawn with."""

REPEATS: dict[Scale, int] = {"smoke": 1, "standard": 10, "paper": 30}

NAT = "mean 1, the default"
PRIORS: dict[str, Prior] = {
    "mean 0.1": GammaPrior(1.0, 10.0),
    NAT: GammaPrior(1.0, 1.0),
    "flat": UniformPrior(0.0, 1.0),
}
"""Priors of the weight, from strong to none; the first two are exponential."""


def summarize(context: Context) -> Summary:
    """Draw data, fit the weight to them under every prior, and say whether the data move it."""
    cases = [(d, weight, repeat) for d in DIMS for weight in WEIGHTS for repeat in range(REPEATS[context.scale])]
    fits = pd.DataFrame([row for case in context.track(cases, "data sets") for row in fitted(*case)])
    table = fits.groupby(["d", "drawn", "prior"], sort=False)["fitted"].describe()[["50%", "25%", "75%", "count"]]
    table = table.rename(columns={"50%": "median", "25%": "lower quartile", "75%": "upper quartile", "count": "data"})
    context.save_table("fits", fits)
    context.save_text("table.md", markdown(table))
    context.save_figure("boundary-weight", draw_weights(fits))
    figures = {
        f"d = {d}, drawn with {drawn:g}, prior {prior}": {str(k): round(float(v), 3) for k, v in row.items()}
        for (d, drawn, prior), row in table.iterrows()
    }
    return Summary(compare(fits), figures)


def fitted(dims: int, weight: float, repeat: int) -> Iterator[dict[str, object]]:
    """The boundary weight that is fitted to one set of data, under each prior.

    Yields:
        `d`, `drawn`, the weight that the data were drawn with, `repeat`, `prior` and `fitted`.
    """
    x, y = drawn(dims, weight, seed=repeat)
    values = (y - y.mean()) / y.std()
    for name, prior in PRIORS.items():
        kernel = beta_covariance(dims, boundary_weight_prior=prior).double()
        generator = torch.Generator().manual_seed(repeat)
        fit_gp(x, values, kernel, noise="none", restarts=2, generator=generator)
        found = kernel.base_kernel.boundary_weight.item()
        yield {"d": dims, "drawn": weight, "repeat": repeat, "prior": name, "fitted": found}


def drawn(dims: int, weight: float, seed: int) -> tuple[Tensor, Tensor]:
    """Uniform points, `POINTS x d`, and values drawn from the Beta kernel with a boundary weight."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(POINTS, dims, generator=generator, dtype=torch.float64)
    kernel = BetaKernel(ard_num_dims=dims, boundary_weight=weight).double()
    kernel.bandwidth = BANDWIDTH
    with torch.no_grad():
        covariance = kernel(x).to_dense()
        values, vectors = torch.linalg.eigh(covariance)
        normal = torch.randn(POINTS, generator=generator, dtype=torch.float64)
        return x, vectors @ (values.clamp_min(0).sqrt() * normal)


def compare(fits: DataFrame) -> tuple[Claim, ...]:
    """Whether the data move the weight, and whether a prior that pulls to 0 hides it.

    Args:
        fits: Columns `d`, `drawn`, `prior`, `fitted`.
    """
    medians = fits.groupby(["prior", "d", "drawn"])["fitted"].median()
    dims, low, high = sorted(fits["d"].unique()), min(WEIGHTS), max(WEIGHTS)

    def show(prior: str) -> str:
        found = (f"d = {d}: " + ", ".join(f"{medians[prior, d, w]:.2f}" for w in WEIGHTS) for d in dims)
        return "; ".join(found)

    strong = next(iter(PRIORS))
    return (
        Claim(
            "data move the learned boundary weight",
            tuple(bool(medians[NAT, d, high] > 0.5 > medians[NAT, d, low]) for d in dims),
            f"median fit to {POINTS} values drawn with weight {', '.join(f'{w:g}' for w in WEIGHTS)} under the default "
            f"prior: {show(NAT)}",
        ),
        Claim(
            "an exponential prior with mean 0.1 hides it",
            tuple(bool(medians[strong, d, high] < medians[NAT, d, high] - 0.1) for d in dims),
            f"under that prior: {show(strong)}; under a flat one: {show('flat')}",
        ),
    )


def markdown(table: DataFrame) -> str:
    """The fits for people."""
    rows = [
        [str(d), f"{drawn:g}", str(prior), *(f"{value:.2f}" for value in row.iloc[:3]), f"{row.iloc[3]:.0f}"]
        for (d, drawn, prior), row in table.iterrows()
    ]
    header = ["d", "drawn with", "prior", *(f"{name} of the fits" for name in table.columns[:3]), "data sets"]
    return markdown_table(header, rows)

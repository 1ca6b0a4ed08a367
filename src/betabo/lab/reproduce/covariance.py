"""Figure 1: covariance surfaces on the unit interval, and beside them those of other boundary weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from pandas import DataFrame

from betabo.lab.analysis import log_diagonal_infimum
from betabo.lab.plots.style import SURFACE, new_figure, style
from betabo.lab.reproduce.entry import Claim, Context, Summary
from betabo.lab.reproduce.kernels import beta, matern, rbf

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel
    from matplotlib.figure import Figure

PAPER = {
    "rbf": "RBF, $\\ell$ = 1",
    "matern": "Matérn-5/2, $\\ell$ = 1",
    "beta h=0.1": "Beta, $h$ = 0.1",
    "beta h=1.5": "Beta, $h$ = 1.5",
}
OURS = {
    "beta h=0.1 w=0": "$h$ = 0.1, $w$ = 0",
    "beta h=0.1 w=0.5": "$h$ = 0.1, $w$ = 0.5",
    "beta h=1.5 w=0": "$h$ = 1.5, $w$ = 0",
    "beta h=1.5 w=0.5": "$h$ = 1.5, $w$ = 0.5",
}


def summarize(context: Context) -> Summary:
    """Compute the surfaces, draw them, and measure what the paper says about the diagonals."""
    surfaces = covariances(context.choose(smoke=21, standard=41, paper=41))
    context.save_table("covariance", surfaces)
    context.save_figure("covariance", draw(surfaces))
    ratios, gaps = diagonal_ratios(surfaces), equal_gaps(surfaces)
    claims = (
        Claim(
            "the diagonal of RBF and Matern is constant, that of the Beta kernel varies with h",
            (
                max(ratios["rbf"], ratios["matern"]) < 1 + 1e-9,
                min(ratios["beta h=0.1"], ratios["beta h=1.5"]) > 1.01,
                ratios["beta h=0.1"] != ratios["beta h=1.5"],
            ),
            f"largest over least: RBF {ratios['rbf']:.3g}, Matern {ratios['matern']:.3g}, Beta "
            f"{ratios['beta h=0.1']:.3g} at h = 0.1 and {ratios['beta h=1.5']:.3g} at h = 1.5",
        ),
        Claim(
            "the Beta kernel is not stationary (the same with boundary weight 0, where the diagonal is constant)",
            tuple(abs(inside / beside - 1) > 1e-3 for name, (inside, beside) in gaps.items() if "beta" in name),
            f"h = 0.1: k(0.4, 0.6) and k(0, 0.2) are {gaps['beta h=0.1'][0]:.3f} and {gaps['beta h=0.1'][1]:.3f}, with "
            f"boundary weight 0 {gaps['beta h=0.1 w=0'][0]:.3f} and {gaps['beta h=0.1 w=0'][1]:.3f}",
        ),
    )
    figures = {
        "diagonal, largest over least": {name: round(value, 4) for name, value in ratios.items()},
        "k(0.4, 0.6) and k(0, 0.2)": {name: [round(v, 4) for v in values] for name, values in gaps.items()},
    }
    return Summary(claims, figures)


def covariances(points: int) -> DataFrame:
    """The surfaces on a grid of `points` a side: columns `x`, `y` and one for each kernel.

    The paper's kernels are as it writes them; other boundary weights have the value 1 at the centre.
    """
    side = torch.linspace(0, 1, points, dtype=torch.float64)
    x, y = torch.meshgrid(side, side, indexing="ij")
    kernels: dict[str, tuple[Kernel, float]] = {"rbf": (rbf(), 1.0), "matern": (matern(), 1.0)}
    for h in (0.1, 1.5):
        kernels[f"beta h={h}"] = (beta(h), float(np.exp(log_diagonal_infimum(h))))
    for h in (0.1, 1.5):
        kernels[f"beta h={h} w=0"] = (beta(h, 0.0), 1.0)
        kernels[f"beta h={h} w=0.5"] = (beta(h, 0.5), 1.0)
    columns = {"x": x.ravel().numpy(), "y": y.ravel().numpy()}
    with torch.no_grad():
        for name, (kernel, centre_value) in kernels.items():
            columns[name] = centre_value * kernel(side.unsqueeze(-1)).to_dense().ravel().numpy()
    return pd.DataFrame(columns)


def diagonal_ratios(surfaces: DataFrame) -> dict[str, float]:
    """Largest over least value on the diagonal of each surface."""
    diagonal = surfaces[surfaces["x"] == surfaces["y"]].drop(columns=["x", "y"])
    return {str(name): float(values.max() / values.min()) for name, values in diagonal.items()}


def equal_gaps(surfaces: DataFrame) -> dict[str, tuple[float, float]]:
    """Covariance of two pairs of points with the same gap, at the centre and at the boundary: (0.4, 0.6), (0, 0.2)."""
    pairs = [np.isclose(surfaces["x"], a) & np.isclose(surfaces["y"], b) for a, b in ((0.4, 0.6), (0.0, 0.2))]
    inside, beside = (surfaces[pair].drop(columns=["x", "y"]).iloc[0] for pair in pairs)
    return {str(name): (float(inside[name]), float(beside[name])) for name in inside.index}


def draw(surfaces: DataFrame) -> Figure:
    """Eight surfaces in perspective: four as in the paper on the left, four of ours on the right."""
    from matplotlib.ticker import MaxNLocator

    with style():
        figure = new_figure(11, 5.6)
        halves = np.ravel(np.asarray(figure.subfigures(1, 2, wspace=0.03)))
        titles = ("The paper's figure", "The Beta kernel with other boundary weights $w$")
        for half, title, labels in zip(halves, titles, (PAPER, OURS), strict=True):
            half.suptitle(title, fontsize=11.5, fontweight="bold")
            for place, (name, label) in enumerate(labels.items(), start=1):
                axes = half.add_subplot(2, 2, place, projection="3d")
                grid = surfaces.pivot_table(index="x", columns="y", values=name)
                values, side = grid.to_numpy(), grid.index.to_numpy()
                x, y = np.meshgrid(side, side)
                axes.plot_surface(
                    x, y, values, cmap=SURFACE, vmin=0, rcount=41, ccount=41, linewidth=0, antialiased=False
                ).set_rasterized(True)
                axes.plot(side, side, np.diag(values), color="black", linewidth=1.3, zorder=10)
                axes.set(xlim=(0, 1), ylim=(0, 1), zlim=(0, 1.05 * values.max()))
                axes.set_xticks([0, 0.5, 1], ["0", "½", "1"])
                axes.set_yticks([0, 0.5, 1], ["0", "½", "1"])
                axes.zaxis.set_major_locator(MaxNLocator(4))
                axes.set_xlabel("$x$", labelpad=-7)
                axes.set_ylabel("$x'$", labelpad=-7)
                axes.tick_params(pad=-3, labelsize=7.5)
                axes.set_title(label, loc="center", y=0.98)
                axes.view_init(elev=30, azim=-74)
                axes.set_box_aspect((1, 1, 0.72), zoom=1.08)
        return figure

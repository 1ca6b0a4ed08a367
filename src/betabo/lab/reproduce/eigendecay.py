"""Figure 2: mean spectra of RBF, Matern-5/2 and Beta kernels on the 3-D cube."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from pandas import DataFrame

from betabo.lab.analysis import compare_decays, linear_trend, matrix_spectra, numerical_floor
from betabo.lab.plots.style import GREY, KERNEL_COLOURS, new_figure, shades, style
from betabo.lab.reproduce.entry import Claim, Context, Scale, Summary
from betabo.lab.reproduce.files import markdown_table
from betabo.lab.reproduce.kernels import beta, matern, rbf

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel
    from matplotlib.figure import Figure

DIMS = 3  # as in the paper, like the points and bandwidths
POINTS = 100
BANDWIDTHS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5)
DEFAULT_LENGTHSCALE = float(np.log(2))
"""GPyTorch's length scale before it is fitted; the paper gives none for its Matern curve."""

MATRICES: dict[Scale, int] = {"smoke": 10, "standard": 300, "paper": 300}


def summarize(context: Context) -> Summary:
    """Compute the mean spectra, draw them, and measure what the paper reads off its figure."""
    named = kernels()
    tables = [
        spectrum_table(name, kernel, MATRICES[context.scale])
        for name, kernel in context.track(named.items(), "spectra")
    ]
    spectra = pd.concat(tables, ignore_index=True)
    decays = pd.DataFrame([describe(name, table) for name, table in spectra.groupby("kernel", sort=False)])
    context.save_table("spectra", spectra)
    context.save_table("decays", decays)
    context.save_text("table.md", markdown(decays))
    context.save_figure("eigendecay", draw(spectra))

    slow = ("beta h=0.1", "beta h=0.25")
    slower = {name: slower_share(spectra, name, "matern l=1") for name in slow}
    slower_default = {name: slower_share(spectra, name, "matern l=0.69") for name in slow}
    gap, span = largest_gap(spectra, "beta h=1.5", "rbf l=1")
    table = decays.set_index("kernel")
    exponents = {name: float(table.loc[name, "free exponent"]) for name in table.index}
    betas = [f"beta h={h:g}" for h in BANDWIDTHS]
    claims = (
        Claim(
            "for h <= 0.25 the Beta spectrum decays more slowly than that of Matern-5/2",
            tuple(share > 0.95 for share in slower.values()),
            "relative eigenvalues are larger at "
            + " and ".join(f"{share:.0%} of the ranks ({name[5:]})" for name, share in slower.items())
            + " with length scale 1; the paper gives none, and with GPyTorch's 0.69 it is "
            + " and ".join(f"{share:.0%}" for share in slower_default.values()),
        ),
        Claim(
            "at h = 1.5 it closely matches RBF",
            (gap < 3,),
            f"within a factor {gap:.2g} at every rank while both fall by {span:.0f} decades",
        ),
        Claim(
            "the logarithm of the Beta spectrum is nearly linear in the rank, which suggests exponential decay",
            tuple(table.loc[name, "best model"] == "exponential" for name in betas),
            f"R2 of the line is {min(table.loc[name, 'line R2'] for name in betas):.3f} or more, but "
            f"{table.loc['matern l=1', 'line R2']:.3f} for Matern too; the best exponent of the rank falls from "
            f"{exponents['beta h=0.1']:.2f} at h = 0.1 to {exponents['beta h=1.5']:.2f} at h = 1.5, where RBF has "
            f"{exponents['rbf l=1']:.2f}; exponential decay has 1, and analytic kernels in 3-D have 1/3 in the limit",
        ),
    )
    figures = {
        "share of ranks above Matern, l = 1": {name: round(value, 3) for name, value in slower.items()},
        "share of ranks above Matern, l = 0.69": {name: round(value, 3) for name, value in slower_default.items()},
        "largest factor between h = 1.5 and RBF": round(gap, 3),
        "best exponent": {name: round(value, 3) for name, value in exponents.items()},
    }
    return Summary(claims, figures)


def kernels() -> dict[str, Kernel]:
    """The kernels of the figure, and Matern with GPyTorch's own starting length scale."""
    named = {"rbf l=1": rbf(), "matern l=1": matern(), "matern l=0.69": matern(DEFAULT_LENGTHSCALE)}
    return named | {f"beta h={h:g}": beta(h) for h in BANDWIDTHS}


def spectrum_table(name: str, kernel: Kernel, matrices: int) -> DataFrame:
    """Columns `kernel`, `rank`, `eigenvalue` (mean over the matrices), `standard error`, `relative`, `above floor`.

    The Beta kernel is that of boundary weight 1, the paper's divided by its value at the centre.
    """
    spectra = matrix_spectra(kernel, DIMS, points=POINTS, matrices=matrices)
    mean = spectra.mean(axis=0)
    return pd.DataFrame(
        {
            "kernel": name,
            "rank": np.arange(1, POINTS + 1),
            "eigenvalue": mean,
            "standard error": spectra.std(axis=0, ddof=1) / np.sqrt(matrices),
            "relative": mean / mean[0],
            "above floor": mean > numerical_floor(mean),
        }
    )


def describe(name: object, table: DataFrame) -> dict[str, object]:
    """The decay of one spectrum: the line of the paper's test, and the models compared."""
    eigenvalues = table.loc[table["above floor"], "eigenvalue"].to_numpy()
    trend, comparison = linear_trend(eigenvalues), compare_decays(eigenvalues, DIMS)
    return {
        "kernel": name,
        "eigenvalues": trend.count,
        "decades": comparison.decades,
        "line R2": trend.r_squared,
        "best model": comparison.best,
        **{f"excess BIC {model}": comparison.excess(model) for model in comparison.fits},
        "free exponent": comparison.free.exponent,
    }


def slower_share(spectra: DataFrame, name: str, other: str) -> float:
    """Share of the ranks after the first at which one relative spectrum lies above another."""
    ours, theirs = (spectra.loc[spectra["kernel"] == kernel, "relative"].to_numpy()[1:] for kernel in (name, other))
    return float((ours > theirs).mean())


def largest_gap(spectra: DataFrame, name: str, other: str) -> tuple[float, float]:
    """Largest factor between two relative spectra where both are above the floor, and the decades they span there."""
    ours, theirs = (spectra[spectra["kernel"] == kernel] for kernel in (name, other))
    both = ours["above floor"].to_numpy() & theirs["above floor"].to_numpy()
    first, second = (np.log10(table["relative"].to_numpy()[both]) for table in (ours, theirs))
    return float(10 ** np.abs(first - second).max()), float(-max(first[-1], second[-1]))


def markdown(decays: DataFrame) -> str:
    """The decays for people."""
    header = ["kernel", "eigenvalues", "decades", "R² of the line", "best model", "free exponent"]
    cells = [
        [
            str(row["kernel"]),
            str(row["eigenvalues"]),
            f"{row['decades']:.1f}",
            f"{row['line R2']:.3f}",
            str(row["best model"]),
            f"{row['free exponent']:.2f}",
        ]
        for _, row in decays.iterrows()
    ]
    return markdown_table(header, cells)


def draw(spectra: DataFrame) -> Figure:
    """The relative spectra against the rank, where exponential decay is straight, and its log, where polynomial is."""
    colours = dict(zip((f"beta h={h:g}" for h in BANDWIDTHS), shades(len(BANDWIDTHS)), strict=True))
    with style():
        figure = new_figure(9.6, 4.2)
        left, right = figure.subplots(1, 2, sharey=True)
        for axes in (left, right):
            for name, table in spectra.groupby("kernel", sort=False):
                shown = table[table["above floor"]]
                label = str(name).replace("beta h=", "Beta, $h$ = ")
                look = {"color": colours.get(str(name)), "linestyle": "-", "zorder": 2}
                if name in ("rbf l=1", "matern l=1"):
                    kind = str(name).split()[0]
                    look = {"color": KERNEL_COLOURS[kind], "linestyle": "--" if kind == "rbf" else "-.", "zorder": 3}
                    label = "RBF, $\\ell$ = 1" if kind == "rbf" else "Matérn-5/2, $\\ell$ = 1"
                elif name == "matern l=0.69":
                    look = {"color": KERNEL_COLOURS["matern"], "linestyle": ":", "zorder": 3}
                    label = "Matérn-5/2, $\\ell$ = 0.69"
                axes.plot(shown["rank"], shown["relative"], label=label, **look)
            axes.set_yscale("log")
        left.set(title="Exponential decay is straight here", xlabel="rank $m$", xlim=(0, POINTS))
        left.set(ylabel=r"mean eigenvalue $\lambda_m / \lambda_1$", ylim=(1e-13, 2))
        right.set(
            title="Polynomial decay is straight here", xlabel="rank $m$, logarithmic", xscale="log", xlim=(1, POINTS)
        )
        floor = numerical_floor(np.ones(POINTS))
        for axes in (left, right):
            axes.axhspan(1e-14, floor, color="#EEEEEE", linewidth=0)
        right.text(1.1, 1.3e-13, "rounding", color=GREY, fontsize=8.5)
        figure.legend(*left.get_legend_handles_labels(), loc="outside right center")
        return figure

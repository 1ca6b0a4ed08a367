"""Boundary weights that were fitted, beside those that the data were drawn with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from betabo.lab.plots.style import BLACK, COLOURS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

_SPREAD = 0.12  # of the points of one prior, in groups


def draw_weights(fits: DataFrame) -> Figure:
    """A panel a number of dimensions: every fit as a point, by the weight of the data and by prior, with their median.

    Args:
        fits: Columns `d`, `drawn`, `prior`, `fitted`, one row a fit.
    """
    dims, weights = (sorted(fits[name].unique()) for name in ("d", "drawn"))
    priors = list(dict.fromkeys(fits["prior"]))
    offsets = np.linspace(-0.25, 0.25, len(priors)) if len(priors) > 1 else [0.0]
    with style():
        figure = new_figure(4.2 * len(dims) + 0.4, 3.9)
        panels = figure.subplots(1, len(dims), squeeze=False, sharey=True)[0]
        for panel, d in zip(panels, dims, strict=True):
            for place, weight in enumerate(weights):
                panel.plot([place - 0.4, place + 0.4], [weight] * 2, color=BLACK, linewidth=1, linestyle="--")
            for prior, offset, colour in zip(priors, offsets, COLOURS, strict=False):
                for place, weight in enumerate(weights):
                    chosen = (fits["d"] == d) & (fits["drawn"] == weight) & (fits["prior"] == prior)
                    values = np.sort(fits.loc[chosen, "fitted"].to_numpy(dtype=float))
                    places = place + offset + np.linspace(-_SPREAD / 2, _SPREAD / 2, len(values))
                    panel.plot(places, values, ".", color=colour, markersize=4, alpha=0.5)
                    panel.plot(place + offset, np.median(values), "D", color=colour, label=prior if place == 0 else "")
            panel.set_title(f"$d$ = {d}")
            panel.set_xticks(range(len(weights)), [f"{weight:g}" for weight in weights])
            panel.set_xlabel("boundary weight of the data (dashed)")
        panels[0].set_ylabel("fitted boundary weight")
        panels[0].set_ylim(-0.04, 1.04)
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, title="prior; diamonds: medians", loc="outside upper right", ncols=len(priors))
    return figure

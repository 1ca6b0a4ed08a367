"""The parts of the page that are plots: each with a caption that tells what to look at, or with why it is missing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from betabo.optuna.best import losses_of
from betabo.optuna.space import encode
from betabo.problem.front import MOST_OBJECTIVES, hypervolumes, reference_point
from betabo.report import boundary, figures
from betabo.report.facts import StudyFacts, best_so_far, centre_trial, number, usual_values
from betabo.report.goodness import Goodness, doubts, leave_one_out
from betabo.report.importance import DRAWS, Importance, importances, ranking
from betabo.report.overview import why_no_best
from betabo.report.planes import Plane, planes
from betabo.report.predictions import LEVELS, Slice, coordinate_labels, free_parameters, slices
from betabo.report.text import listed, show
from betabo.report.traces import Trace, traces

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

# What a figure can show so that it is still read: panels of slices, bars, axes and lines of parallel coordinates.
_MOST_SLICES = 12
_MOST_BARS = 20
_MOST_AXES = 12
_MOST_LINES = 500
_AXIS_PIXELS = 85  # least distance of two axes of parallel coordinates

_TRACE_TITLES = {
    "bandwidth": "Bandwidths",
    "lengthscale": "Length scales",
    "boundary_weight": "Boundary weight",
    "noise": "Noise",
}
_TRACE_CAPTIONS = {
    "bandwidth": "A small bandwidth means that the value changes quickly along the parameter; a large one that the "
    "parameter hardly matters.",
    "lengthscale": "A short length scale means that the value changes quickly along the parameter; a long one, well "
    "above 1, that the parameter hardly matters.",
    "boundary_weight": "How much of the prior variance sits at the boundary: 0 none, 1 all that the Beta kernel has.",
    "noise": "Variance of the noise, relative to that of the transformed values. Near 0, values repeat exactly.",
}
_BANDWIDTH_BESIDE_LENGTHSCALE = (
    "How strongly the geometry bends towards the faces: the smaller, the more a step near a bound counts. A large one "
    "is the ordinary kernel."
)


@dataclass(frozen=True)
class Chart:
    """One plot.

    Attributes:
        id: The key of its figure.
        caption: What to look at.
        title: A heading, where it needs one.
        has_scales: Whether the reader may change between a linear and a logarithmic scale of values.
    """

    id: str
    caption: str = ""
    title: str = ""
    has_scales: bool = False


@dataclass(frozen=True)
class ChartGroup:
    """Plots that stand together.

    Attributes:
        charts: The plots.
        layout: `"single"` one below the other, `"pair"` two in a row, `"grid"` small ones.
        title: A heading.
        caption: What is to be said of all of them.
        least: Least width in pixels, below which the plots scroll.
    """

    charts: list[Chart]
    layout: str = "single"
    title: str = ""
    caption: str = ""
    least: int = 0


@dataclass(frozen=True)
class PageSection:
    """One part of the page.

    Attributes:
        id: Its anchor.
        title: Its heading.
        short: Its name in the navigation.
        missing: Why there is nothing, or not everything, to see.
        groups: Its plots.
        pairs: Names and values to list.
    """

    id: str
    title: str
    short: str
    missing: str = ""
    groups: list[ChartGroup] = field(default_factory=list)
    pairs: list[tuple[str, str]] = field(default_factory=list)


class Sections:
    """The sections of a study, and the figures that they refer to.

    Args:
        facts: The study.
        model: The model that was fitted to it, None if there is none.
        reason: Why there is none.

    Attributes:
        figures: Figures by key, filled while sections are made.
    """

    def __init__(self, facts: StudyFacts, model: StudyModel | None, reason: str = "") -> None:
        self.facts, self.model, self.reason = facts, model, reason
        self.centre = centre_trial(facts)
        self.importances: list[Importance] = [] if model is None else importances(model)
        self.ranked = ranking(self.importances)
        self.goodness: list[Goodness] = [] if model is None else leave_one_out(model)
        self.figures: dict[str, Any] = {}

    def all(self) -> list[PageSection]:
        """All sections in their order."""
        return [
            self.convergence(),
            self.boundary(),
            self.importance(),
            self.slices(),
            self.goodness_of_fit(),
            self.parallel(),
            self.hyperparameters(),
        ]

    def convergence(self) -> PageSection:
        """The best value so far, or the Pareto front and its hypervolume."""
        facts = self.facts
        groups = []
        if facts.complete and facts.has_one_objective:
            groups = [ChartGroup([self._progress()])]
        elif facts.complete:
            groups = [ChartGroup([self._front(), *self._hypervolume()])]
        missing = "" if groups else "No trial has finished with a value yet."
        return PageSection("convergence", "Convergence", "Convergence", missing, groups)

    def boundary(self) -> PageSection:
        """The distance of each trial to the boundary."""
        valued = [t for t in self.facts.trials if t.values]
        groups, missing = [], ""
        if any(t.boundary_distance is not None for t in valued):
            figure = figures.boundary(
                self.facts, boundary.running_median(valued), boundary.expected_distance(self.facts.trials)
            )
            caption = (
                "1 is the centre of the box and 0 is a face: it is the parameter nearest to a bound that counts, "
                "with log parameters on their log scale. A search that settles at 0 presses against the box; the "
                "table at the top tells which parameters do."
            )
            groups = [ChartGroup([self._chart("boundary", figure, caption)])]
        else:
            missing = "There are no finished trials with numeric parameters, and so no distances."
        return PageSection("boundary", "Distance to the boundary", "Boundary", missing, groups)

    def importance(self) -> PageSection:
        """Sobol indices of the model's prediction."""
        charts, flat = [], []
        for table in self.importances:
            objective = self.facts.objectives[table.objective]
            if max(table.total) < 1e-6:
                flat.append(objective)
                continue
            figure = figures.importance(table, _MOST_BARS)
            title = "" if self.facts.has_one_objective else objective
            charts.append(self._chart(f"importance-{table.objective}", figure, title=title))
        caption = (
            "Sobol indices of the model's median prediction over the whole box, each parameter uniform on its scale: "
            "the share of the prediction's variance that a parameter explains alone (dark) and with all its "
            "interactions (light). The lines say how sure that is: they hold 90 % of the totals of "
            f"{DRAWS} functions that the model believes in. All describe the whole box rather than the surroundings of "
            "the best point."
        )
        if len(self.ranked) > _MOST_BARS:
            caption += f" The {_MOST_BARS} most important of {len(self.ranked)} are shown."
        layout = "single" if self.facts.has_one_objective else "pair"
        groups = [ChartGroup(charts, layout, caption=caption)] if charts else []
        flatness = f"The model predicts the same everywhere for {listed(flat)}: no parameter matters." if flat else ""
        missing = self.reason or flatness
        if self.model is not None and charts:
            doubt = doubts(len(self.model.units), len(free_parameters(self.model)), self.goodness)
            missing = " ".join(filter(None, (flatness, doubt)))
        return PageSection("importance", "Importance of the parameters", "Importance", missing, groups)

    def slices(self) -> PageSection:
        """The model's prediction along each parameter, through the best point."""
        point = "best point" if self.facts.has_one_objective else "balanced trial"
        title = f"Predictions through the {point}"
        missing = self.reason or why_no_best(self.facts)
        if self.model is None or self.centre is None:
            return PageSection("slices", title, "Predictions", missing)
        here = encode(self.centre.parameters, self.model.distributions)
        if not set(self.model.space.active(here)) <= here.keys():
            return PageSection("slices", title, "Predictions", f"The {point} lacks a parameter of the model.")
        ranked = [name for name in self.ranked if name in here]
        tables = slices(self.model, self.centre.parameters, ranked[:_MOST_SLICES])
        caption = (
            f"Each panel changes one parameter of trial {self.centre.number} (star) and keeps the others. The line is "
            "the model's median, the bands hold 50 % and 90 % of its probability, ticks at the bottom are the values "
            "that were tried. All panels of an objective have the same scale, which follows the medians; a band may "
            "leave it. Look for medians that still improve at an edge, and for wide bands where nothing was tried."
        )
        if len(ranked) > _MOST_SLICES:
            caption += f" The {_MOST_SLICES} most important of {len(ranked)} parameters are shown."
        if len(ranked) < len(self.ranked):
            caption += " Parameters that do not exist there have no panel."
        groups = []
        pairs = planes(self.model, self.centre.parameters, *ranked[:2]) if len(ranked) > 1 else []
        for objective, name in enumerate(self.facts.objectives):
            charts = self._panels(objective, [table for table in tables if table.objective == objective])
            is_last = objective + 1 == len(self.facts.objectives)
            heading = "" if self.facts.has_one_objective else name
            groups.append(ChartGroup(charts, "grid", heading, caption if is_last else ""))
        groups += [self._plane(table) for table in pairs]
        return PageSection("slices", title, "Predictions", "", groups)

    def goodness_of_fit(self) -> PageSection:
        """Each trial predicted from the others, against what was observed."""
        title, short = "How well the model predicts", "Fit"
        if not self.goodness:
            return PageSection("fit", title, short, self.reason or "There are too few trials to leave one out.")
        charts = []
        for table in self.goodness:
            name = self.facts.objectives[table.objective]
            figure = figures.predicted_against_observed(table, name)
            heading = "" if self.facts.has_one_objective else name
            charts.append(self._chart(f"fit-{table.objective}", figure, table.verdict(), heading))
        caption = (
            "Each mark is a trial, predicted from all others: near the dotted line is right, and nine of ten lines "
            "should reach it. The hyperparameters are those of all trials, so the truth is a little worse."
        )
        layout = "single" if self.facts.has_one_objective else "pair"
        return PageSection("fit", title, short, "", [ChartGroup(charts, layout, caption=caption)])

    def parallel(self) -> PageSection:
        """Parallel coordinates of the complete trials."""
        facts, complete = self.facts, self.facts.complete
        common = [name for name in facts.distributions if complete and all(name in t.parameters for t in complete)]
        title, short = "Parallel coordinates", "Parallel"
        if not common:
            return PageSection("parallel", title, short, "There are no finished trials with parameters in common.")
        order = [name for name in self.ranked if name in common]
        order += [name for name in common if name not in order]
        ranked = sorted(complete, key=lambda t: (t.violation or 0.0, losses_of([t], facts.directions)[0]))
        axes, shown = order[:_MOST_AXES], ranked[:_MOST_LINES]
        caption = "Each line is a trial; each axis runs from the lower to the upper bound of a parameter"
        caption += ", the most important first. " if self.ranked else ". "
        caption += "Where the best lines run together, the search has made up its mind. A click in the legend hides "
        caption += "a group."
        if len(order) > len(axes):
            caption += f" {len(axes)} of {len(order)} parameters are shown."
        if len(complete) > len(shown):
            caption += f" The best {len(shown)} of {len(complete)} trials are shown."
        chart = self._chart("parallel", figures.parallel(facts, axes, shown), caption)
        least = _AXIS_PIXELS * (len(axes) + len(facts.objectives))
        return PageSection("parallel", title, short, "", [ChartGroup([chart], least=least)])

    def hyperparameters(self) -> PageSection:
        """Hyperparameters over time, and those of the model that was fitted for this page."""
        labels = [] if self.model is None else coordinate_labels(self.model)
        found = traces(self.facts, labels)
        charts = [self._trace(table, found) for table in found if not table.is_constant]
        constant = [f"{_TRACE_TITLES[t.quantity].lower()} {show(t.first)}" for t in found if t.is_constant]
        caption = f"Not learned, and the same in every step: {listed(constant)}." if constant else ""
        missing = ""
        if not self.facts.trials:
            missing = "The study has no trials yet."
        elif not self.facts.from_betabo:
            missing = "Another sampler made this study, so no hyperparameters were recorded with its trials."
        elif not found:
            missing = "All trials so far belong to the starting design; the model comes after it."
        if missing and self.model is not None:
            missing += " Those of the model that was fitted for this page are:"
        groups = [ChartGroup(charts, "pair", caption=caption)] if charts or constant else []
        pairs = [] if self.model is None else _fit_pairs(self.model, self.facts.objectives)
        return PageSection("model", "The model over time", "Model", missing, groups, pairs)

    def _chart(self, key: str, figure: Any, caption: str = "", title: str = "", values: Iterable[float] = ()) -> Chart:
        self.figures[key] = figure
        finite = [value for value in values if math.isfinite(value)]
        return Chart(key, caption, title, has_scales=bool(finite) and min(finite) > 0)

    def _progress(self) -> Chart:
        word = "rises" if self.facts.maximize[0] else "falls"
        caption = (
            f"The line is the best value so far; it {word} when a trial beats all before it. A long flat end means "
            "that more trials of the same kind are unlikely to help."
        )
        if {"failed", "interrupted", "running"} & self.facts.counts.keys():
            caption += " Marks at the lower edge are trials without a value."
        is_log = figures.prefers_log(t.values[0] for t in self.facts.complete)
        view = None if is_log else usual_values(self.facts)
        if view is not None:
            caption += " Some trials are so much worse that they are outside; a double click shows all."
        figure = figures.convergence(self.facts, best_so_far(self.facts), view)
        return self._chart("convergence", figure, caption, values=[t.values[0] for t in self.facts.trials if t.values])

    def _front(self) -> Chart:
        caption = "Each point is a trial. No trial is better than one on the Pareto front in all objectives at once."
        return self._chart("front", figures.front(self.facts), caption)

    def _hypervolume(self) -> list[Chart]:
        facts = self.facts
        eligible = [t for t in facts.complete if t.is_feasible and all(map(math.isfinite, t.values))]
        if len(facts.objectives) > MOST_OBJECTIVES or not eligible:
            return []
        losses = losses_of(eligible, facts.directions)
        reference = reference_point(losses)
        corner = [-r if up else r for r, up in zip(reference.tolist(), facts.maximize, strict=True)]
        caption = (
            f"Volume between the front and the point ({', '.join(map(show, corner))}), which lies a tenth of the range "
            "beyond the worst value of each objective. It grows when the front advances."
        )
        figure = figures.hypervolume([t.number for t in eligible], hypervolumes(losses, reference))
        return [self._chart("hypervolume", figure, caption)]

    def _panels(self, objective: int, tables: Sequence[Slice]) -> list[Chart]:
        assert self.model is not None
        assert self.centre is not None
        here = self.centre.values[objective]
        shown = [value for table in tables for value in table.quantiles.ravel().tolist()]
        shown += [here] if math.isfinite(here) else []
        log = figures.prefers_log(shown, ratio=10.0)
        limits = _limits(tables, here, log)
        charts = []
        for index, table in enumerate(tables):
            name = table.parameter
            figure = figures.posterior_slice(
                table,
                self.facts.objectives[objective],
                (self.centre.parameters[name], here),
                (bool(getattr(self.model.distributions[name], "log", False)), log),
                limits,
                [t.parameters[name] for t in self.facts.complete if name in t.parameters],
            )
            charts.append(self._chart(f"slice-{objective}-{index}", figure))
        return charts

    def _plane(self, table: Plane) -> ChartGroup:
        assert self.centre is not None
        name = self.facts.objectives[table.objective]
        trials = [t.parameters for t in self.facts.complete]
        charts = [
            self._chart(
                f"plane-{table.objective}-{quantity}",
                figures.plane(table, values, label, trials, self.centre.parameters),
                title=label,
            )
            for quantity, values, label in (
                ("median", table.median, f"predicted {name}"),
                ("width", table.width, "width of its 90 % interval"),
            )
        ]
        heading = f"{table.across.parameter} and {table.up.parameter}"
        heading += "" if self.facts.has_one_objective else f": {name}"
        caption = (
            "The two most important parameters together, all others as in the star. Points are the other trials, which "
            "differ in those too. Where the right picture is bright, the model knows little."
        )
        return ChartGroup(charts, "pair", heading, caption)

    def _trace(self, table: Trace, found: Sequence[Trace]) -> Chart:
        caption = _TRACE_CAPTIONS[table.quantity]
        if table.quantity == "bandwidth" and any(other.quantity == "lengthscale" for other in found):
            caption = _BANDWIDTH_BESIDE_LENGTHSCALE
        if table.left_out:
            caption += f" The {len(table.lines)} smallest of {len(table.lines) + table.left_out} are shown."
        values = [value for line in table.lines.values() for value in line if value is not None]
        return self._chart(
            f"trace-{table.quantity}", figures.trace(table), caption, _TRACE_TITLES[table.quantity], values
        )


def _fit_pairs(model: StudyModel, objectives: Sequence[str]) -> list[tuple[str, str]]:
    """What is to be said of the fit that this page made."""
    diagnostics = model.diagnostics
    labels = coordinate_labels(model)
    pairs = [("trials in this page's model", str(len(model.units)))]
    for objective, figures_ in zip(objectives, diagnostics.get("models") or [diagnostics], strict=False):
        prefix = f"{objective}: " if len(objectives) > 1 else ""
        pairs.append((f"{prefix}fit", str(figures_.get("fit", "unknown"))))
        for quantity, title in _TRACE_TITLES.items():
            value = figures_.get(quantity)
            if isinstance(value, list):
                names = labels if len(value) == len(labels) else [""] * len(value)
                shown = [f"{name} {v:.3g}".strip() for name, v in zip(names, value, strict=True)][:_MOST_AXES]
                shown += ["…"] if len(value) > _MOST_AXES else []
                pairs.append((f"{prefix}{title.lower()}", ", ".join(shown)))
            elif number(value) is not None:
                pairs.append((f"{prefix}{title.lower()}", f"{value:.4g}"))
    return pairs


def _limits(tables: Sequence[Slice], here: float, log: bool) -> tuple[float, float]:
    """Least and largest value to show: the medians and the trial, and of the bands what is as far again from them."""
    quantiles = np.concatenate([table.quantiles for table in tables], axis=1)
    centre = np.append(quantiles[len(LEVELS) // 2], here if math.isfinite(here) else [])
    if log:
        quantiles, centre = np.log10(quantiles), np.log10(centre)
    span = np.ptp(centre) or np.ptp(quantiles) or 1.0
    least = max(quantiles.min(), centre.min() - span, -1e300)
    most = min(quantiles.max(), centre.max() + span, 1e300)
    low, high = min(least, centre.min()) - 0.06 * span, max(most, centre.max()) + 0.06 * span
    return (float(10**low), float(10**high)) if log else (float(low), float(high))

"""Figures of a search: how it converged, what each parameter does, which of them matter, and the front."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from betabo.extras import needs_extra
from betabo.optimizer.data import Points
from betabo.optimizer.model import Output
from betabo.space import Categorical, Fixed
from betabo.space.parameters import Number
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from betabo.optimizer.result import SearchResult

Kind = Literal["convergence", "slices", "importance", "front"]

KINDS: tuple[Kind, ...] = get_args(Kind)

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#8A8A8A"
_MOST_SLICES = 6  # the most important parameters
_PER_ROW = 3
_SAMPLES = 512  # points of the model for the importance of parameters


def draw_result(result: SearchResult, kinds: Sequence[Kind] | None = None) -> Figure:
    """A figure of a search.

    Args:
        result: What a search returned.
        kinds: What to draw: `"convergence"`, `"slices"` (value against each parameter, with the model's median and its
            80 % interval through the best point), `"importance"` (share of the variance of the model's median that
            each parameter has a part in) and `"front"`; None draws all for which there is something.

    Raises:
        ValueError: There is nothing to draw, or no such kind.
    """
    with needs_extra("plot", "result.plot() needs matplotlib"):
        from matplotlib.figure import Figure
    outputs = _models(result)
    wanted = _checked(kinds) if kinds is not None else _usual(result, outputs)
    names = _by_importance(result, outputs)
    panels: list[Callable[[Axes], None]] = []
    for kind in wanted:
        if kind == "convergence":
            panels.append(lambda axes: _convergence(axes, result))
        elif kind == "importance":
            panels.append(lambda axes: _importance(axes, names))
        elif kind == "front":
            panels.append(lambda axes: _front(axes, result))
        else:
            panels += [_slice(result, outputs, name) for name in list(names)[:_MOST_SLICES]]
    if not panels or not any(not evaluation.failed for evaluation in result.history):
        raise ValueError("there is nothing to draw: no evaluation has succeeded.")
    columns = min(len(panels), _PER_ROW)
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(4.2 * columns, 3.1 * rows), layout="constrained")
    for axes, panel in zip(np.ravel(figure.subplots(rows, columns, squeeze=False)), panels, strict=False):
        panel(axes)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#E6E6E6", linewidth=0.6)
        axes.set_axisbelow(True)
    for axes in figure.axes[len(panels) :]:
        axes.set_visible(False)
    return figure


def _checked(kinds: Sequence[Kind]) -> list[Kind]:
    given = list(kinds)
    for kind in given:
        if kind not in KINDS:
            raise ValueError(f"kind is {kind!r}, expected some of {', '.join(KINDS)}.{did_you_mean(str(kind), KINDS)}")
    return given


def _usual(result: SearchResult, outputs: list[Output]) -> list[Kind]:
    several = len(result.problem.objectives) > 1
    kinds: list[Kind] = ["convergence"]
    if several:
        kinds.append("front")
    if outputs:
        kinds += ["importance", "slices"]
    return kinds


def _models(result: SearchResult) -> list[Output]:
    """The model of each objective; none where there are too few values."""
    from betabo.optimizer.optimizer import Optimizer

    search = Optimizer(result.problem.without_points(), seed=0)
    search.history = list(result.history)
    data = search._data()
    if len(data.points) < 3:
        return []
    from betabo.optimizer.model import Surrogate

    return list(Surrogate.fit(data, search.config, 0).objectives)


def _free(result: SearchResult) -> list[str]:
    return [name for name, parameter in result.space.parameters.items() if not isinstance(parameter, Fixed)]


def _columns(result: SearchResult, name: str) -> list[int]:
    labels = result.space.parameters[name].labels(name)
    return [result.space.coordinates.index(label) for label in labels]


def _by_importance(result: SearchResult, outputs: list[Output]) -> dict[str, float]:
    """Total Sobol indices of the first objective's median by Jansen's estimator, largest first; 0 without a model."""
    names = _free(result)
    if not outputs:
        return dict.fromkeys(names, 0.0)
    rng = np.random.default_rng(0)
    dims = result.space.dims
    one, other = (result.space.snap(rng.random((_SAMPLES, dims))) for _ in range(2))
    values = _median(outputs[0], one)
    variance = float(values.var()) or 1.0
    shares = {}
    for name in names:
        mixed = one.copy()
        mixed[:, _columns(result, name)] = other[:, _columns(result, name)]
        shares[name] = float(np.square(values - _median(outputs[0], mixed)).mean()) / 2 / variance
    return dict(sorted(shares.items(), key=lambda pair: -pair[1]))


def _median(output: Output, units: Points) -> Points:
    return np.asarray(output.quantiles(units, [0.5])[0])


def _values(result: SearchResult) -> tuple[Points, Points]:
    """Numbers of the evaluations that succeeded, and the values of the first objective."""
    pairs = [(number, e.value) for number, e in enumerate(result.history, 1) if e.value is not None]
    return np.array([n for n, _ in pairs], dtype=float), np.array([v for _, v in pairs], dtype=float)


def _convergence(axes: Axes, result: SearchResult) -> None:
    if result.hypervolume is not None:
        axes.step(range(1, len(result.hypervolume) + 1), result.hypervolume, where="post", color=_BLUE)
        axes.set(title="Convergence", xlabel="evaluation", ylabel="hypervolume")
        return
    numbers, values = _values(result)
    feasible = [row["best"] for row in result.rows()]
    axes.plot(numbers, values, "o", markersize=3.5, color=_GREY, label="values")
    axes.step(range(1, len(feasible) + 1), feasible, where="post", color=_BLUE, label="best so far")
    axes.set(title="Convergence", xlabel="evaluation", ylabel=result.problem.names[0])
    axes.legend(frameon=False)


def _importance(axes: Axes, shares: dict[str, float]) -> None:
    shown = list(shares.items())[:10][::-1]
    axes.barh([name for name, _ in shown], [share for _, share in shown], color=_BLUE)
    axes.set(title="Importance", xlabel="share of the variance that it has a part in", xlim=(0, None))


def _front(axes: Axes, result: SearchResult) -> None:
    if len(result.problem.objectives) < 2:
        raise ValueError("the search has one objective, expected several for a front.")
    first, second = result.problem.names[:2]
    finished = [e.numbers for e in result.history if not e.failed]
    axes.plot([n[0] for n in finished], [n[1] for n in finished], "o", markersize=3.5, color=_GREY, label="values")
    front = [(point.values[first], point.values[second]) for point in result.front]
    axes.plot([x for x, _ in front], [y for _, y in front], "o", color=_ORANGE, label="front")
    axes.set(title="Front", xlabel=first, ylabel=second)
    axes.legend(frameon=False)


def _slice(result: SearchResult, outputs: list[Output], name: str) -> Callable[[Axes], None]:
    parameter = result.space.parameters[name]

    def draw(axes: Axes) -> None:
        pairs = [(e, result.space.from_unit(e.unit)) for e in result.history if not e.failed]
        pairs = [(e, point) for e, point in pairs if not isinstance(point, dict) or name in point]
        finished, points = [e for e, _ in pairs], [point for _, point in pairs]
        exists = not isinstance(result.x, dict) or name in result.x
        position = result.space.names.index(name)
        xs = [point[name] if isinstance(point, dict) else point[position] for point in points]
        if isinstance(parameter, Categorical):
            xs = [str(x) for x in xs]
        ys = [e.value for e in finished]
        if outputs and isinstance(parameter, Number) and result.x is not None and exists:
            along = np.repeat(result.space.to_unit(result.x)[None], 80, axis=0)
            along[:, _columns(result, name)[0]] = np.linspace(0, 1, 80)
            along = result.space.snap(along)
            grid = [result.space.from_unit(unit) for unit in along]
            where = [point[name] if isinstance(point, dict) else point[position] for point in grid]
            low, middle, high = result.problem.signs[0] * outputs[0].quantiles(along, [0.1, 0.5, 0.9])
            axes.fill_between(where, low, high, color=_BLUE, alpha=0.15, linewidth=0)
            axes.plot(where, middle, color=_BLUE)
            if getattr(parameter, "log", False):
                axes.set_xscale("log")
        axes.plot(xs, ys, "o", markersize=3.5, color=_GREY)
        if result.x is not None and exists:
            best = result.x[name] if isinstance(result.x, dict) else result.x[position]
            axes.plot([str(best) if isinstance(parameter, Categorical) else best], [result.fun], "o", color=_ORANGE)
        lowest, highest = min(ys, default=0.0), max(ys, default=1.0)
        margin = 0.08 * (highest - lowest or 1.0)
        axes.set(title=name, xlabel=name, ylabel=result.problem.names[0], ylim=(lowest - margin, highest + margin))

    return draw

"""What a fitted model says: slices through a point, and how much of the variation each parameter explains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.stats import sobol_indices, uniform

from betabo.optuna.space import decode, encode
from betabo.space import Categorical, Parameter

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

Array = npt.NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of the predictive distribution that slices show."""

_RESOLUTION = 65  # points of a slice over a continuous parameter
_MOST_MARKS = 40  # values of a discrete parameter up to which a slice shows each of them
_MOST_EVALUATIONS = 20_000  # of the model, for Sobol indices
_BLOCK = 2_048  # points predicted at once, to bound memory


@dataclass(frozen=True)
class Slice:
    """Predictions along one parameter, all others fixed.

    Attributes:
        parameter: Its name.
        objective: Index of the objective.
        inputs: Values of the parameter in the user's units, `n`.
        quantiles: `len(LEVELS) x n`, in the objective's units.
        is_discrete: Whether there is nothing between the inputs.
    """

    parameter: str
    objective: int
    inputs: list[Any]
    quantiles: Array
    is_discrete: bool


@dataclass(frozen=True)
class Importance:
    """Sobol indices of the median prediction of one objective, over the whole box.

    Attributes:
        objective: Index of the objective.
        parameters: Names, the most important first.
        first: Share of the variance that each explains alone.
        total: The same with all interactions.
    """

    objective: int
    parameters: list[str]
    first: list[float]
    total: list[float]


def free_parameters(model: StudyModel) -> list[str]:
    """Names of the parameters that have a choice."""
    return [name for name, parameter in model.space.parameters.items() if parameter.width]


def coordinate_labels(model: StudyModel) -> list[str]:
    """A label for each coordinate of the cube, such as `lr`, or `act=relu` for a choice."""
    labels: list[str] = []
    for name, parameter in model.space.parameters.items():
        if isinstance(parameter, Categorical):
            labels += [f"{name}={_label(model, name, choice)}" for choice in parameter.choices]
        else:
            labels += parameter.labels(name)
    return labels


def slices(model: StudyModel, through: Mapping[str, Any], parameters: Sequence[str]) -> list[Slice]:
    """Predictions along parameters through one point, for every objective.

    Args:
        model: The fitted model.
        through: A value for each parameter, in the user's units.
        parameters: The parameters to vary, one at a time.

    Returns:
        A slice for each objective and parameter, objectives first.
    """
    centre = model.space.to_unit(encode(through, model.distributions))
    lines = [_line(model, centre, name) for name in parameters]
    if not lines:
        return []
    cuts = np.cumsum([len(units) for units, _ in lines])[:-1]
    points = np.concatenate([units for units, _ in lines])
    found = []
    for objective in range(model.values.shape[1]):
        quantiles = np.split(_predict(model, points, LEVELS, objective), cuts, axis=1)
        for name, (_, inputs), table in zip(parameters, lines, quantiles, strict=True):
            found.append(Slice(name, objective, inputs, table, _marks(model.space.parameters[name]) is not None))
    return found


def importances(model: StudyModel, seed: int = 0) -> list[Importance]:
    """Sobol indices of the median prediction, for every objective.

    Each parameter is uniform over its range, on a log scale for a log parameter, and each choice is as likely as the
    others. Estimates are clipped to [0, 1], which they leave by their sampling error only.
    """
    names = free_parameters(model)
    objectives = range(model.values.shape[1])

    rng = np.random.default_rng(seed)

    def median(shares: Array) -> Array:
        units = _units(model, names, shares.T)
        return np.concatenate([_predict(model, units, (0.5,), objective) for objective in objectives])

    # One scale for all calls: squares of values near 1e200 would overflow, and indices do not depend on the unit.
    scale = np.maximum(np.abs(median(rng.uniform(size=(len(names), 256)))).max(axis=1, keepdims=True), 1e-300)
    if len(names) == 1:  # which explains everything; SciPy expects at least two
        varies = np.ptp(median(np.linspace(0, 1, 257)[None]) / scale, axis=1) > 0
        first = total = varies[:, None].astype(np.float64)
    else:
        affordable = int(np.log2(_MOST_EVALUATIONS / (len(names) + 2)))
        result = sobol_indices(
            func=lambda shares: median(shares) / scale,
            n=2 ** min(max(affordable, 4), 10),
            dists=[uniform()] * len(names),
            rng=rng,
        )
        first = np.atleast_2d(result.first_order).clip(0, 1)
        total = np.atleast_2d(result.total_order).clip(0, 1)
    found = []
    for objective in objectives:
        order = np.argsort(-total[objective], kind="stable")
        found.append(
            Importance(
                objective,
                [names[i] for i in order],
                first[objective][order].tolist(),
                total[objective][order].tolist(),
            )
        )
    return found


def ranking(found: Sequence[Importance]) -> list[str]:
    """Parameters by their largest total index over the objectives, the most important first."""
    largest: dict[str, float] = {}
    for importance in found:
        for name, total in zip(importance.parameters, importance.total, strict=True):
            largest[name] = max(total, largest.get(name, 0.0))
    return sorted(largest, key=lambda name: -largest[name])


def _units(model: StudyModel, names: Sequence[str], shares: Array) -> Array:
    """Admissible points of the cube, `n x d`, for a share in [0, 1) of each parameter's range, `n x len(names)`."""
    blocks = []
    for column, name in zip(shares.T, names, strict=True):
        parameter = model.space.parameters[name]
        marks = None if getattr(parameter, "log", False) else _marks(parameter)
        if marks is not None:  # rounding would give the two bounds half the weight of the values between them
            blocks.append(marks[np.minimum((column * len(marks)).astype(int), len(marks) - 1)])
        else:
            blocks.append(column[:, None])
    return model.space.snap(np.hstack(blocks))


def _line(model: StudyModel, centre: Array, name: str) -> tuple[Array, list[Any]]:
    """Points along one parameter, `n x d`, and its values there."""
    parameter = model.space.parameters[name]
    start = sum(p.width for p in list(model.space.parameters.values())[: model.space.names.index(name)])
    place = slice(start, start + parameter.width)
    steps = _marks(parameter)
    if steps is None:
        steps = np.unique(parameter.snap(np.linspace(0, 1, _RESOLUTION)[:, None]), axis=0)
    units = np.tile(centre, (len(steps), 1))
    units[:, place] = steps
    values = [parameter.from_unit(step) for step in steps]
    return units, [_label(model, name, value) for value in values]


def _predict(model: StudyModel, units: Array, levels: Sequence[float], objective: int) -> Array:
    """Quantiles, `len(levels) x n`, a block of points at a time."""
    blocks = [units[i : i + _BLOCK] for i in range(0, len(units), _BLOCK)]
    return np.concatenate([np.asarray(model.quantiles(b, list(levels), objective=objective)) for b in blocks], axis=1)


def _marks(parameter: Parameter) -> Array | None:
    """Coordinates of the values of a discrete parameter, `count x width`; None for many values or a continuum."""
    if isinstance(parameter, Categorical):
        return np.eye(parameter.width)
    if parameter.count is None or parameter.count > _MOST_MARKS:
        return None
    return np.unique(parameter.snap(np.linspace(0, 1, 100 * _MOST_MARKS + 1)[:, None]), axis=0)


def _label(model: StudyModel, name: str, value: Any) -> Any:
    """A value of the model's space as the study's: a choice instead of its position."""
    return decode({name: value}, {name: model.distributions[name]})[name]

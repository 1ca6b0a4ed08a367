"""What a fitted model says along one parameter, and what other looks at it share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from betabo.optuna.space import decode, encode
from betabo.space import Categorical, Parameter

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

Array = npt.NDArray[np.float64]

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""The quantiles of the predictive distribution that slices show."""

_RESOLUTION = 65  # points of a slice over a continuous parameter
_MOST_MARKS = 40  # values of a discrete parameter up to which a slice shows each of them
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


def free_parameters(model: StudyModel) -> list[str]:
    """Names of the parameters that have a choice."""
    return [name for name, parameter in model.space.parameters.items() if parameter.width]


def coordinate_labels(model: StudyModel) -> list[str]:
    """A label for each coordinate of the cube, such as `lr`, or `act=relu` for a choice."""
    labels: list[str] = []
    for name, parameter in model.space.parameters.items():
        if isinstance(parameter, Categorical):
            labels += [f"{name}={label_of(model, name, choice)}" for choice in parameter.choices]
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
        quantiles = np.split(predict(model, points, LEVELS, objective), cuts, axis=1)
        for name, (_, inputs), table in zip(parameters, lines, quantiles, strict=True):
            found.append(Slice(name, objective, inputs, table, marks_of(model.space.parameters[name]) is not None))
    return found


def _line(model: StudyModel, centre: Array, name: str) -> tuple[Array, list[Any]]:
    """Points along one parameter, `n x d`, and its values there."""
    parameter = model.space.parameters[name]
    steps = marks_of(parameter)
    if steps is None:
        steps = np.unique(parameter.snap(np.linspace(0, 1, _RESOLUTION)[:, None]), axis=0)
    units = np.tile(centre, (len(steps), 1))
    units[:, columns_of(model, name)] = steps
    values = [parameter.from_unit(step) for step in steps]
    units = model.space.snap(units) if model.space.is_conditional else units
    return units, [label_of(model, name, value) for value in values]


def predict(model: StudyModel, units: Array, levels: Sequence[float], objective: int) -> Array:
    """Quantiles of an objective in its own units, `len(levels) x n`, a block of points at a time."""
    blocks = [units[i : i + _BLOCK] for i in range(0, len(units), _BLOCK)]
    return np.concatenate([np.asarray(model.quantiles(b, list(levels), objective=objective)) for b in blocks], axis=1)


def marks_of(parameter: Parameter) -> Array | None:
    """Coordinates of the values of a discrete parameter, `count x width`; None for many values or a continuum."""
    if isinstance(parameter, Categorical):
        return np.eye(parameter.width)
    if parameter.count is None or parameter.count > _MOST_MARKS:
        return None
    return np.unique(parameter.snap(np.linspace(0, 1, 100 * _MOST_MARKS + 1)[:, None]), axis=0)


def columns_of(model: StudyModel, name: str) -> slice:
    """Where the coordinates of a parameter are in a point of the cube."""
    start = sum(p.width for p in list(model.space.parameters.values())[: model.space.names.index(name)])
    return slice(start, start + model.space.parameters[name].width)


def label_of(model: StudyModel, name: str, value: Any) -> Any:
    """A value of the model's space as the study's: a choice instead of its position."""
    return decode({name: value}, {name: model.distributions[name]})[name]

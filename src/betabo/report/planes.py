"""What a fitted model says over two parameters at once, all others fixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from betabo.optuna.space import encode
from betabo.report.predictions import LEVELS, Array, columns_of, label_of, marks_of, predict

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

_RESOLUTION = 33  # points along a continuous parameter


@dataclass(frozen=True)
class Side:
    """One of the two parameters.

    Attributes:
        parameter: Its name.
        inputs: Its values in the user's units.
        is_discrete: Whether there is nothing between them.
        is_log: Whether they are spread evenly in their logarithm.
    """

    parameter: str
    inputs: list[Any]
    is_discrete: bool
    is_log: bool

    def place(self, value: Any) -> float | None:
        """Where a value is between 0 and 1 along the side; a discrete one has a cell of its own. None if nowhere."""
        if self.is_discrete:
            return (self.inputs.index(value) + 0.5) / len(self.inputs) if value in self.inputs else None
        low, high, here = (np.log(v) if self.is_log else v for v in (self.inputs[0], self.inputs[-1], value))
        return float((here - low) / (high - low))


@dataclass(frozen=True)
class Plane:
    """Predictions over two parameters.

    Attributes:
        objective: Index of the objective.
        across: The parameter from left to right.
        up: The parameter from bottom to top.
        median: Median of the prediction, `len(up.inputs) x len(across.inputs)`.
        width: Width of the interval that holds nine tenths of the probability, likewise.
    """

    objective: int
    across: Side
    up: Side
    median: Array
    width: Array


def planes(model: StudyModel, through: Mapping[str, Any], across: str, up: str) -> list[Plane]:
    """Predictions over two parameters through one point, for every objective.

    Args:
        model: The fitted model.
        through: A value for each parameter, in the user's units.
        across: Name of the parameter from left to right.
        up: Name of the parameter from bottom to top.
    """
    (first, horizontal), (second, vertical) = _side(model, across), _side(model, up)
    units = np.tile(model.space.to_unit(encode(through, model.distributions)), (len(first) * len(second), 1))
    units[:, columns_of(model, across)] = np.tile(first, (len(second), 1))
    units[:, columns_of(model, up)] = np.repeat(second, len(first), axis=0)
    units = model.space.snap(units) if model.space.is_conditional else units
    found = []
    for objective in range(model.values.shape[1]):
        low, median, high = predict(model, units, (LEVELS[0], 0.5, LEVELS[-1]), objective)
        shape = (len(second), len(first))
        found.append(Plane(objective, horizontal, vertical, median.reshape(shape), (high - low).reshape(shape)))
    return found


def _side(model: StudyModel, name: str) -> tuple[Array, Side]:
    """Coordinates of the values of a parameter, `n x width`, and the values."""
    parameter = model.space.parameters[name]
    marks = marks_of(parameter)
    steps = np.linspace(0, 1, _RESOLUTION)[:, None] if marks is None else marks
    values = [label_of(model, name, parameter.from_unit(step)) for step in steps]
    is_log = bool(getattr(model.distributions[name], "log", False))
    return steps, Side(name, values, marks is not None, is_log)

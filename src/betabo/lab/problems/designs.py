r"""Engineering designs whose best point lies on bounds.

A constraint :math:`g_i(x) \le 0` enters as a penalty, :math:`f(x) + c \sum_i \max(0, g_i(x))`, with :math:`c` so large
that the minimum is the best feasible design. The constraints are made dimensionless: a load over what is
allowed, less 1.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from betabo.lab.problems.pointwise import Coordinate, Pointwise


class Design(Pointwise):
    """A cost with penalised constraints."""

    penalty: ClassVar[float]
    """The cost of exceeding one constraint by all that is allowed."""

    @abstractmethod
    def cost(self, x: npt.NDArray[np.float64]) -> float:
        """The cost of a design, whether or not it is allowed."""

    @abstractmethod
    def constraints(self, x: npt.NDArray[np.float64]) -> Sequence[float]:
        """Numbers that are at most zero where the design is allowed."""

    def value(self, x: npt.NDArray[np.float64]) -> float:
        """The cost with penalties."""
        return self.cost(x) + self.penalty * sum(max(0.0, g) for g in self.constraints(x))


class PressureVessel(Design):
    """Cost of a cylindrical tank with half-spheres at its ends, of a given volume; all sizes are continuous.

    The length is limited to 200, where the best design has it: with the steel as thin as the radius allows, 5885.3328.
    """

    coordinates = (
        Coordinate("thickness of the shell, in", 0.0625, 6.1875, 0.778168641375),
        Coordinate("thickness of the head, in", 0.0625, 6.1875, 0.384649162628),
        Coordinate("inner radius, in", 10.0, 200.0, 40.319618724099),
        Coordinate("length, in", 10.0, 200.0, 200.0),
    )
    best_value = 5885.332773
    penalty = 2e4

    def cost(self, x: npt.NDArray[np.float64]) -> float:
        """Material, forming and welding."""
        shell, head, radius, length = map(float, x)
        return (
            0.6224 * shell * radius * length
            + 1.7781 * head * radius**2
            + 3.1661 * shell**2 * length
            + 19.84 * shell**2 * radius
        )

    def constraints(self, x: npt.NDArray[np.float64]) -> Sequence[float]:
        """Strength of the shell and of the head, and the volume."""
        shell, head, radius, length = map(float, x)
        volume = math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3
        return 0.0193 * radius / shell - 1, 0.00954 * radius / head - 1, 1_296_000 / volume - 1


class SpeedReducer(Design):
    """Weight of a gear box between an engine and a propeller, with the number of teeth taken as continuous.

    At the best design the module of the teeth, their number and the length of the first shaft are at their lower
    bounds: 2994.4711, a figure that the literature on constrained optimization agrees on.
    """

    coordinates = (
        Coordinate("face width, cm", 2.6, 3.6, 3.5),
        Coordinate("module of the teeth, cm", 0.7, 0.8, 0.7),
        Coordinate("teeth of the pinion", 17.0, 28.0, 17.0),
        Coordinate("length of the first shaft, cm", 7.3, 8.3, 7.3),
        Coordinate("length of the second shaft, cm", 7.3, 8.3, 7.715319911478),
        Coordinate("diameter of the first shaft, cm", 2.9, 3.9, 3.350214666096),
        Coordinate("diameter of the second shaft, cm", 5.0, 5.5, 5.28665446498),
    )
    best_value = 2994.471066
    penalty = 1e4

    def cost(self, x: npt.NDArray[np.float64]) -> float:
        """Weight."""
        width, module, teeth, first, second, d1, d2 = map(float, x)
        return (
            0.7854 * width * module**2 * (3.3333 * teeth**2 + 14.9334 * teeth - 43.0934)
            - 1.508 * width * (d1**2 + d2**2)
            + 7.4777 * (d1**3 + d2**3)
            + 0.7854 * (first * d1**2 + second * d2**2)
        )

    def constraints(self, x: npt.NDArray[np.float64]) -> Sequence[float]:
        """Bending and contact stress of the teeth, deflection and stress of the shafts, and proportions."""
        width, module, teeth, first, second, d1, d2 = map(float, x)
        return (
            27 / (width * module**2 * teeth) - 1,
            397.5 / (width * module**2 * teeth**2) - 1,
            1.93 * first**3 / (module * teeth * d1**4) - 1,
            1.93 * second**3 / (module * teeth * d2**4) - 1,
            math.sqrt((745 * first / (module * teeth)) ** 2 + 16.9e6) / (110 * d1**3) - 1,
            math.sqrt((745 * second / (module * teeth)) ** 2 + 157.5e6) / (85 * d2**3) - 1,
            module * teeth / 40 - 1,
            5 * module / width - 1,
            width / (12 * module) - 1,
            (1.5 * d1 + 1.9) / first - 1,
            (1.1 * d2 + 1.9) / second - 1,
        )

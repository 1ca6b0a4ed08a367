"""Landing a craft on the moon: Gymnasium's lunar lander, flown by a controller with ten gains."""

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import numpy.typing as npt

from betabo.lab.problems.pointwise import Coordinate, Pointwise, require

LANDINGS = 8
"""Landings of an evaluation, with the seeds 0, 1, ...: each a terrain and a push at the start."""


class LunarLander(Pointwise):
    """The negative mean return of landings, always the same ones.

    The craft leans towards the pad, in proportion to its distance and speed, and its main engine holds it above a cone
    over the pad; side and main engine are driven by proportional-derivative control, and with a leg on the ground only
    the speed of falling counts. Best values are of Gymnasium 1.4 with Box2D 2.3.

    The best value known is the lower of two long searches, of 4000 evaluations with seed 0 and 3000 with seed 1.
    """

    name = "lunar_lander"
    coordinates = (
        Coordinate("lean per horizontal distance", 0.0, 2.0, 1.571836080044315),
        Coordinate("lean per horizontal speed", 0.0, 2.0, 1.1432608157410091),
        Coordinate("largest lean, rad", 0.0, 1.0, 0.7903926178848244),
        Coordinate("turn per angle", 0.0, 40.0, 37.080984819789585),
        Coordinate("turn per angular speed", 0.0, 40.0, 15.822589209711426),
        Coordinate("height of the cone per distance", 0.0, 2.0, 1.0537861630565435),
        Coordinate("thrust per height", 0.0, 40.0, 4.537523776582521),
        Coordinate("thrust per speed of falling", 0.0, 40.0, 4.800182412254797),
        Coordinate("thrust per speed of falling, on the ground", 0.0, 40.0, 26.788772043047214),
        Coordinate("thrust that is held back", 0.0, 2.0, 1.5638744525441473),
    )
    best_value = -288.716

    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()):  # pygame prints a greeting
            warnings.simplefilter("ignore")  # Box2D's bindings warn while they load, and crash where that is an error
            for package in ("Box2D", "pygame"):
                require(package, self.name)
            self._craft: Any = require("gymnasium", self.name).make("LunarLander-v3", continuous=True)

    def value(self, x: npt.NDArray[np.float64]) -> float:
        """The negative mean return."""
        return -float(np.mean([self._land(x, seed) for seed in range(LANDINGS)]))

    def _land(self, gains: npt.NDArray[np.float64], seed: int) -> float:
        state, _ = self._craft.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            state, reward, terminated, truncated, _ = self._craft.step(_engines(gains, state))
            total += float(reward)
            over = terminated or truncated
        return total


def _engines(gains: npt.NDArray[np.float64], state: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Main and side engine, each from -1 to 1."""
    x, y, speed, rise, angle, spin, left, right = map(float, state)
    lean_x, lean_speed, most, turn_angle, turn_spin, cone, thrust_y, thrust_rise, thrust_ground, held_back = gains
    if left or right:
        turn, thrust = 0.0, -thrust_ground * rise
    else:
        lean = np.clip(lean_x * x + lean_speed * speed, -most, most)
        turn = turn_angle * (lean - angle) - turn_spin * spin
        thrust = thrust_y * (cone * abs(x) - y) - thrust_rise * rise
    return np.asarray(np.clip([thrust - held_back, -turn], -1.0, 1.0))

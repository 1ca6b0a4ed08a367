"""The functions by name. To add one: write a BoTorch `SyntheticTestFunction` and register it in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from botorch.test_functions.synthetic import Ackley, Branin, Griewank, Hartmann, Levy, SyntheticTestFunction

from betabo.lab.problems.designs import PressureVessel, SpeedReducer
from betabo.lab.problems.landing import LunarLander
from betabo.lab.problems.learning import BoostingDiabetes, MlpDigits, SvmCancer
from betabo.lab.problems.repeated import Repeated


@dataclass(frozen=True)
class ProblemEntry:
    """A function of the catalogue.

    Attributes:
        name: Name in `PROBLEMS`: small letters, digits and underscores, first a letter.
        description: What the function is, in one line.
        make: `make(dim)` gives the function of `dim` coordinates on its usual box, to be minimized. It lists at least
            one optimum and the optimal value.
        smallest_dim: The fewest coordinates it takes.
    """

    name: str
    description: str
    make: Callable[[int], SyntheticTestFunction]
    smallest_dim: int = 1


PROBLEMS: dict[str, ProblemEntry] = {}
"""The catalogue: each entry under its name."""


def register_problem(entry: ProblemEntry) -> None:
    """Add a function to the catalogue.

    Raises:
        ValueError: The name is taken or no name.

    Example:
        >>> from botorch.test_functions import StyblinskiTang
        >>> register_problem(ProblemEntry("styblinski", "Two valleys in each coordinate.", lambda d: StyblinskiTang(d)))
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", entry.name):
        raise ValueError(f"name is {entry.name!r}, expected small letters, digits and underscores, first a letter.")
    if entry.name in PROBLEMS:
        raise ValueError(f"name is {entry.name!r}, which is taken by: {PROBLEMS[entry.name].description}")
    PROBLEMS[entry.name] = entry


for _entry in (
    ProblemEntry("griewank", "A wide bowl with many shallow local optima, on [-600, 600].", lambda dim: Griewank(dim)),
    ProblemEntry("ackley", "A plain with ripples and one deep funnel, on [-32.768, 32.768].", lambda dim: Ackley(dim)),
    ProblemEntry("levy", "Valleys across each coordinate, on [-10, 10].", lambda dim: Levy(dim)),
    ProblemEntry("branin", "Branin, the mean over pairs of coordinates.", lambda dim: Repeated(Branin(), dim), 2),
    ProblemEntry(
        "hartmann", "Hartmann-6, the mean over blocks of six coordinates.", lambda dim: Repeated(Hartmann(6), dim), 6
    ),
    ProblemEntry("pressure_vessel", "Cost of a tank, its length on a bound, 4 parameters.", PressureVessel, 4),
    ProblemEntry("speed_reducer", "Weight of a gear box, three sizes on bounds, 7 parameters.", SpeedReducer, 7),
    ProblemEntry("svm_cancer", "Loss of a support vector machine, 2 parameters.", SvmCancer, 2),
    ProblemEntry("boosting_diabetes", "Error of gradient boosting, 6 parameters.", BoostingDiabetes, 6),
    ProblemEntry("mlp_digits", "Loss of a small neural network, 5 parameters.", MlpDigits, 5),
    ProblemEntry("lunar_lander", "Negative return of a controller that lands a craft, 10 parameters.", LunarLander, 10),
):
    register_problem(_entry)

"""Problems by name."""

from __future__ import annotations

import re

from betabo.lab.problems.bbob import BBOB_SUITES, BbobProblem
from betabo.lab.problems.bounded import BoundedProblem
from betabo.lab.problems.catalogue import PROBLEMS
from betabo.lab.problems.placement import EPSILON, PLACEMENTS
from betabo.lab.problems.problem import BenchmarkProblem

_PLACED = re.compile(
    rf"(?P<function>[a-z][a-z0-9_]*)-(?P<dim>[0-9]+)-(?P<placement>{'|'.join(PLACEMENTS)})"
    r"(-eps(?P<epsilon>[0-9.]+(e-?[0-9]+)?))?(-noise(?P<noise>[0-9.]+(e-?[0-9]+)?))?"
)
_BBOB = re.compile(rf"(?P<suite>{'|'.join(BBOB_SUITES)})-f(?P<function>[0-9]+)-d(?P<dims>[0-9]+)-i(?P<instance>[0-9]+)")


def problem_by_name(name: str) -> BenchmarkProblem:
    """The problem of a name such as `levy-20-vertex` or `sbox-f12-d5-i3`.

    Args:
        name: Function, number of coordinates and placement; then, where they are not the usual ones, `-eps` with
            epsilon and `-noise` with the standard deviation of the noise, as in `levy-20-vertex-eps0.1-noise0.5`.
            Or the suite, function, dimension and instance of a problem of BBOB, as in `sbox-f12-d5-i3`.

    Raises:
        ValueError: The name is not made up so, or names no problem.
        ImportError: The problem's package is not installed.
    """
    try:
        if match := _BBOB.fullmatch(name):
            return BbobProblem(match["suite"], int(match["function"]), int(match["dims"]), int(match["instance"]))
        if match := _PLACED.fullmatch(name):
            placements = {str(placement): placement for placement in PLACEMENTS}
            return BoundedProblem(
                match["function"],
                int(match["dim"]),
                placements[match["placement"]],
                epsilon=EPSILON if match["epsilon"] is None else float(match["epsilon"]),
                noise_std=None if match["noise"] is None else float(match["noise"]),
            )
    except ValueError as error:
        raise ValueError(f"problem {name!r}: {error}") from error
    raise ValueError(
        f"problem is {name!r}, expected function-dim-placement such as 'levy-20-vertex', with a function out of "
        f"{', '.join(PROBLEMS)} and a placement out of {', '.join(PLACEMENTS)}; or suite-fFUNCTION-dDIMS-iINSTANCE "
        f"such as 'sbox-f12-d5-i3', with a suite out of {', '.join(BBOB_SUITES)}."
    )

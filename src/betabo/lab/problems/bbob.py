"""The 24 functions of BBOB in three suites that others wrote, through the packages `ioh` and `cocoex`.

* `sbox`: SBOX-COST of ioh, on the box [-5, 5]^d and infinite outside. The optimum may lie anywhere in the box.
* `bbob`: BBOB of ioh, with the optimum in [-4, 4]^d.
* `bbob-boxed`: the suite of COCO. Its problems are those of `sbox`, computed by other code.

An instance moves and rotates a function. Instances 1 to 10 are for development and for published tables; later ones
are kept for judging, so please do not tune anything on them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from betabo.lab.problems.pointwise import evaluate_pointwise, require
from betabo.lab.problems.problem import BenchmarkProblem

BBOB_SUITES = ("sbox", "bbob", "bbob-boxed")
"""The suites by name."""

BBOB_FUNCTIONS = range(1, 25)
"""Numbers of the functions."""

COCO_DIMS = (2, 3, 5, 10, 20, 40)
"""Numbers of coordinates in COCO's suites."""

BBOB_GROUPS = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multimodal, adequate structure": range(15, 20),
    "multimodal, weak structure": range(20, 25),
}
"""The functions of each group, as BBOB has them."""


class BbobProblem(BenchmarkProblem):
    """A function of BBOB on [-5, 5]^d.

    Args:
        suite: A name in `BBOB_SUITES`.
        function: Number of the function, 1 to 24.
        dims: Number of coordinates, at least 2; one of `COCO_DIMS` for `bbob-boxed`.
        instance: Number of the instance, at least 1.

    Raises:
        ValueError: There is no such problem.
        ImportError: The suite's package is not installed.

    Example:
        >>> problem = BbobProblem("sbox", function=12, dims=5, instance=3)
        >>> problem.name, problem.group, problem.near_face
        ('sbox-f12-d5-i3', 'ill-conditioned', True)
    """

    _check_grad_at_opt = False

    def __init__(self, suite: str, function: int, dims: int, instance: int) -> None:
        if suite not in BBOB_SUITES:
            raise ValueError(f"suite is {suite!r}, expected one of {', '.join(BBOB_SUITES)}.")
        if function not in BBOB_FUNCTIONS:
            raise ValueError(f"function is {function}, expected a number from 1 to 24.")
        if dims < 2:
            raise ValueError(f"dims is {dims}, expected at least 2.")
        if instance < 1:
            raise ValueError(f"instance is {instance}, expected at least 1.")
        self.suite, self.function_number, self.instance = suite, function, instance
        ioh = require("ioh", suite, "suites")
        kind = ioh.ProblemClass.BBOB if suite == "bbob" else ioh.ProblemClass.SBOX
        problem = ioh.get_problem(function, instance, dims, kind)
        self._value: Callable[[npt.NDArray[np.float64]], float] = problem
        if suite == "bbob-boxed":
            self._value = _coco_problem(function, dims, instance)
        self.dim = dims
        self.continuous_inds = list(range(dims))
        self._bounds = list(zip(problem.bounds.lb.tolist(), problem.bounds.ub.tolist(), strict=True))
        self._optimizers = [tuple(problem.optimum.x)]
        self._optimal_value = float(problem.optimum.y)
        super().__init__()

    @property
    def name(self) -> str:
        """Name that `problem_by_name` understands, such as `sbox-f12-d5-i3`."""
        return f"{self.suite}-f{self.function_number}-d{self.dim}-i{self.instance}"

    @property
    def group(self) -> str:
        """The group of BBOB, a name in `BBOB_GROUPS`."""
        return next(name for name, functions in BBOB_GROUPS.items() if self.function_number in functions)

    def description(self) -> dict[str, Any]:
        """See `BenchmarkProblem.description`."""
        return {
            "function": f"f{self.function_number}",
            "dim": self.dim,
            "placement": f"{self.suite}, instance {self.instance}",
            "instance": self.instance,
        }

    def _evaluate_true(self, X: Tensor) -> Tensor:  # noqa: N803
        return evaluate_pointwise(self._value, X)


def _coco_problem(function: int, dims: int, instance: int) -> Callable[[npt.NDArray[np.float64]], float]:
    if dims not in COCO_DIMS:
        raise ValueError(f"dims is {dims}, expected one of {', '.join(map(str, COCO_DIMS))}, those of COCO.")
    cocoex = require("cocoex", "bbob-boxed", "suites")
    suite = cocoex.Suite("bbob-boxed", f"instances: {instance}", f"dimensions: {dims} function_indices: {function}")
    problem: Callable[[npt.NDArray[np.float64]], float] = suite[0]
    return problem

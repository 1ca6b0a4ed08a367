"""Test problems on boxes: functions with their optimum where one wants it, real tasks, and the suites of BBOB."""

from betabo.lab.problems.bbob import BBOB_FUNCTIONS, BBOB_GROUPS, BBOB_SUITES, BbobProblem
from betabo.lab.problems.bounded import BoundedProblem
from betabo.lab.problems.catalogue import PROBLEMS, ProblemEntry, register_problem
from betabo.lab.problems.names import problem_by_name
from betabo.lab.problems.placement import PLACEMENTS, Placement
from betabo.lab.problems.problem import BenchmarkProblem
from betabo.lab.problems.repeated import Repeated

__all__ = [
    "BBOB_FUNCTIONS",
    "BBOB_GROUPS",
    "BBOB_SUITES",
    "PLACEMENTS",
    "PROBLEMS",
    "BbobProblem",
    "BenchmarkProblem",
    "BoundedProblem",
    "Placement",
    "ProblemEntry",
    "Repeated",
    "problem_by_name",
    "register_problem",
]

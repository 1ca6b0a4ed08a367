"""Test problems on boxes, with their optimum where one wants it: at the centre, near a face, near a vertex."""

from betabo.problems.bounded import BoundedProblem, problem_by_name
from betabo.problems.catalogue import PROBLEMS, ProblemEntry, register_problem
from betabo.problems.placement import PLACEMENTS, Placement
from betabo.problems.repeated import Repeated

__all__ = [
    "PLACEMENTS",
    "PROBLEMS",
    "BoundedProblem",
    "Placement",
    "ProblemEntry",
    "Repeated",
    "problem_by_name",
    "register_problem",
]

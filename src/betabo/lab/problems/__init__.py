"""Test problems on boxes, with their optimum where one wants it: at the centre, near a face, near a vertex."""

from betabo.lab.problems.bounded import BoundedProblem, problem_by_name
from betabo.lab.problems.catalogue import PROBLEMS, ProblemEntry, register_problem
from betabo.lab.problems.placement import PLACEMENTS, Placement
from betabo.lab.problems.repeated import Repeated

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

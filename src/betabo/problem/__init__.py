"""What is searched for: a space with objectives, constraints, and what is known."""

from betabo.problem.known import at_most, simplex
from betabo.problem.limits import Limit
from betabo.problem.measurement import ERROR, VALUE, Measurement
from betabo.problem.problem import DIRECTIONS, Direction, Problem

__all__ = ["DIRECTIONS", "ERROR", "VALUE", "Direction", "Limit", "Measurement", "Problem", "at_most", "simplex"]

"""The figures and tables of Nguyen et al. (UAI 2025), made anew and compared with what was printed."""

from betabo.lab.reproduce.catalogue import REPRODUCTIONS, reproduction_by_name
from betabo.lab.reproduce.entry import SCALES, Computation, Context, Reproduction, Scale, Summary
from betabo.lab.reproduce.runner import reproduce
from betabo.lab.reproduce.searches import Searches

__all__ = [
    "REPRODUCTIONS",
    "SCALES",
    "Computation",
    "Context",
    "Reproduction",
    "Scale",
    "Searches",
    "Summary",
    "reproduce",
    "reproduction_by_name",
]

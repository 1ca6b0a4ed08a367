"""The figures and tables of Nguyen et al. (UAI 2025), made anew and compared with what was printed."""

from betabo.lab.reproduce.catalogue import REPRODUCTIONS, reproduction_by_name
from betabo.lab.reproduce.entry import SCALES, Context, Reproduction, Scale, Summary
from betabo.lab.reproduce.runner import reproduce

__all__ = [
    "REPRODUCTIONS",
    "SCALES",
    "Context",
    "Reproduction",
    "Scale",
    "Summary",
    "reproduce",
    "reproduction_by_name",
]

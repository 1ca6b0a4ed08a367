"""The figures and tables of Nguyen et al. (UAI 2025), made anew and compared with what was printed."""

from betabo.reproduce.catalogue import REPRODUCTIONS, reproduction_by_name
from betabo.reproduce.entry import SCALES, Context, Reproduction, Scale, Summary
from betabo.reproduce.runner import reproduce

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

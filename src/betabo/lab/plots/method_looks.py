"""Names and colours of ways to search for a compressed model: kernels and what they are compared with."""

from __future__ import annotations

from betabo.lab.plots.kernel_looks import kernel_colour, kernel_name
from betabo.lab.plots.style import GREY, ORANGE, PURPLE, SKY

_NAMES = {
    "original": "Original",
    "uniform": "One ratio for all",
    "random": "Random search",
    "beta-paper": "Beta (paper)",
    "beta-matern": "Beta-Matérn",
    "from-levels": "Beta-Matérn, log EI, uniform start",
    "default": "betabo's default",
}
_COLOURS = {"random": GREY, "uniform": PURPLE, "from-levels": SKY, "default": ORANGE}

METHODS = ("original", "uniform", "random", "rbf", "matern", "beta-paper", "beta-matern", "from-levels", "default")
"""The order in which tables and figures show them.

`"from-levels"` starts where `"uniform"` looks; `"default"` is the optimizer as it comes.
"""


def method_name(method: str) -> str:
    """The name of a method in figures and tables."""
    return _NAMES.get(method) or kernel_name(method)


def method_colour(method: str) -> str:
    """The colour of a method, that of its kernel where it has one."""
    return _COLOURS.get(method) or kernel_colour(method)

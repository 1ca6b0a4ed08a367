"""What figures and tables call kernels, methods, acquisition functions and placements, and their colours."""

from __future__ import annotations

from collections.abc import Iterable

from betabo.lab.plots.style import GREEN, GREY, KERNEL_COLOURS, ORANGE, PURPLE, SKY

KERNEL_NAMES = {
    "rbf": "RBF",
    "rbf-warped": "RBF, warped",
    "spectral-mixture": "Spectral mixture",
    "newton-girard": "Newton-Girard",
    "cylindrical": "Cylindrical",
    "matern": "Matérn",
    "matern-warped": "Matérn, warped",
    "beta-paper": "Beta",
    "beta": "Beta, learned weight",
    "beta-correlation": "Beta, weight 0",
    "beta-additive": "Beta-Matérn and main effects",
    "beta-matern": "Beta-Matérn, log EI",
    "matern-control": "Matérn, log EI",
    "default": "betabo's default",
}
"""The kernels of the catalogue, and rows of the table of placements."""

_KERNEL_COLOURS = KERNEL_COLOURS | {"beta-matern": GREEN, "default": ORANGE}

METHODS = ("original", "uniform", "random", "rbf", "matern", "beta-paper", "beta-matern", "from-levels", "default")
"""Ways to find a compressed model, in the order in which tables and figures show them.

`"from-levels"` starts where `"uniform"` looks; `"default"` is the optimizer as it comes.
"""

_METHOD_NAMES = {
    "original": "Original",
    "uniform": "One ratio for all",
    "random": "Random search",
    "beta-paper": "Beta (paper)",
    "beta-matern": "Beta-Matérn",
    "from-levels": "Beta-Matérn, log EI, uniform start",
}
_METHOD_COLOURS = {"random": GREY, "uniform": PURPLE, "from-levels": SKY}

ACQUISITION_NAMES = {
    "ucb": "UCB",
    "pi": "PI",
    "ei": "EI",
    "corrected_pi": "corrected PI",
    "corrected_ei": "corrected EI",
}
"""The acquisition functions that the paper compares."""

PLACEMENT_NAMES = {"centre": "the usual box", "face": "optimum near a face", "vertex": "optimum near a vertex"}
"""Where the optimum of a problem lies."""


def kernel_name(kernel: str) -> str:
    """The name of a kernel, or of KERNEL+SETTING+..., a kernel under some settings; its own where it has no other."""
    first, *settings = kernel.split("+")
    return ", ".join([KERNEL_NAMES.get(first, first), *settings])


def kernel_colour(kernel: str) -> str:
    """The colour of a kernel: variants have that of their family, those without a family are grey."""
    first = kernel.split("+")[0]
    return _KERNEL_COLOURS.get(first) or _KERNEL_COLOURS.get(first.split("-")[0], GREY)


def method_name(method: str) -> str:
    """The name of a method, that of its kernel where it has no other."""
    return _METHOD_NAMES.get(method) or kernel_name(method)


def method_colour(method: str) -> str:
    """The colour of a method, that of its kernel where it has no other."""
    return _METHOD_COLOURS.get(method) or kernel_colour(method)


def acquisition_names(acquisitions: Iterable[str]) -> str:
    """The names of some acquisition functions as a list for people."""
    return ", ".join(ACQUISITION_NAMES[name] for name in acquisitions) or "none"

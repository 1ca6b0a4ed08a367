"""Names and colours of kernels in figures."""

from __future__ import annotations

from betabo.lab.plots.style import GREEN, GREY, KERNEL_COLOURS

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
    "beta-matern": "Beta-Matérn, log EI",
    "matern-control": "Matérn, log EI",
}
"""What figures call the kernels of the catalogue."""


def kernel_name(kernel: str) -> str:
    """The name of a kernel in figures; its own where it has no other."""
    return KERNEL_NAMES.get(kernel, kernel)


def kernel_colour(kernel: str) -> str:
    """The colour of a kernel: variants have that of their family, those without a family are grey."""
    if kernel == "beta-matern":
        return GREEN
    return KERNEL_COLOURS.get(kernel.split("-")[0], GREY)

"""Numerical analysis of the kernels: spectra, prior variances, densities on bounded intervals."""

from betabo.lab.analysis.density import BetaDensity, choose_bandwidth, rule_of_thumb
from betabo.lab.analysis.diagonal import (
    log_diagonal,
    log_diagonal_infimum,
    log_diagonal_supremum,
    log_printed_bound,
    log_repaired_bound,
    printed_bound_threshold,
)
from betabo.lab.analysis.spectra import (
    DecayComparison,
    DecayFit,
    Trend,
    compare_decays,
    linear_trend,
    matrix_spectra,
    numerical_floor,
    operator_spectrum,
    product_spectrum,
    spread_ranks,
)

__all__ = [
    "BetaDensity",
    "DecayComparison",
    "DecayFit",
    "Trend",
    "choose_bandwidth",
    "compare_decays",
    "linear_trend",
    "log_diagonal",
    "log_diagonal_infimum",
    "log_diagonal_supremum",
    "log_printed_bound",
    "log_repaired_bound",
    "matrix_spectra",
    "numerical_floor",
    "operator_spectrum",
    "printed_bound_threshold",
    "product_spectrum",
    "rule_of_thumb",
    "spread_ranks",
]

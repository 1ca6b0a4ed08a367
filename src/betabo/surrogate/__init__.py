"""Gaussian processes fitted to evaluations in the unit cube."""

from betabo.surrogate.fit import STATE_SCHEMA, FitReport, FitState, NoisePrior, covariance_factor, fit_gp
from betabo.surrogate.gp import GaussianProcess
from betabo.surrogate.outputs import OutputTransform

__all__ = [
    "STATE_SCHEMA",
    "FitReport",
    "FitState",
    "GaussianProcess",
    "NoisePrior",
    "OutputTransform",
    "covariance_factor",
    "fit_gp",
]

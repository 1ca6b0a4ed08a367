"""Gaussian processes fitted to evaluations in the unit cube.

Names are loaded when they are first used, so that what is stored of a fit can be read without the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lazy import loaded_when_used

if TYPE_CHECKING:
    from betabo.surrogate.fit import FitReport, FitState, NoisePrior, covariance_factor, fit_gp
    from betabo.surrogate.gp import GaussianProcess
    from betabo.surrogate.outputs import OutputTransform
    from betabo.surrogate.state import STATE_SCHEMA

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

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "fit": ["FitReport", "FitState", "NoisePrior", "covariance_factor", "fit_gp"],
        "gp": ["GaussianProcess"],
        "outputs": ["OutputTransform"],
        "state": ["STATE_SCHEMA"],
    },
)

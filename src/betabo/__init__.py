"""Bayesian optimization that knows its box.

Names are loaded when they are first used, so that ``import betabo`` is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from betabo.kernels import (
        BetaKernel,
        BetaMaternKernel,
        MainEffectsKernel,
        beta_additive_covariance,
        beta_covariance,
        beta_matern_covariance,
    )
    from betabo.optimizer import Config, Optimizer, minimize
    from betabo.space import Categorical, Fixed, Float, Int, Space

__version__ = "0.1.0"

_HOME = {
    "Categorical": "betabo.space",
    "Config": "betabo.optimizer",
    "Fixed": "betabo.space",
    "Float": "betabo.space",
    "Int": "betabo.space",
    "Optimizer": "betabo.optimizer",
    "Space": "betabo.space",
    "minimize": "betabo.optimizer",
    "BetaKernel": "betabo.kernels",
    "BetaMaternKernel": "betabo.kernels",
    "MainEffectsKernel": "betabo.kernels",
    "beta_additive_covariance": "betabo.kernels",
    "beta_covariance": "betabo.kernels",
    "beta_matern_covariance": "betabo.kernels",
}

__all__ = [
    "BetaKernel",
    "BetaMaternKernel",
    "Categorical",
    "Config",
    "Fixed",
    "Float",
    "Int",
    "MainEffectsKernel",
    "Optimizer",
    "Space",
    "__version__",
    "beta_additive_covariance",
    "beta_covariance",
    "beta_matern_covariance",
    "minimize",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'betabo' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__

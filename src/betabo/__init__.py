"""Bayesian optimization that knows its box.

Names are loaded when they are first used, so that ``import betabo`` is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lazy import loaded_when_used, when_imported

if TYPE_CHECKING:
    from betabo.kernels import (
        BetaKernel,
        BetaMaternKernel,
        MainEffectsKernel,
        beta_additive_covariance,
        beta_covariance,
        beta_matern_covariance,
    )
    from betabo.optimizer import Config, Optimizer
    from betabo.problem import Problem, at_most, simplex
    from betabo.search import maximize, minimize
    from betabo.space import Categorical, Fixed, Float, Int, Profile, Space

__version__ = "0.1.0"

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
    "Problem",
    "Profile",
    "Space",
    "__version__",
    "at_most",
    "beta_additive_covariance",
    "beta_covariance",
    "beta_matern_covariance",
    "maximize",
    "minimize",
    "simplex",
]

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "kernels": [
            "BetaKernel",
            "BetaMaternKernel",
            "MainEffectsKernel",
            "beta_additive_covariance",
            "beta_covariance",
            "beta_matern_covariance",
        ],
        "optimizer": ["Config", "Optimizer"],
        "problem": ["Problem", "at_most", "simplex"],
        "search": ["maximize", "minimize"],
        "space": ["Categorical", "Fixed", "Float", "Int", "Profile", "Space"],
    },
)

when_imported("transformers.quantizers.auto", "betabo.compress.from_pretrained", "register")

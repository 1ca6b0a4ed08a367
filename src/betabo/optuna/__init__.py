"""betabo in Optuna: a sampler, the model that it has of a study, and the trials of a study as everybody sees them.

Names are loaded when they are first used, so that looking at a study does not import the model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from betabo.extras import needs_extra

with needs_extra("optuna", "betabo.optuna needs Optuna 5"):
    import optuna as _optuna  # noqa: F401

if TYPE_CHECKING:
    from betabo.optuna.best import best_trials
    from betabo.optuna.model import StudyModel, fit_study
    from betabo.optuna.sampler import BetaSampler
    from betabo.optuna.space import from_distributions, to_distributions
    from betabo.optuna.trials import TrialRecord, read_trials

_HOME = {
    "BetaSampler": "sampler",
    "StudyModel": "model",
    "TrialRecord": "trials",
    "best_trials": "best",
    "fit_study": "model",
    "from_distributions": "space",
    "read_trials": "trials",
    "to_distributions": "space",
}

__all__ = [
    "BetaSampler",
    "StudyModel",
    "TrialRecord",
    "best_trials",
    "fit_study",
    "from_distributions",
    "read_trials",
    "to_distributions",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'betabo.optuna' has no attribute {name!r}")
    return getattr(import_module(f"betabo.optuna.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__

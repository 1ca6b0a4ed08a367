"""betabo in Optuna: a sampler, the model that it has of a study, and the trials of a study as everybody sees them.

Names are loaded when they are first used, so that looking at a study does not import the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.extras import needs_extra
from betabo.lazy import loaded_when_used

with needs_extra("optuna", "betabo.optuna needs Optuna 5"):
    import optuna as _optuna  # noqa: F401

if TYPE_CHECKING:
    from betabo.optuna.attributes import VARIANCE
    from betabo.optuna.best import best_trials
    from betabo.optuna.model import StudyModel, fit_study
    from betabo.optuna.recommendation import Recommended, recommend
    from betabo.optuna.sampler import BetaSampler
    from betabo.optuna.space import from_distributions, to_distributions
    from betabo.optuna.trials import TrialRecord, read_trials

__all__ = [
    "VARIANCE",
    "BetaSampler",
    "Recommended",
    "StudyModel",
    "TrialRecord",
    "best_trials",
    "fit_study",
    "from_distributions",
    "read_trials",
    "recommend",
    "to_distributions",
]

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "attributes": ["VARIANCE"],
        "best": ["best_trials"],
        "model": ["StudyModel", "fit_study"],
        "recommendation": ["Recommended", "recommend"],
        "sampler": ["BetaSampler"],
        "space": ["from_distributions", "to_distributions"],
        "trials": ["TrialRecord", "read_trials"],
    },
)

"""betabo in Optuna: a sampler, and the model that it has of a study."""

from betabo.extras import needs_extra

with needs_extra("optuna", "betabo.optuna needs Optuna 5"):
    import optuna as _optuna  # noqa: F401

from betabo.optuna.model import StudyModel, fit_study
from betabo.optuna.sampler import BetaSampler
from betabo.optuna.space import from_distributions, to_distributions

__all__ = ["BetaSampler", "StudyModel", "fit_study", "from_distributions", "to_distributions"]

"""Whether a search sees noise, which decides what it calls best and where it looks next.

A process with noise in it explains everything that it cannot follow as noise: a kink, a step, ripples shorter than the
distance of the points. So an estimate alone proves nothing. Where the model says that there is noise, the search
therefore measures its best point a second time. If the value is the same there is none, and the model is told so.
"""

from __future__ import annotations

from betabo.optimizer.config import Config
from betabo.optimizer.data import Data
from betabo.surrogate import FitState
from betabo.surrogate.likelihood import Noise

SEEN = 0.1
"""Standard deviation of the noise, in standard deviations of the transformed values, from which on it is seen.

Of 32 searches without noise the fit estimated more in two, on functions with a kink at the optimum, and 2.2 % at most
in 28 (`docs/noise.md`). With less noise the lowest value is as good an answer as any.
"""


def noise_model(data: Data, config: Config) -> Noise:
    """The noise of values whose variance is not known: as configured, or none where repeats show that there is none."""
    return "none" if config.noise_model == "unknown" and data.own.is_repeatable else config.noise_model


def is_seen(state: FitState) -> bool:
    """Whether the fit of an objective says that there is noise."""
    return state.noise >= SEEN**2

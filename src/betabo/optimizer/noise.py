"""Whether a search sees noise, which decides what it calls best and where it looks next.

A process with noise in it explains everything that it cannot follow as noise: a kink, a step, ripples shorter than the
distance of the points. So an estimate alone proves nothing. Where the model says that there is noise, the search
therefore measures its best point a second time. If the value differs there is noise. If it is the same there is
probably none; how probably depends on how coarse the values are, and on how much likelier noise makes all the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import erf

from betabo.optimizer.data import Data, Points
from betabo.surrogate import FitState

SEEN = 0.1
"""Standard deviation of the noise, in standard deviations of the transformed values, from which on it is seen.

Of 32 searches without noise the fit estimated more in two, on functions with a kink at the optimum, and 2.2 % at most
in 28 (`docs/noise.md`). With less noise the lowest value is as good an answer as any.
"""

_COPIES = 0.1  # probability that values which were told together are copies of each other
_STORED = 0.01  # probability that a value which was asked for again came out of a store
_CLEAREST = 4.0  # most that the logarithm of a ratio of likelihoods counts for: the model may be wrong about the rest

_ROUNDING = 1e-9  # of the range of the values, below which they differ by rounding only


def is_seen(state: FitState) -> bool:
    """Whether the fit of an objective says that there is noise."""
    return state.noise >= SEEN**2


@dataclass(frozen=True)
class Repeats:
    """Values of points that had one before.

    Attributes:
        again: Which of the values these are, `n`.
        own: Which of them the search itself asked for, `n`.
        agree: Whether each is the same as the first one of its point.
    """

    again: npt.NDArray[np.bool_]
    own: npt.NDArray[np.bool_]
    agree: bool

    @classmethod
    def of(cls, data: Data, values: Points) -> Repeats:
        """Those among the values, `n`, of the points of `data`."""
        places = data.places
        first = np.unique(places, return_index=True)[1][places] if len(places) else places
        again = first != np.arange(len(first))
        return cls(again, again & data.asked, bool((values == values[first]).all()))

    @property
    def leave_open(self) -> bool:
        """Whether there are some and they agree, which speaks against noise, and proves nothing."""
        return bool(self.again.any()) and self.agree

    def speak_for_noise(self, values: Points, deviations: Points, likelier: float) -> bool:
        """Whether there is noise rather than none, where the repeats agree.

        Args:
            values: The values, `n`.
            deviations: Standard deviation of the noise that there would be at each of them, `n`.
            likelier: Logarithm of how much likelier noise makes the values when each point counts once.
        """
        gaps = np.diff(np.unique(values))
        step = float(gaps[gaps > _ROUNDING * gaps.sum()].min(initial=math.inf))
        with np.errstate(divide="ignore"):
            chances = np.log(chance_of_agreement(step, deviations))
        told = max(float(chances[self.again & ~self.own].sum()), math.log(_COPIES))
        asked = float(np.maximum(chances[self.own], math.log(_STORED)).sum())
        return min(likelier, _CLEAREST) + told + asked > 0


def chance_of_agreement(step: float, deviations: Points) -> Points:
    """Probability that two values of one point are the same, though there is noise: if they are coarse they may be.

    Args:
        step: The values are multiples of it; infinite where all are the same.
        deviations: Standard deviations of the normal noise before it was rounded, positive.

    Returns:
        Mean probabilities over where between two multiples the value without noise may be.
    """
    if math.isinf(step):
        return np.ones_like(deviations)
    ratio = step / (2 * deviations)
    with np.errstate(over="ignore"):  # of a square, whose exponential is then 0
        chances: Points = erf(ratio) + np.expm1(-np.square(ratio)) / (ratio * math.sqrt(math.pi))
    return chances

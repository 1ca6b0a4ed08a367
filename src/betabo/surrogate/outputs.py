"""From the user's values to what a Gaussian process likes: mean 0, variance 1, no wild outliers, little skew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

Values = npt.NDArray[np.float64]

_REACH = 10.0  # values further above the third quartile than this many times its height above the minimum are capped


@dataclass(frozen=True)
class OutputTransform:
    """An increasing transformation of values that are to be minimized, learned from those seen so far.

    Values far above the bulk are capped, because how bad a bad point is does not matter to a minimizer, while one value
    of 1e12 would flatten all others. The rest is standardized, made symmetric by a Yeo-Johnson power transform, and
    standardized again. Values that are all equal become zeros.

    Attributes:
        cap: Largest value kept as it is.
        location: Mean of the capped values.
        scale: Their standard deviation, the largest of them where they differ by rounding only.
        power: Yeo-Johnson's exponent; 1 leaves values as they are.
        centre: Mean after the power transform.
        spread: Standard deviation after the power transform, 1 where it is zero.
    """

    cap: float
    location: float
    scale: float
    power: float
    centre: float
    spread: float

    @classmethod
    def learn(cls, values: Values, power: bool = True) -> OutputTransform:
        """The transformation for `values`, finite numbers.

        Args:
            values: Values seen so far, at least one.
            power: Whether to use the power transform.
        """
        values = np.asarray(values, dtype=np.float64)
        # Halved first, here and below: the difference of two numbers near 1e308 would overflow.
        lowest, upper_quartile = float((values / 2).min()), float(np.quantile(values / 2, 0.75))
        height = upper_quartile - lowest
        cap = np.inf if height <= 0 else 2 * (upper_quartile + _REACH * height)
        capped = np.minimum(values, cap)
        magnitude = np.abs(capped).max() or 1.0
        location = float(np.mean(capped / magnitude) * magnitude)
        scale = float(np.std(capped / magnitude) * magnitude)
        scale = scale if scale > 1e-14 * abs(location) else float(magnitude)
        standard = _standardized(capped, location, scale)
        exponent = 1.0
        if power and len(values) >= 4 and standard.std() > 1e-12:
            found = float(stats.yeojohnson_normmax(standard))
            exponent = found if np.isfinite(found) and abs(found) < 20 else 1.0
        powered = stats.yeojohnson(standard, exponent)
        spread = float(powered.std())
        return cls(float(cap), location, scale, exponent, float(powered.mean()), spread if spread > 1e-12 else 1.0)

    def __call__(self, values: npt.ArrayLike) -> Values:
        """The transformed values."""
        capped = np.minimum(np.asarray(values, dtype=np.float64), self.cap)
        standard = _standardized(capped, self.location, self.scale)
        transformed: Values = (stats.yeojohnson(standard, self.power) - self.centre) / self.spread
        return transformed

    def inverse(self, transformed: npt.ArrayLike) -> Values:
        """The values that are transformed to these; infinite beyond the range of the power transform."""
        powered = np.asarray(transformed, dtype=np.float64) * self.spread + self.centre
        standard = _inverse_yeojohnson(powered, self.power)
        return (standard / 2 * self.scale + self.location / 2) * 2


def _inverse_yeojohnson(powered: Values, power: float) -> Values:
    """Inverse of the Yeo-Johnson transform: a branch for each sign, alike but for the exponent."""
    upper = _inverse_branch(np.maximum(powered, 0), power)
    lower = -_inverse_branch(np.maximum(-powered, 0), 2 - power)
    return np.where(powered >= 0, upper, lower)


def _inverse_branch(powered: Values, power: float) -> Values:
    if abs(power) < 1e-12:
        return np.expm1(powered)
    base = np.maximum(power * powered, -1.0)
    with np.errstate(divide="ignore"):
        return np.expm1(np.log1p(base) / power)


def _standardized(values: Values, location: float, scale: float) -> Values:
    return (values / 2 - location / 2) / scale * 2

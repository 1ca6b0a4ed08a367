"""From the user's values to what a Gaussian process likes: mean 0, variance 1, no wild outliers, little skew."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar

Values = npt.NDArray[np.float64]

_POWERS = (-5.0, 7.0)  # Yeo-Johnson's exponents that are considered
_REACH = 10.0  # values further above the third quartile than this many times its height above the minimum are capped


@dataclass(frozen=True)
class OutputTransform:
    """An increasing transformation of values that are to be minimized, learned from those seen so far.

    Values far above the bulk are capped, because how bad a bad point is does not matter to a minimizer, while one value
    of 1e12 would flatten all others. The rest is standardized, brought into the shape a Gaussian process expects by a
    Yeo-Johnson power transform, and standardized again. Values that are all equal become zeros.

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
    def learn(cls, values: Values, power: bool = True, factor: Values | None = None) -> OutputTransform:
        """The transformation for `values`, finite numbers.

        Args:
            values: Values seen so far, at least one.
            power: Whether to use the power transform.
            factor: Lower Cholesky factor of the covariance, up to a constant, that the transformed values are believed
                to have, `n x n`; None takes them for independent.
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
            exponent = _most_likely_power(standard, np.eye(len(standard)) if factor is None else factor)
        powered = stats.yeojohnson(standard, exponent)
        spread = float(powered.std())
        return cls(float(cap), location, scale, exponent, float(powered.mean()), spread if spread > 1e-12 else 1.0)

    def __call__(self, values: npt.ArrayLike) -> Values:
        """The transformed values."""
        capped = np.minimum(np.asarray(values, dtype=np.float64), self.cap)
        standard = _standardized(capped, self.location, self.scale)
        transformed: Values = (stats.yeojohnson(standard, self.power) - self.centre) / self.spread
        return transformed

    def slopes(self, values: npt.ArrayLike) -> Values:
        """By how much transformed values change with the values, at these; beyond the cap as at the cap."""
        standard = _standardized(np.minimum(np.asarray(values, dtype=np.float64), self.cap), self.location, self.scale)
        exponent = np.where(standard >= 0, self.power - 1, 1 - self.power)
        slopes: Values = np.exp(exponent * np.log1p(np.abs(standard))) / self.scale / self.spread
        return slopes

    def inverse(self, transformed: npt.ArrayLike) -> Values:
        """The values that are transformed to these; infinite beyond the range of the power transform or of numbers."""
        powered = np.asarray(transformed, dtype=np.float64) * self.spread + self.centre
        standard = _inverse_yeojohnson(powered, self.power)
        with np.errstate(over="ignore"):
            return (standard / 2 * self.scale + self.location / 2) * 2


def _most_likely_power(standard: Values, factor: Values) -> float:
    """Yeo-Johnson's exponent with the highest likelihood.

    The transformed values are jointly normal, with a constant mean and a covariance known up to a constant. Both
    constants are those that are most likely with the exponent.
    """
    count = len(standard)
    log_slopes = float((np.sign(standard) * np.log1p(np.abs(standard))).sum())  # of the transform, by the exponent
    ones = solve_triangular(factor, np.ones(count), lower=True)
    ones /= np.sqrt(np.square(ones).sum())

    def cost(power: float) -> float:
        white = solve_triangular(factor, stats.yeojohnson(standard, power), lower=True)
        white -= np.einsum("i,i", ones, white) * ones
        return 0.5 * count * float(np.log(np.square(white).sum())) - (power - 1) * log_slopes

    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        found = minimize_scalar(cost, bounds=_POWERS, method="bounded", options={"xatol": 1e-3})
    return float(found.x) if np.isfinite(found.fun) else 1.0


def _inverse_yeojohnson(powered: Values, power: float) -> Values:
    """Inverse of the Yeo-Johnson transform: a branch for each sign, alike but for the exponent."""
    upper = _inverse_branch(np.maximum(powered, 0), power)
    lower = -_inverse_branch(np.maximum(-powered, 0), 2 - power)
    return np.where(powered >= 0, upper, lower)


def _inverse_branch(powered: Values, power: float) -> Values:
    if abs(power) < 1e-12:
        return np.expm1(powered)
    base = np.maximum(power * powered, -1.0)
    with np.errstate(divide="ignore", over="ignore"):
        return np.expm1(np.log1p(base) / power)


def _standardized(values: Values, location: float, scale: float) -> Values:
    return (values / 2 - location / 2) / scale * 2

"""How accurate a value is, as people say it."""

from __future__ import annotations

import math
from typing import Any


def as_variance(given: Any, source: str) -> float:
    """The variance of a value's noise.

    Args:
        given: A number; NumPy's and torch's scalars are numbers too.
        source: Where it comes from, for messages, such as `"variance is"`.

    Raises:
        TypeError: It is no number.
        ValueError: It is negative or not finite.
    """
    try:
        if isinstance(given, str | bytes | bool):
            raise TypeError("this is no number")
        number = float(given)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{source} {given!r}, expected a number >= 0: the square of the standard error.") from None
    if not 0 <= number < math.inf:
        raise ValueError(f"{source} {number}, expected a number >= 0: the square of the standard error.")
    return number

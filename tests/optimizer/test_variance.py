"""How accurate a value is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from betabo.optimizer.variance import as_variance


@pytest.mark.parametrize("given", [0, 0.25, np.float32(0.25), np.array(0.25)])
def test_numbers_are_variances(given: Any) -> None:
    assert as_variance(given, "variance is") == float(given)


@pytest.mark.parametrize("given", [-1.0, math.nan, math.inf])
def test_what_is_no_size_is_refused(given: float) -> None:
    with pytest.raises(ValueError, match=f"variance is {given}, expected a number >= 0"):
        as_variance(given, "variance is")


@pytest.mark.parametrize("given", ["0.1", None, True, [1.0, 2.0], 10**400])
def test_what_is_no_number_is_refused(given: Any) -> None:
    with pytest.raises(TypeError, match="expected a number >= 0: the square of the standard error"):
        as_variance(given, "variance is")

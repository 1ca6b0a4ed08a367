"""What all figures have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from optuna.distributions import FloatDistribution

from betabo.report import figures

Add = Callable[..., None]
X = {"x": FloatDistribution(0, 1)}


def by_name(figure: Any) -> dict[str, Any]:
    return {trace.name: trace for trace in figure.data}


@pytest.mark.parametrize(
    ("values", "expected"), [([1.0, 1e6], True), ([1.0, 2.0], False), ([-1.0, 1e6], False), ([], False)]
)
def test_a_logarithmic_axis_is_for_positive_values_of_several_sizes(values: list[float], expected: bool) -> None:
    assert figures.prefers_log(values) is expected

from __future__ import annotations

import numpy as np
import pytest

from betabo.lab.plots.log_axis import make_logarithmic
from betabo.lab.plots.style import new_figure


@pytest.mark.parametrize(("high", "expected"), [(9.0, [1, 2, 5]), (5000.0, [1, 10, 100, 1000])], ids=["few", "many"])
def test_ticks_follow_the_decades(high: float, expected: list[float]) -> None:
    axes = new_figure(3, 3).subplots()
    axes.plot([1, 2], [1.0, high])
    axes.set_ylim(1, high)
    make_logarithmic(axes, "y")
    ticks = [t for t in axes.get_yticks() if 1 <= t <= high]
    np.testing.assert_allclose(ticks, expected)
    assert axes.get_yscale() == "log"
    assert axes.get_xscale() == "linear"


def test_numbers_are_plain() -> None:
    axes = new_figure(3, 3).subplots()
    axes.set_xlim(0.1, 1000)
    make_logarithmic(axes, "x")
    assert axes.xaxis.get_major_formatter()(0.1, 0) == "0.1"
    assert axes.xaxis.get_major_formatter()(1000, 0) == "1000"

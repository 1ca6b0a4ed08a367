"""What lies beyond the bounds: signs where the truth is known, and units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from betabo import Categorical, Float, Int, Optimizer, Space
from betabo.optimizer.beyond import gains_beyond


def searched(fun: Any, space: Any, count: int = 18, **settings: Any) -> Optimizer:
    optimizer = Optimizer(space, seed=0, **settings)
    for _ in range(count):
        point = optimizer.ask()
        optimizer.tell(point, fun(point))
    return optimizer


def test_the_sign_says_on_which_side_of_the_bound_the_optimum_lies() -> None:
    def bowl(x: Any) -> float:
        return float((x[0] - 1.3) ** 2 + 2 * (x[1] - 0.4) ** 2)

    gains = {(g.parameter, g.side): g for g in searched(bowl, [(-1, 1), (-1, 1)]).gains_beyond()}
    assert set(gains) == {("x0", "upper")}
    upper = gains["x0", "upper"]
    assert (upper.bound, upper.until) == (1.0, 1.5)
    assert upper.gain == pytest.approx(0.09, abs=0.04)  # from 0.3 squared to none
    assert upper.low <= upper.gain <= upper.high


def test_all_bounds_are_looked_at_if_all_are_asked_for() -> None:
    optimizer = searched(lambda x: float(((x - 0.1) ** 2).sum()), [(-1, 1), (-1, 1)])
    gains = gains_beyond(optimizer._data(), optimizer.space, optimizer.config)
    assert [(g.parameter, g.side) for g in gains] == [
        ("x0", "lower"),
        ("x0", "upper"),
        ("x1", "lower"),
        ("x1", "upper"),
    ]
    assert all(gain.high < 0 for gain in gains)
    assert optimizer.gains_beyond() == []


def test_mixed_spaces_and_the_largest_value() -> None:
    space = Space({"act": Categorical(["a", "b"]), "n": Int(1, 8), "lr": Float(1e-4, 1e-1, log=True)})

    def value(p: dict[str, Any]) -> float:
        return 2.0 * p["n"] - (p["act"] == "b") - (np.log10(p["lr"]) + 2) ** 2

    optimizer = searched(value, space, objectives="maximize", count=24)
    (gain,) = optimizer.gains_beyond()
    assert (gain.parameter, gain.side, gain.bound, gain.until) == ("n", "upper", 8, 10)
    assert 0 < gain.gain < 12


def test_what_has_no_estimate() -> None:
    with pytest.raises(ValueError, match="there are 0 values, expected at least 2"):
        Optimizer([(0, 1)]).gains_beyond([("x0", "upper")])
    two = Optimizer([(0, 1)], objectives={"a": "minimize", "b": "minimize"})
    with pytest.raises(ValueError, match="there are 2 objectives"):
        two.gains_beyond([("x0", "upper")])
    positive = searched(lambda x: float(x[0]), [(0, 1)], count=6)
    assert positive.gains_beyond([("x0", "lower")]) == []  # below zero there may be nothing


def test_the_documentation_has_the_figures_of_the_runs() -> None:
    """Those of `benchmarks/outlook.py beyond`."""
    runs = pandas.read_csv(Path(__file__).parents[2] / "docs" / "results" / "gain-beyond.csv")
    right = (runs["gain"] > 0) == (runs["true_gain"] > 0)
    inside = (runs["low"] <= runs["true_gain"]) & (runs["true_gain"] <= runs["high"])
    on = runs["on_bound"]
    assert (len(runs), int(on.sum()), int(right[on].sum()), int(inside[on].sum())) == (79, 18, 16, 15)
    seen, true = runs["gain"][~on] > 0, runs["true_gain"][~on] > 0
    assert (int((~on).sum()), int(seen.sum()), int(true.sum())) == (61, 1, 32)


class TestConstraints:
    BOX = ((-1, 1), (-1, 1))

    def test_what_is_measured_counts_beyond_a_bound(self) -> None:
        def slope(x: Any) -> dict[str, float]:
            return {"value": float(2 - x[0] + x[1] ** 2), "heat": float(100 * x[0])}

        def gain(limit: str) -> float:
            (found,) = searched(slope, self.BOX, constraints={"heat": limit}).gains_beyond([("x0", "upper")])
            return found.gain

        assert gain("<= 500") > 0 > gain("<= 99")

    def test_what_is_known_counts_too(self) -> None:
        optimizer = searched(lambda x: float(2 - x[0] + x[1] ** 2), self.BOX, known="x0 <= 1 or x1 >= 5", count=10)
        assert optimizer.gains_beyond([("x0", "upper")]) == []

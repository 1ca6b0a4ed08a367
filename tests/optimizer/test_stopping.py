"""Rules for ending a search: what they see, when they speak, what they refuse."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from betabo import Optimizer, maximize, minimize
from betabo.optimizer.remaining import RemainingGain
from betabo.optimizer.stopping import Plateau, Progress, Regret, Stopping, parse_duration, parse_rule, show_duration

BOX = [(-5.0, 10.0), (0.0, 15.0)]


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def progress(values: list[float | None], draws: Any = (), design: int = 2) -> Progress:
    return Progress(values, 2, design, lambda: RemainingGain(np.sort(np.array(draws, dtype=float)), 0.0))


class TestPlateau:
    def test_waits_for_so_many_evaluations_without_a_better_value(self) -> None:
        rule = Plateau(3)
        assert not rule.reason(progress([9, 5, 4, 3, 4, 5]))
        assert "for 3 evaluations" in rule.reason(progress([9, 5, 4, 3, 4, 5, 6]))

    def test_a_tiny_gain_is_none(self) -> None:
        assert Plateau(2).reason(progress([9, 5, 3, 4, 2.9999]))
        assert not Plateau(2, tolerance=0).reason(progress([9, 5, 3, 4, 2.9999]))
        assert not Plateau(2).reason(progress([9, 5, 3, 4, 2.9]))

    def test_starting_points_and_failures_are_no_plateau(self) -> None:
        assert not Plateau(3).reason(progress([1, 2, 3, 4, 5], design=3))
        assert not Plateau(2).reason(progress([None, None, None, None, 1.0]))

    def test_its_usual_length_grows_with_the_number_of_coordinates(self) -> None:
        values: list[float | None] = [1.0, *[2.0] * 24]
        assert Plateau().reason(Progress(values, 2, 2, lambda: RemainingGain(np.zeros(1), 0.0)))
        assert not Plateau().reason(Progress(values, 8, 2, lambda: RemainingGain(np.zeros(1), 0.0)))


class TestRegret:
    def test_asks_the_model_what_is_left(self) -> None:
        values: list[float | None] = [9, 5, 4, 3, 2, 1, 2]
        assert "more than 0.5 is still to be gained" in Regret(0.5).reason(progress(values, np.full(256, 0.1)))
        assert not Regret(0.05).reason(progress(values, np.full(256, 0.1)))

    def test_a_little_is_a_share_of_the_spread(self) -> None:
        values: list[float | None] = [11.0] * 4 + [1.0] * 9  # a hundredth of the spread is 0.1
        assert Regret().reason(progress(values, np.full(256, 0.09)))
        assert not Regret().reason(progress(values, np.full(256, 0.11)))

    def test_asks_after_every_fourth_evaluation(self) -> None:
        asked = []

        def remaining() -> RemainingGain:
            asked.append(1)
            return RemainingGain(np.ones(256), 0.0)

        rule = Regret(0.5)
        for count in range(1, 19):
            rule.reason(Progress([float(-i) for i in range(count)], 2, 2, remaining))
        assert len(asked) == 4  # after 6, 10, 14 and 18


class TestSearch:
    def test_ends_at_a_target(self) -> None:
        result = minimize(bowl, BOX, budget=40, seed=0, target=0.5)
        assert result.fun <= 0.5
        assert all(e.value is None or e.value > 0.5 for e in result.history[:-1])
        assert result.success
        assert result.message == "the target of 0.5 is reached"

    def test_a_target_of_the_largest_value(self) -> None:
        result = maximize(lambda x: -bowl(x), BOX, budget=40, seed=0, target=-0.5)
        assert result.fun >= -0.5
        assert all(e.value is None or e.value < -0.5 for e in result.history[:-1])

    def test_several_objectives_have_a_plateau_and_no_target(self) -> None:
        two: dict[str, Any] = {"objectives": {"a": "minimize", "b": "maximize"}, "budget": 12, "seed": 0}
        result = minimize(lambda x: {"a": 1.0, "b": 2.0}, BOX, stop="plateau=2", **two)
        assert result.message == "the best value has not improved for 2 evaluations"
        for more in ({"target": 1.0}, {"stop": "regret"}):
            with pytest.raises(ValueError, match="there are 2 objectives, expected one for a target"):
                minimize(lambda x: {"a": 1.0, "b": 2.0}, BOX, **two, **more)

    def test_what_violates_a_constraint_reaches_no_target(self) -> None:
        result = minimize(
            lambda x: {"value": bowl(x), "heat": x[0]}, BOX, budget=9, seed=0, target=60.0, constraints={"heat": "<= 0"}
        )
        assert result.x[0] <= 0 or result.nfev == 9

    def test_ends_after_a_time(self) -> None:
        def slow(x: Any) -> float:
            time.sleep(0.05)
            return bowl(x)

        result = minimize(slow, BOX, budget=1000, seed=0, timeout=0.3, starting_points=1000)
        assert 1 <= result.nfev <= 7
        assert result.message == "the time of 0.3 s is used up"

    def test_ends_when_little_is_left(self) -> None:
        result = minimize(bowl, BOX, budget=60, seed=0, stop="regret")
        assert result.nfev < 40
        assert result.fun < 0.5
        assert "is still to be gained" in result.message

    def test_ends_on_a_plateau(self) -> None:
        result = minimize(bowl, BOX, budget=60, seed=0, stop=["plateau=6"], starting_points=60)
        assert result.message == "the best value has not improved for 6 evaluations" or result.nfev == 60
        result = minimize(lambda x: 1.0, BOX, budget=60, seed=0, stop=Plateau(6))
        assert result.nfev == 11

    def test_a_rule_of_your_own(self) -> None:
        class Enough:
            def reason(self, progress: Progress) -> str:
                return "enough" if len(progress.values) == 3 else ""

        assert minimize(bowl, BOX, budget=10, seed=0, stop=Enough()).message == "enough"

    def test_the_budget_has_the_last_word(self) -> None:
        assert minimize(bowl, BOX, budget=3, seed=0, target=1e9, initial=[]).nfev == 1
        assert minimize(lambda x: 1.0, BOX, budget=11, seed=0, stop="plateau=6").message.startswith("the budget")

    def test_progress_of_a_search(self) -> None:
        optimizer = Optimizer(BOX, seed=0)
        optimizer.tell([0, 0], 3.0)
        optimizer.tell_failure([1, 1])
        assert optimizer.progress().values == [3.0, None]
        assert optimizer.progress().design == 5


@pytest.mark.parametrize(
    ("duration", "seconds"),
    [(90, 90), ("90", 90), ("90s", 90), ("1.5 h", 5400), ("1h30m", 5400), ("2min", 120), ("1d", 86400), (0.5, 0.5)],
)
def test_durations(duration: Any, seconds: float) -> None:
    assert parse_duration(duration) == seconds


@pytest.mark.parametrize("duration", ["", "h", "2 hours", "-1s", "0s", 0, -1, "1e3", "1h 2x"])
def test_no_durations(duration: Any) -> None:
    with pytest.raises(ValueError, match="expected seconds > 0, or text such as '90s'"):
        parse_duration(duration)


def test_durations_are_shown_as_they_are_said() -> None:
    assert [show_duration(s) for s in (0.3, 90, 120, 900, 3600, 5400, 7200)] == [
        "0.3 s",
        "90 s",
        "2 min",
        "15 min",
        "1 h",
        "90 min",
        "2 h",
    ]


def test_what_is_no_rule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"stop is 'plato', expected 'plateau'.*Did you mean 'plateau'"):
        parse_rule("plato")
    with pytest.raises(ValueError, match=r"stop is 'plateau=2\.5': 2\.5 is given, expected a whole number"):
        parse_rule("plateau=2.5")
    with pytest.raises(ValueError, match=r"stop is 'regret=-1': gain is -1\.0, expected a number > 0"):
        parse_rule("regret=-1")
    with pytest.raises(ValueError, match="stop is 'regret=much'"):
        parse_rule("regret=much")
    for wrong in (3, Plateau, object()):
        with pytest.raises(TypeError, match="expected 'plateau', 'plateau=EVALUATIONS', 'regret'"):
            Stopping.of(None, None, wrong, ["minimize"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="target is nan, expected a finite number"):
        minimize(bowl, BOX, target=float("nan"))
    with pytest.raises(ValueError, match="risk is 2"):
        Regret(risk=2)
    with pytest.raises(ValueError, match="evaluations is 0"):
        Plateau(0)


def test_rules_follow_the_volume_of_few_objectives() -> None:
    with pytest.raises(ValueError, match="there are 5 objectives, expected at most 4"):
        Stopping.of(None, None, "plateau", ["minimize"] * 5)


def test_nothing_is_a_plateau_before_all_constraints_hold() -> None:
    search = Optimizer(BOX, objectives={"a": "minimize", "b": "minimize"}, constraints={"c": "<= 0"}, seed=0)
    for i in range(8):
        search.tell([float(i), 1.0], {"a": 1.0, "b": 2.0, "c": 1.0})
    assert search.progress().finite == []

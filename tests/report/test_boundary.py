"""Distances to the boundary and the hint that a box is too small."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution

from betabo.optuna.attributes import PLAN
from betabo.report.boundary import Hint, expected_distance, hints, parameter_facts, running_median
from betabo.report.facts import centre_trial, read_study


def hints_of(study: optuna.Study) -> list[Hint]:
    facts = read_study(study)
    return hints(facts, parameter_facts(facts, centre_trial(facts)))


def study_of(
    values: dict[str, list[Any]], ranges: dict[str, BaseDistribution], add: Callable[..., None]
) -> optuna.Study:
    """Trials with the given parameters, the first the best."""
    study = optuna.create_study()
    for index, row in enumerate(zip(*values.values(), strict=True)):
        add(study, dict(zip(values, row, strict=True)), [float(index)], ranges)
    return study


class TestDistance:
    def test_expected_is_the_mean_over_random_points(self, study: optuna.Study) -> None:
        found = expected_distance(read_study(study).trials)
        draws = np.random.default_rng(0).uniform(size=(200_000, 3))
        assert found == pytest.approx((1 - 2 * np.abs(draws - 0.5).max(axis=1)).mean(), abs=2e-3)

    def test_running_median_looks_back(self, study: optuna.Study) -> None:
        trials = [t for t in read_study(study).trials if t.boundary_distance is not None]
        numbers, medians = running_median(trials, window=4)
        distances = [t.boundary_distance for t in trials]
        assert numbers == [t.number for t in trials]
        assert medians == [float(np.median(distances[max(0, i - 3) : i + 1])) for i in range(len(distances))]


class TestHints:
    def test_name_the_parameters_of_the_best_trial_that_are_on_a_bound(self, study: optuna.Study) -> None:
        found = {(hint.parameter, hint.side, hint.bound) for hint in hints_of(study)}
        assert found == {("drop", "upper", 0.5), ("layers", "upper", 6)}

    def test_say_what_was_seen_and_what_to_do(self, study: optuna.Study) -> None:
        (hint, _) = hints_of(study)
        assert hint.evidence.startswith("The best trial has 0.5, on the upper bound 0.5")
        assert hint.advice == "Widen the range, for example to [0, 0.62], unless 0.5 is a limit."

    def test_there_are_none_inside_the_box(self, add_trial: Callable[..., None]) -> None:
        study = study_of({"x": [0.5, 0.0, 1.0]}, {"x": FloatDistribution(0, 1)}, add_trial)
        assert hints_of(study) == []

    def test_ranges_that_the_user_did_not_choose_are_not_to_be_widened(self, study: optuna.Study) -> None:
        for kind, found in (("function", 2), ("betabo.compress.objective:CompressionObjective", 0)):
            study.set_user_attr(PLAN, {"objective": {"type": kind}})
            assert len(hints_of(study)) == found

    def test_most_of_the_best_few_suffice(self, add_trial: Callable[..., None]) -> None:
        values = {"x": [0.9, 1.0, 0.995, *([0.5] * 5)]}
        (hint,) = hints_of(study_of(values, {"x": FloatDistribution(0, 1)}, add_trial))
        assert hint.evidence == "2 of the best 3 trials are on or next to the upper bound 1."

    @pytest.mark.parametrize(
        ("distribution", "value", "expected"),
        [
            (FloatDistribution(1e-5, 1e-1, log=True), 1e-1, "[1e-05, 1]"),
            (FloatDistribution(1e-5, 1e-1, log=True), 1e-5, "[1e-06, 0.1]"),
            (FloatDistribution(-4.0, 4.0), -4.0, "[-6, 4]"),
            (IntDistribution(1, 9), 9, "[1, 11]"),
            (IntDistribution(2, 9), 2, "[0, 9]"),
            (FloatDistribution(1000.0, 1001.0), 1001.0, "[1000, 1001.25]"),
        ],
        ids=str,
    )
    def test_propose_a_wider_range(
        self, distribution: BaseDistribution, value: float, expected: str, add_trial: Callable[..., None]
    ) -> None:
        (hint,) = hints_of(study_of({"x": [value]}, {"x": distribution}, add_trial))
        assert expected in hint.advice

    def test_do_not_propose_negative_values_below_zero(self, add_trial: Callable[..., None]) -> None:
        (hint,) = hints_of(study_of({"x": [0.0]}, {"x": FloatDistribution(0, 1)}, add_trial))
        assert "[" not in hint.advice
        assert "log scale" in hint.advice

    def test_survive_a_range_up_to_the_largest_number(self, add_trial: Callable[..., None]) -> None:
        largest = math.nextafter(math.inf, 0)
        (hint,) = hints_of(study_of({"x": [largest]}, {"x": FloatDistribution(1, largest, log=True)}, add_trial))
        assert hint.advice == "Widen the range if values beyond it make sense."

    def test_forget_a_bound_that_was_widened(self, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study()
        add_trial(study, {"x": 1.0}, [0.0], {"x": FloatDistribution(0, 1)})
        add_trial(study, {"x": 1.5}, [1.0], {"x": FloatDistribution(0, 2)})
        assert hints_of(study) == []

    def test_of_a_front_need_most_of_it(self, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study(directions=["minimize", "minimize"])
        ranges = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
        for index, (x, y) in enumerate([(1.0, 0.0), (1.0, 0.3), (1.0, 0.4), (0.2, 0.6)]):
            add_trial(study, {"x": x, "y": y}, [float(index), -float(index)], ranges)
        (hint,) = hints_of(study)
        assert (hint.parameter, hint.side) == ("x", "upper")
        assert hint.evidence == "3 of the front's 4 trials are on or next to the upper bound 1."


def test_parameters_know_how_often_the_model_went_to_a_bound(add_trial: Callable[..., None]) -> None:
    study = optuna.create_study()
    for x, origin in ((0.0, "start"), (0.0, "model"), (1.0, "model"), (1.0, "model"), (0.5, "model")):
        step = {"betabo:step": {"origin": origin}}
        add_trial(study, {"x": x}, [x], {"x": FloatDistribution(0, 1)}, system_attrs=step)
    facts = read_study(study)
    (parameter,) = parameter_facts(facts, centre_trial(facts))
    assert (parameter.model_lower, parameter.model_upper) == (0.25, 0.5)

"""Distances to the boundary and the hint that a box is too small."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from betabo.report.boundary import (
    Hint,
    expected_distance,
    face,
    hints,
    parameter_facts,
    position,
    running_median,
    trial_distance,
)
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


class TestPosition:
    @pytest.mark.parametrize(
        ("distribution", "value", "expected"),
        [
            (FloatDistribution(-2, 6), 0.0, 0.25),
            (FloatDistribution(1e-4, 1, log=True), 1e-2, 0.5),
            (FloatDistribution(0, 1, step=0.25), 0.75, 0.75),
            (IntDistribution(1, 5), 2, 0.25),
            (IntDistribution(1, 100, log=True), 10, 0.5),
            (FloatDistribution(0, 1), 1.0, 1.0),
            (FloatDistribution(0.1, 0.3), 0.1, 0.0),
        ],
        ids=str,
    )
    def test_is_a_share_of_the_range(self, distribution: BaseDistribution, value: float, expected: float) -> None:
        assert position(distribution, value) == pytest.approx(expected, abs=1e-12)

    @pytest.mark.parametrize(
        ("distribution", "value"),
        [
            (CategoricalDistribution([1, 2]), 1),
            (FloatDistribution(1, 1), 1.0),
            (IntDistribution(0, 1), 1),
            (FloatDistribution(0, 0.5, step=0.5), 0.5),
        ],
        ids=str,
    )
    def test_means_nothing_without_an_interior(self, distribution: BaseDistribution, value: float) -> None:
        assert position(distribution, value) is None

    @pytest.mark.parametrize(
        ("at", "expected"), [(0, "lower"), (0.01, "lower"), (0.02, None), (0.99, "upper"), (1, "upper"), (None, None)]
    )
    def test_face_is_within_a_hundredth(self, at: float | None, expected: str | None) -> None:
        assert face(at) == expected


class TestDistance:
    def test_is_that_of_the_parameter_nearest_to_a_bound(self, ranges: dict[str, BaseDistribution]) -> None:
        point = {"rate": 0.01, "drop": 0.05, "layers": 3, "act": "relu"}
        assert trial_distance(point, ranges) == pytest.approx(1 - 2 * max(0.0, 0.4, 0.1))

    def test_does_not_exist_without_numeric_parameters(self, ranges: dict[str, BaseDistribution]) -> None:
        assert trial_distance({"act": None}, {"act": ranges["act"]}) is None
        assert trial_distance({}, {}) is None

    def test_expected_is_the_mean_over_random_points(self, study: optuna.Study) -> None:
        found = expected_distance(read_study(study).trials)
        draws = np.random.default_rng(0).uniform(size=(200_000, 3))
        assert found == pytest.approx((1 - 2 * np.abs(draws - 0.5).max(axis=1)).mean(), abs=2e-3)

    def test_running_median_looks_back(self, study: optuna.Study) -> None:
        trials = [t for t in read_study(study).trials if t.distance is not None]
        numbers, medians = running_median(trials, window=4)
        distances = [t.distance for t in trials]
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

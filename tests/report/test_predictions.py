"""Slices and Sobol indices, of functions whose answers are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import norm

from betabo.optuna.model import fit_study
from betabo.optuna.space import from_distributions
from betabo.report.predictions import LEVELS, coordinate_labels, importances, ranking, slices


class KnownModel:
    """Predicts a known function of the cube, with a known standard deviation."""

    def __init__(
        self,
        distributions: Mapping[str, BaseDistribution],
        means: Sequence[Callable[[Any], Any]],
        deviation: float = 0.1,
    ) -> None:
        self.distributions = dict(distributions)
        self.space = from_distributions(distributions)
        self.means, self.deviation = means, deviation
        self.units = np.zeros((3, self.space.dims))
        self.values = np.zeros((3, len(means)))
        self.diagnostics: dict[str, Any] = {}

    def quantiles(self, units: Any, probabilities: Sequence[float], objective: int = 0) -> Any:
        mean = self.means[objective](np.asarray(units))
        return mean + self.deviation * norm.ppf(probabilities)[:, None]


def ishigami(u: Any) -> Any:
    x = np.pi * (2 * u - 1)
    return np.sin(x[:, 0]) + 7 * np.sin(x[:, 1]) ** 2 + 0.1 * x[:, 2] ** 4 * np.sin(x[:, 0])


CUBE = {name: FloatDistribution(0, 1) for name in "abc"}
MIXED: dict[str, BaseDistribution] = {
    "act": CategoricalDistribution(["relu", "tanh", None]),
    "n": IntDistribution(1, 3),
    "rate": FloatDistribution(1e-4, 1, log=True),
    "step": FloatDistribution(0, 1, step=0.25),
}


class TestImportance:
    def test_of_the_ishigami_function(self) -> None:
        (found,) = importances(KnownModel(CUBE, [ishigami]))  # type: ignore[arg-type]
        first = dict(zip(found.parameters, found.first, strict=True))
        total = dict(zip(found.parameters, found.total, strict=True))
        assert first == pytest.approx({"a": 0.3139, "b": 0.4424, "c": 0.0}, abs=0.015)
        assert total == pytest.approx({"a": 0.5576, "b": 0.4424, "c": 0.2437}, abs=0.015)
        assert found.parameters == ["a", "b", "c"]

    def test_of_several_objectives(self) -> None:
        model = KnownModel(CUBE, [lambda u: u[:, 2], lambda u: u[:, 0] + 0.5 * u[:, 1]])
        one, two = importances(model)  # type: ignore[arg-type]
        assert (one.objective, one.parameters[0], one.first[0]) == (0, "c", pytest.approx(1, abs=0.01))
        assert two.parameters == ["a", "b", "c"]
        assert two.total == pytest.approx([0.8, 0.2, 0.0], abs=0.02)
        assert ranking([one, two]) == ["c", "a", "b"]

    def test_of_choices_gives_each_the_same_weight(self) -> None:
        # Variances: 2/9 for one of three choices, 2/3 for 0, 1, 2.
        model = KnownModel(MIXED, [lambda u: u[:, 1] + 2 * u[:, 3]])
        (found,) = importances(model)  # type: ignore[arg-type]
        assert found.parameters[:2] == ["n", "act"]
        assert found.first[:2] == pytest.approx([0.75, 0.25], abs=0.02)

    def test_of_a_flat_prediction_is_zero(self) -> None:
        (found,) = importances(KnownModel(CUBE, [lambda u: np.ones(len(u))]))  # type: ignore[arg-type]
        assert found.first == found.total == [0, 0, 0]

    def test_of_a_single_parameter_is_all_or_nothing(self) -> None:
        model = KnownModel({"a": CUBE["a"]}, [lambda u: u[:, 0] ** 2, lambda u: np.ones(len(u))])
        assert [(found.first, found.total) for found in importances(model)] == [([1], [1]), ([0], [0])]  # type: ignore[arg-type]

    def test_does_not_depend_on_the_unit_of_the_values(self) -> None:
        one, huge = (importances(KnownModel(CUBE, [f]))[0] for f in (ishigami, lambda u: 1e300 * ishigami(u)))  # type: ignore[arg-type]
        assert huge.total == pytest.approx(one.total)

    def test_of_many_parameters_stays_affordable(self) -> None:
        counts: list[int] = []

        def mean(u: Any) -> Any:
            counts.append(len(u))
            return u[:, 7]

        ranges = {f"x{i}": FloatDistribution(0, 1) for i in range(100)}
        (found,) = importances(KnownModel(ranges, [mean]))  # type: ignore[arg-type]
        assert found.parameters[0] == "x7"
        assert sum(counts) <= 25_000


class TestSlices:
    def test_hold_the_other_parameters_and_give_quantiles(self) -> None:
        model = KnownModel(CUBE, [lambda u: u[:, 0] + 10 * u[:, 1] + 100 * u[:, 2]], deviation=2.0)
        (found,) = slices(model, {"a": 0.3, "b": 0.5, "c": 0.7}, ["b"])  # type: ignore[arg-type]
        inputs = np.array(found.inputs)
        assert (inputs[0], inputs[-1], len(inputs)) == (0, 1, 65)
        expected = 0.3 + 10 * inputs + 70 + 2 * norm.ppf(LEVELS)[:, None]
        assert found.quantiles == pytest.approx(expected)
        assert not found.is_discrete

    def test_are_in_the_units_of_the_study(self) -> None:
        model = KnownModel(MIXED, [lambda u: u.sum(axis=1)])
        centre = {"act": None, "n": 2, "rate": 0.01, "step": 0.5}
        found = {s.parameter: s for s in slices(model, centre, list(MIXED))}  # type: ignore[arg-type]
        assert found["act"].inputs == ["relu", "tanh", None]
        assert found["n"].inputs == [1, 2, 3]
        assert found["step"].inputs == pytest.approx([0, 0.25, 0.5, 0.75, 1])
        assert found["rate"].inputs[::32] == pytest.approx([1e-4, 1e-2, 1])
        assert [name for name, s in found.items() if s.is_discrete] == ["act", "n", "step"]

    def test_come_for_each_objective(self) -> None:
        model = KnownModel(CUBE, [lambda u: u[:, 0], lambda u: -u[:, 0]])
        found = slices(model, {"a": 0, "b": 0, "c": 0}, ["a", "c"])  # type: ignore[arg-type]
        assert [(s.objective, s.parameter) for s in found] == [(0, "a"), (0, "c"), (1, "a"), (1, "c")]
        assert found[2].quantiles[2] == pytest.approx(-np.array(found[2].inputs))

    def test_of_no_parameters_are_none(self) -> None:
        assert slices(KnownModel(CUBE, [ishigami]), {"a": 0, "b": 0, "c": 0}, []) == []  # type: ignore[arg-type]


def test_coordinates_are_labelled_with_choices() -> None:
    labels = coordinate_labels(KnownModel(MIXED, [ishigami]))  # type: ignore[arg-type]
    assert labels == ["act=relu", "act=tanh", "act=None", "n", "rate", "step"]


def test_a_fitted_model_predicts_the_values_that_it_saw(study: optuna.Study) -> None:
    model = fit_study(study)
    best = study.best_trial
    found = {s.parameter: s for s in slices(model, best.params, ["act", "layers"])}
    low, _, median, _, high = found["layers"].quantiles[:, found["layers"].inputs.index(6)]
    values = [t.value for t in study.get_trials(states=[optuna.trial.TrialState.COMPLETE])]
    assert low < median < high
    assert abs(median - best.value) < 0.5 * float(np.std(values))

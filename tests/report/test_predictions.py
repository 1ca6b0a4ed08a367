"""Slices, of functions whose answers are known."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from scipy.stats import norm

from betabo.optuna.model import fit_study
from betabo.report.predictions import LEVELS, coordinate_labels, slices
from known_model import CUBE, MIXED, KnownModel, ishigami


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

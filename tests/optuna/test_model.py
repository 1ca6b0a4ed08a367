"""The model of a study: predictions in the study's own units, whoever made it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import Trial, create_trial

from betabo import Categorical
from betabo.optuna import BetaSampler, fit_study


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


def bowl(trial: Trial) -> float:
    return (trial.suggest_float("x", -5, 5) - 1) ** 2 + trial.suggest_float("y", 0, 3)


def test_the_last_model_predicts_in_the_units_of_the_study() -> None:
    one = BetaSampler(kernel="beta-matern", noise="none", seed=0, starting_points=5)
    study = optuna.create_study(direction="maximize", sampler=one)
    assert one.last_model is None
    study.optimize(lambda trial: 100 - bowl(trial), n_trials=12)
    model = one.last_model
    assert model is not None
    assert model.values[:, 0].tolist() == [trial.value for trial in study.trials[:11]]
    low, middle, high = model.quantiles(model.units, [0.1, 0.5, 0.9])
    assert np.abs(middle - model.values[:, 0]).max() < 0.5
    assert (low <= middle).all()
    assert (middle <= high).all()
    assert len(model.diagnostics["lengthscale"]) == 2


def test_a_model_can_be_fitted_to_a_study_of_another_sampler() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))

    def objective(trial: Trial) -> float:
        return bowl(trial) + (trial.suggest_categorical("c", ["a", "b"]) == "a")

    study.optimize(objective, n_trials=30)
    model = fit_study(study)
    assert model.space.parameters["c"] == Categorical([0, 1])
    assert model.units.shape == (30, 4)
    best, worst = ({"x": 1.0, "y": 0.0, "c": 1}, {"x": -5.0, "y": 3.0, "c": 0})
    ((low, high),) = model.quantiles([model.space.to_unit(best), model.space.to_unit(worst)], [0.5])
    assert low < 1.5
    assert high > 30


def test_a_model_says_what_it_lacks() -> None:
    study = optuna.create_study(study_name="empty")
    with pytest.raises(ValueError, match="'empty' has no parameter that all its finished trials share"):
        fit_study(study)
    study.add_trial(create_trial(params={"n": 1}, distributions={"n": IntDistribution(0, 3)}, value=0))
    with pytest.raises(ValueError, match="1 finished trials, expected at least 2"):
        fit_study(study)


def test_a_conditional_study_is_modelled_as_a_whole() -> None:
    def branch(trial: Trial) -> float:
        if trial.suggest_categorical("m", ["a", "b"]) == "a":
            return (trial.suggest_float("x", 0, 1) - 0.3) ** 2
        return 2 + trial.suggest_float("y", 0, 1)

    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(branch, n_trials=16)
    model = fit_study(study)
    assert list(model.space.names) == ["m", "x", "y"]
    assert len(model.units) == 16
    low, high = model.quantiles(model.units, [0.05, 0.95])
    assert np.abs((low + high) / 2 - model.values[:, 0]).max() < 0.3


def test_very_many_trials_are_thinned_out() -> None:
    study = optuna.create_study()
    rng = np.random.default_rng(0)
    kinds = {f"x{i}": FloatDistribution(0, 1) for i in range(3)}
    for row in rng.random((1300, 3)).tolist():
        params = dict(zip(kinds, row, strict=True))
        study.add_trial(create_trial(params=params, distributions=kinds, value=sum((x - 0.3) ** 2 for x in row)))
    model = fit_study(study)
    assert len(model.units) == len(model.study_data.finished) == 1000
    values = [trial.value for trial in model.study_data.finished]
    assert model.values[:, 0].tolist() == values
    assert min(values) == study.best_value

"""The best estimated trial of a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

import betabo.optuna
from betabo.optuna import VARIANCE, BetaSampler, read_trials, recommend
from betabo.optuna.recommendation import may_be_noisy

BOX: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0, 1),
    "y": FloatDistribution(0, 1),
    "act": CategoricalDistribution(("relu", "tanh")),
}
POINTS = np.random.default_rng(0).random((24, 2))


def bowl(x: float, y: float) -> float:
    return 4 * ((x - 0.4) ** 2 + (y - 0.4) ** 2)


def study(deviation: float = 0.4, direction: str = "minimize", **more: Any) -> optuna.Study:
    made = optuna.create_study(direction=direction)
    sign = -1.0 if direction == "maximize" else 1.0
    noise = deviation * np.random.default_rng(0).standard_normal(len(POINTS))
    for number, (x, y) in enumerate(POINTS.tolist()):
        parameters = {"x": x, "y": y, "act": ("relu", "tanh")[number % 2]}
        value = sign * (bowl(x, y) + noise[number])
        made.add_trial(create_trial(params=parameters, distributions=BOX, value=value, **more))
    return made


def true(found: betabo.optuna.Recommended) -> float:
    return bowl(found.parameters["x"], found.parameters["y"])


def test_without_noise_it_is_the_best_trial() -> None:
    made = study(0.0)
    found = recommend(made)
    assert not found.sees_noise
    assert (found.trial, found.observed) == (made.best_trial.number, made.best_trial.number)
    assert (found.value, found.parameters) == (made.best_value, made.best_params)
    assert found.estimate is not None


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_with_noise_it_is_the_best_mean(direction: str) -> None:
    made = study(direction=direction)
    found = recommend(made)
    assert found.sees_noise
    assert found.observed == made.best_trial.number
    assert found.trial is not None
    assert found.value == made.trials[found.trial].value
    assert true(found) <= bowl(made.best_params["x"], made.best_params["y"])
    assert found.estimate is not None
    sign = -1.0 if direction == "maximize" else 1.0
    assert abs(sign * found.estimate.mean - true(found)) < 4 * found.estimate.deviation


def test_anywhere_is_a_point_of_the_study() -> None:
    found = recommend(study(), anywhere=True)
    assert (found.trial, found.value) == (None, None)
    assert true(found) < 0.3
    assert found.parameters["act"] in ("relu", "tanh")


def test_a_pruned_trial_is_no_answer() -> None:
    made = study()
    for _ in range(3):
        made.add_trial(
            create_trial(
                state=TrialState.PRUNED,
                params={"x": 0.4, "y": 0.4, "act": "relu"},
                distributions=BOX,
                intermediate_values={0: -9.0},
            )
        )
    found = recommend(made)
    assert found.trial is not None
    assert made.trials[found.trial].state == TrialState.COMPLETE


def test_a_best_trial_with_other_parameters_is_not_forgotten() -> None:
    made = study(0.0)
    made.add_trial(create_trial(params={"z": 0.5}, distributions={"z": BOX["x"]}, value=-5.0))
    found = recommend(made)
    assert (found.trial, found.value, found.parameters) == (24, -5.0, {"z": 0.5})


def test_of_one_trial_there_is_no_estimate() -> None:
    made = optuna.create_study()
    made.add_trial(create_trial(params={"x": 0.5}, distributions={"x": BOX["x"]}, value=1.0))
    found = recommend(made)
    assert (found.trial, found.estimate, found.sees_noise) == (0, None, False)
    with pytest.raises(ValueError, match="expected at least 2 for a model"):
        recommend(made, anywhere=True)


def test_without_a_best_trial_it_says_so() -> None:
    with pytest.raises(ValueError, match="has no trial with a value"):
        recommend(optuna.create_study())
    with pytest.raises(ValueError, match="has 2 objectives, expected one"):
        recommend(optuna.create_study(directions=["minimize", "minimize"]))


class TestRecord:
    def test_of_other_samplers_says_nothing(self) -> None:
        assert not may_be_noisy(read_trials(study()))

    def test_with_accuracies_lets_expect_noise(self) -> None:
        assert may_be_noisy(read_trials(study(user_attrs={VARIANCE: 0.1})))

    @pytest.mark.parametrize(("deviation", "noisy"), [(0.0, False), (1.0, True)])
    def test_of_our_sampler_knows_what_its_last_fit_saw(self, deviation: float, noisy: bool) -> None:
        noise = np.random.default_rng(0)
        made = optuna.create_study(sampler=BetaSampler(seed=0))

        def objective(trial: optuna.Trial) -> float:
            x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
            return bowl(x, y) + deviation * float(noise.standard_normal())

        made.optimize(objective, n_trials=24)
        assert may_be_noisy(read_trials(made)) == noisy

"""The box of a study: ranges that moved."""

from __future__ import annotations

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import create_trial

from betabo import Categorical, Float, Space
from betabo.optuna import BetaSampler
from betabo.optuna.attributes import PLAN
from betabo.optuna.box import branches, is_same_parameter, planned_box, present_box, shared_parameters


def test_a_number_may_have_another_range_and_a_choice_not() -> None:
    assert is_same_parameter(FloatDistribution(0, 1), FloatDistribution(-5, 9))
    assert not is_same_parameter(FloatDistribution(1, 2), FloatDistribution(1, 2, log=True))
    assert not is_same_parameter(FloatDistribution(1, 2), IntDistribution(1, 2))
    assert is_same_parameter(CategoricalDistribution(["a"]), CategoricalDistribution(["a"]))
    assert not is_same_parameter(CategoricalDistribution(["a"]), CategoricalDistribution(["a", "b"]))


def test_the_last_range_counts() -> None:
    def trial(high: float, **more: BaseDistribution) -> optuna.trial.FrozenTrial:
        distributions = {"x": FloatDistribution(0, high), **more}
        return create_trial(params=dict.fromkeys(distributions, 0.5), distributions=distributions, value=1.0)

    trials = [trial(1.0, y=FloatDistribution(0, 1)), trial(2.0)]
    assert shared_parameters(trials) == {"x": FloatDistribution(0, 2)}
    assert shared_parameters([]) == {}


def test_what_a_storage_holds_may_be_anything() -> None:
    study = optuna.create_study()
    for plan in (None, 3, {}, {"space": 1}, {"space": {"box": False, "parameters": "x"}}):
        study.set_user_attr(PLAN, plan)
        assert planned_box(study) == {}
    assert present_box(study, study.trials) == ({}, {})


def test_the_model_goes_on_when_a_program_widens_a_range() -> None:
    study = optuna.create_study(sampler=BetaSampler(seed=0, starting_points=6))

    def objective(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0, 1 if trial.number < 9 else 2) - 1.4) ** 2

    study.optimize(objective, n_trials=9)
    study.optimize(objective, n_trials=6)
    assert study.best_value < 1e-3
    assert isinstance(study.sampler, BetaSampler)
    assert study.sampler.last_model is not None
    assert len(study.sampler.last_model.units) >= 12


class TestBranches:
    def trial(self, **params: object) -> optuna.trial.FrozenTrial:
        kinds: dict[str, BaseDistribution] = {
            "model": CategoricalDistribution(["svm", "knn", "tree"]),
            "kernel": CategoricalDistribution(["rbf", "linear"]),
        }
        distributions = {name: kinds.get(name, FloatDistribution(0, 1)) for name in params}
        return create_trial(params=dict(params), distributions=distributions, value=1.0)

    def test_are_found_in_the_trials(self) -> None:
        found, conditions = branches(
            [
                self.trial(model="knn", k=0.5),
                self.trial(model="svm", kernel="rbf", gamma=0.5),
                self.trial(model="svm", kernel="linear"),
                self.trial(model="knn", k=0.2),
            ]
        )
        assert list(found) == ["model", "k", "kernel", "gamma"]
        assert conditions == {
            "k": (("model", (1,)),),
            "kernel": (("model", (0,)),),
            "gamma": (("kernel", (0,)),),
        }

    def test_are_none_where_nothing_tells_when_they_exist(self) -> None:
        found, conditions = branches([self.trial(model="svm", x=0.5), self.trial(model="svm"), self.trial(model="knn")])
        assert list(found) == ["model"]
        assert conditions == {}

    def test_are_modelled_together(self) -> None:
        def objective(trial: optuna.Trial) -> float:
            if trial.suggest_categorical("model", ["a", "b"]) == "a":
                return 0.1 + (trial.suggest_float("x", 0, 1) - 0.3) ** 2
            return (trial.suggest_float("y", -1, 1) - 0.7) ** 2

        sampler = BetaSampler(seed=0, starting_points=6)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=18)
        assert study.best_value < 1e-3
        assert sampler.last_model is not None
        assert set(sampler.last_model.space.names) == {"model", "x", "y"}
        space = Space(
            {
                "model": Categorical(["a", "b"]),
                "x": Float(0, 1, when={"model": "a"}),
                "y": Float(-1, 1, when={"model": "b"}),
            }
        )
        known = optuna.create_study(sampler=BetaSampler(search_space=space, seed=0))
        known.optimize(objective, n_trials=16)
        assert known.best_value < 1e-3

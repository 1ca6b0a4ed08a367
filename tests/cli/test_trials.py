from __future__ import annotations

import random

import optuna
import pytest

from betabo.cli.trials import Trial, TrialReader, best_of, bound_hits, front_of
from betabo.space import Categorical, Float, Int, Space


def study_of_random_values(directions: list[str], seed: int) -> optuna.Study:
    generator = random.Random(seed)
    study = optuna.create_study(directions=directions, sampler=optuna.samplers.RandomSampler(seed=seed))
    for _ in range(40):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
        study.tell(trial, [generator.randint(0, 12) for _ in directions])
    study.tell(study.ask({}), state=optuna.trial.TrialState.FAIL)
    return study


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", range(3))
def test_best_is_optunas(direction: str, seed: int) -> None:
    study = study_of_random_values([direction], seed)
    best = best_of(TrialReader(study).read(), direction)
    assert best is not None
    assert best.values[0] == study.best_value
    assert best.number == min(t.number for t in study.trials if t.values == [study.best_value])


@pytest.mark.parametrize("directions", [["minimize", "minimize"], ["minimize", "maximize", "maximize"]], ids=len)
@pytest.mark.parametrize("seed", range(3))
def test_front_is_optunas(directions: list[str], seed: int) -> None:
    study = study_of_random_values(directions, seed)
    front = front_of(TrialReader(study).read(), directions)
    assert {trial.number for trial in front} == {trial.number for trial in study.best_trials}


def test_without_a_value_there_is_no_best() -> None:
    assert best_of([Trial(0, "failed"), Trial(1, "running")], "minimize") is None
    assert front_of([Trial(0, "failed")], ["minimize", "maximize"]) == []


def test_numbers_on_bounds_are_found() -> None:
    space = Space({"lr": Float(1e-5, 1e-1, log=True), "n": Int(1, 8), "two": Int(0, 1), "act": Categorical(["a", "b"])})
    assert bound_hits(space, {"lr": 1e-5, "n": 8, "two": 1, "act": "a"}) == {"lr": "lower", "n": "upper"}
    assert bound_hits(space, {"lr": 1e-3, "n": 7, "two": 0, "act": "b"}) == {}


def test_any_study_of_optunas_can_be_read() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.enqueue_trial({"x": 1.0, "kind": "b", "n": 3})

    def objective(trial: optuna.Trial) -> float:
        x = trial.suggest_float("x", -1, 1)
        trial.suggest_categorical("kind", ["a", "b"])
        return x * trial.suggest_int("n", 1, 5)

    study.optimize(objective, n_trials=3)
    study.ask()
    first, *_, last = TrialReader(study).read()
    assert (first.number, first.state, first.values, first.on_bound) == (0, "complete", (3.0,), {"x": "upper"})
    assert first.parameters == {"x": 1.0, "kind": "b", "n": 3}
    assert first.counts
    assert (last.number, last.state, last.counts, last.finished) == (3, "running", False, None)


def test_reading_again_sees_what_is_new() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    reader = TrialReader(study)
    assert reader.read() == []
    trial = study.ask()
    assert [t.state for t in reader.read()] == ["running"]
    study.tell(trial, 1.0)
    study.tell(study.ask(), 2.0)
    assert [(t.state, t.values) for t in reader.read()] == [("complete", (1.0,)), ("complete", (2.0,))]

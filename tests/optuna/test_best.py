"""The best trials, against Optuna's own answers and against brute force."""

from __future__ import annotations

import random

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from betabo.optuna.best import best_trials, directions_of, losses_of, ranked
from betabo.optuna.trials import TrialRecord, read_trials


def study_of_random_values(directions: list[str], seed: int, constrained: bool) -> optuna.Study:
    generator = random.Random(seed)
    study = optuna.create_study(directions=directions)
    for _ in range(40):
        constraints = {"constraints": [generator.uniform(-2, 1)]} if constrained else {}
        study.add_trial(create_trial(values=[generator.randint(0, 12) for _ in directions], system_attrs=constraints))
    study.add_trial(create_trial(state=TrialState.FAIL))
    study.add_trial(create_trial(state=TrialState.PRUNED, values=[-100.0] * len(directions)))
    return study


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("seed", range(3))
def test_best_is_optunas(direction: str, seed: int, constrained: bool) -> None:
    study = study_of_random_values([direction], seed, constrained)
    (best,) = best_trials(read_trials(study), directions_of(study))
    assert best.values == (study.best_value,)
    allowed = [t for t in study.trials if t.values and max(t.constraints.values(), default=0) <= 0]
    assert best.number == min(t.number for t in allowed if t.values == [study.best_value])


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
@pytest.mark.parametrize("directions", [["minimize", "minimize"], ["minimize", "maximize", "maximize"]], ids=len)
@pytest.mark.parametrize("seed", range(3))
def test_front_is_optunas(directions: list[str], seed: int, constrained: bool) -> None:
    study = study_of_random_values(directions, seed, constrained)
    front = best_trials(read_trials(study), directions_of(study))
    assert {trial.number for trial in front} == {trial.number for trial in study.best_trials}
    assert [trial.values[0] for trial in front] == sorted(trial.values[0] for trial in front)


def test_without_a_feasible_value_there_is_no_best() -> None:
    nothing = [TrialRecord(0, "failed"), TrialRecord(1, "running"), TrialRecord(2, "complete", (1.0,), violation=0.5)]
    assert best_trials(nothing, ("minimize",)) == []
    assert best_trials(nothing[:2], ("minimize", "maximize")) == []


def test_ranks_go_from_the_best_to_the_worst_and_from_the_first_to_the_last() -> None:
    trials = [TrialRecord(n, "complete", (value,)) for n, value in enumerate([2.0, 5.0, 2.0, 3.0])]
    assert [trial.number for trial in ranked(trials, ("minimize",))] == [0, 2, 3, 1]
    assert [trial.number for trial in ranked(trials, ("maximize",))] == [1, 3, 0, 2]


def test_losses_are_values_of_which_less_is_better() -> None:
    assert losses_of([TrialRecord(0, "complete", (1.0, 2.0))], ("minimize", "maximize")) == [(1.0, -2.0)]

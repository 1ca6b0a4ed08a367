from __future__ import annotations

import optuna

from betabo.cli.trials import TrialReader


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
    assert (first.number, first.state, first.values, first.faces) == (0, "complete", (3.0,), {"x": "upper"})
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

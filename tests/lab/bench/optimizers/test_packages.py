"""Adapters against what their packages do by themselves."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from betabo.lab.bench.optimizers import make_adapter

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]
STARTS = np.array([[0.0, 1.0], [9.5, 14.0], [-5.0, 15.0], [3.0, 3.0]])


def value(point: np.ndarray) -> float:
    return float(((np.asarray(point) - 1) ** 2).sum())


def search(name: str, steps: int, seed: int = 3, **settings: object) -> np.ndarray:
    adapter = make_adapter(name, settings)
    adapter.start(BOUNDS, STARTS.copy(), seed)
    points = []
    for _ in range(len(STARTS) + steps):
        points.append(adapter.ask())
        adapter.tell(points[-1], value(points[-1]))
    return np.array(points[len(STARTS) :])


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
@pytest.mark.parametrize("deterministic", [False, True])
def test_optuna_does_what_a_study_with_enqueued_trials_does(deterministic) -> None:
    optuna = pytest.importorskip("optuna")
    sampler = optuna.samplers.GPSampler(seed=3, n_startup_trials=4, deterministic_objective=deterministic)
    study = optuna.create_study(sampler=sampler)
    for point in STARTS:
        study.enqueue_trial({"x0": point[0], "x1": point[1]})

    def objective(trial: optuna.Trial) -> float:
        return value(np.array([trial.suggest_float(f"x{i}", *BOUNDS[i]) for i in range(2)]))

    study.optimize(objective, n_trials=7)
    expected = [[trial.params["x0"], trial.params["x1"]] for trial in study.trials[4:]]
    np.testing.assert_array_equal(search("optuna-gp", 3, deterministic=deterministic), expected)


def test_optunas_cma_es_begins_at_the_best_starting_point() -> None:
    pytest.importorskip("cmaes")
    points = np.concatenate([search("optuna-cmaes", 6, seed) for seed in range(20)])
    assert np.abs(points.mean(0) - STARTS[0]).max() < 2.5  # the middle of the box is 6.5 away
    assert search("optuna-cmaes", 6).std(0).min() > 0.1


def test_pycma_does_what_cma_does_by_itself() -> None:
    cma = pytest.importorskip("cma")
    generator = np.random.default_rng(3)
    strategy = cma.CMAEvolutionStrategy(
        [1 / 3, 1 / 15],
        0.25,
        {
            "bounds": [0, 1],
            "verbose": -9,
            "seed": np.nan,
            "randn": lambda *shape: generator.standard_normal(shape),
        },
    )
    expected = []
    for _ in range(4):
        generation = strategy.ask()
        points = [np.array([-5.0, 0.0]) + 15 * unit for unit in generation]
        expected += points
        strategy.tell(generation, [value(point) for point in points])
    np.testing.assert_allclose(search("pycma", len(expected)), expected, rtol=1e-12, atol=1e-9)


def test_pycma_restarts_with_a_larger_population_when_it_has_converged() -> None:
    pytest.importorskip("cma")
    adapter = make_adapter("pycma", {"sigma": 0.1})
    adapter.start(BOUNDS, STARTS.copy(), 0)
    sizes = []
    for _ in range(1500):
        point = adapter.ask()
        adapter.tell(point, value(point))
        if adapter._strategy is not None:
            sizes.append(adapter._strategy.popsize)
    assert sizes[0] == 6
    assert 12 in sizes


def test_pycma_replaces_failures_in_their_generation() -> None:
    pytest.importorskip("cma")
    adapter = make_adapter("pycma", {})
    adapter.start(BOUNDS, STARTS.copy(), 0)
    for point in STARTS:
        adapter.tell(adapter.ask(), value(point))
    iterations = []
    for number in range(9):  # a generation has six points; three fail
        point = adapter.ask()
        adapter.tell(point, float("nan") if number in (1, 2, 6) else value(point))
        iterations.append(adapter._strategy.countiter)
    assert iterations == [0] * 8 + [1]


def test_nevergrad_is_not_asked_for_what_is_known_and_its_threads_are_daemons() -> None:
    pytest.importorskip("nevergrad")
    before = set(threading.enumerate())
    adapter = make_adapter("nevergrad", {"budget": 20})
    adapter.start(BOUNDS, STARTS.copy(), 0)
    for point in STARTS:
        adapter.tell(adapter.ask(), value(point))
    assert np.abs(adapter.ask() - STARTS[0]).max() > 1e-3
    threads = set(threading.enumerate()) - before
    assert threads
    assert all(thread.daemon for thread in threads)


def test_nevergrad_passes_errors_on() -> None:
    pytest.importorskip("nevergrad")
    from betabo.lab.bench.optimizers.nevergrad_search import _from_daemon

    def raising() -> None:
        raise ZeroDivisionError("inside")

    with pytest.raises(ZeroDivisionError, match="inside"):
        _from_daemon(raising)


@pytest.mark.slow
def test_ax_goes_straight_to_its_model_after_enough_starting_points() -> None:
    pytest.importorskip("ax")
    adapter = make_adapter("ax", {})
    starts = np.random.default_rng(0).uniform([-5, 0], [10, 15], (6, 2))
    adapter.start(BOUNDS, starts, 0)
    for _ in range(7):
        point = adapter.ask()
        adapter.tell(point, value(point))
    trials = adapter._client._experiment.trials
    assert [trial.status.is_completed for trial in trials.values()] == [True] * 7
    nodes = [trial.generator_run._generation_node_name for trial in trials.values()]
    assert nodes == [None] * 6 + ["MBM"]  # attached, and then Ax's modular BoTorch


@pytest.mark.slow
def test_smac_knows_the_starting_points_and_its_crashes() -> None:
    pytest.importorskip("smac")
    adapter = make_adapter("smac", {})
    adapter.start(BOUNDS, STARTS.copy(), 0)
    for number in range(6):
        point = adapter.ask()
        adapter.tell(point, float("nan") if number in (0, 4) else value(point))
    history = adapter._facade.runhistory
    statuses = [trial.status.name for trial in history.values()]
    assert sorted(statuses) == ["CRASHED", "CRASHED", *["SUCCESS"] * 4]
    known = {tuple(config.values()) for config in history.get_configs()}
    assert {tuple(point) for point in STARTS.tolist()} <= known

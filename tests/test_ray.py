from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ray.tune", reason="Ray Tune is not installed")
pytest.importorskip("optuna", reason="Optuna is not installed")

import ray
from optuna.trial import TrialState
from ray import cloudpickle, tune

from betabo import Categorical, Fixed, Float, Int, Space
from betabo.optuna.attributes import STEP
from betabo.optuna.study_data import StudyData
from betabo.ray import BetaSearch, _trainable, minimize, searcher
from waiting import LONG, wait_for

BOX = [(-5.0, 10.0), (0.0, 15.0)]
NAMED = {
    "optimizer/lr": Float(1e-5, 1e-1, log=True),
    "layers": Int(1, 8),
    "act": Categorical(["relu", "gelu"]),
    "scale": Fixed(2.0),
}


def bowl(x: Any) -> float:
    return (x[0] - 1) ** 2 + x[1]


def evaluate(search: BetaSearch, count: int) -> None:
    """Evaluate so many configurations of a box, one at a time."""
    for number in range(count):
        config = search.suggest(f"t{number}")
        report(search, f"t{number}", (config["x0"] - 1) ** 2 + config["x1"])


def report(search: BetaSearch, trial: str, loss: float) -> None:
    search.on_trial_complete(trial, {"loss": loss, "training_iteration": 1})


def states(search: BetaSearch) -> list[TrialState]:
    return [trial.state for trial in search._ot_study.trials]


class TestSearcher:
    def test_suggests_every_parameter_of_the_space(self) -> None:
        config = searcher(NAMED, metric="loss", seed=0).suggest("t")
        assert config.keys() == {"optimizer", "layers", "act", "scale"}
        assert 1e-5 <= config["optimizer"]["lr"] <= 1e-1
        assert config["layers"] in range(1, 9)
        assert isinstance(config["layers"], int)
        assert config["act"] in ("relu", "gelu")
        assert config["scale"] == 2.0

    def test_same_seed_same_configurations(self) -> None:
        first, same, other = (searcher(BOX, metric="loss", seed=seed).suggest("t") for seed in (0, 0, 1))
        assert first == same
        assert first != other

    def test_running_trials_are_pending_for_the_sampler(self) -> None:
        search = searcher(BOX, metric="loss", seed=0)
        running = [search.suggest(f"t{number}") for number in range(2)]
        study = search._ot_study
        assert states(search) == [TrialState.RUNNING] * 2
        assert [trial.params for trial in study.trials] == running
        record = StudyData.of(study.trials, search._space, study.directions)
        np.testing.assert_allclose(record.data.pending, [[(c["x0"] + 5) / 15, c["x1"] / 15] for c in running])
        assert len(record.data.points) == 0

    def test_the_model_keeps_away_from_a_running_trial(self) -> None:
        search = searcher(BOX, metric="loss", seed=0, starting_points=4)
        evaluate(search, 4)
        first, second = search.suggest("a"), search.suggest("b")
        assert max(abs(first[name] - second[name]) for name in ("x0", "x1")) > 1e-3

    @pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
    def test_a_value_that_is_no_number_fails_the_trial(self, value: float) -> None:
        search = searcher(BOX, metric="loss", seed=0)
        search.suggest("t")
        report(search, "t", value)
        assert states(search) == [TrialState.FAIL]

    def test_an_error_fails_the_trial(self) -> None:
        search = searcher(BOX, metric="loss", seed=0)
        search.suggest("t")
        search.on_trial_complete("t", error=True)
        assert states(search) == [TrialState.FAIL]

    def test_a_trial_without_the_metric_has_failed(self) -> None:
        search = searcher(BOX, metric="loss", seed=0)
        search.suggest("t")
        search.on_trial_complete("t", {"accuracy": 1.0})
        assert states(search) == [TrialState.FAIL]

    def test_values_arrive_with_their_direction(self) -> None:
        search = searcher(BOX, metric="loss", mode="max", seed=0)
        for number, value in enumerate([1.0, 3.0, 2.0]):
            search.suggest(f"t{number}")
            report(search, f"t{number}", value)
        assert search._ot_study.best_value == 3.0

    def test_restored_searcher_goes_on_as_the_saved_one(self, tmp_path: Path) -> None:
        search = searcher(BOX, metric="loss", seed=0, starting_points=3)
        evaluate(search, 4)
        search.save(str(tmp_path / "state"))
        again = searcher(BOX, metric="loss", seed=99)
        again.restore(str(tmp_path / "state"))
        assert again.suggest("next") == search.suggest("next")

    def test_steps_travel_only_when_asked_for(self) -> None:
        assert STEP not in searcher(BOX, metric="loss", seed=0).suggest("t")
        config = BetaSearch(Space.from_bounds(BOX), metric="loss", seed=0, keep_steps=True).suggest("t")
        assert config[STEP] == {"number": 0, "origin": "start", "diagnostics": {}}

    def test_wrong_arguments_are_refused(self) -> None:
        with pytest.raises(ValueError, match="mode is 'minimum', expected 'min' or 'max'"):
            searcher(BOX, metric="loss", mode="minimum")
        with pytest.raises(ValueError, match="kernel is 'betta', expected one of"):
            searcher(BOX, metric="loss", kernel="betta")


class TestTrainable:
    def test_box_gives_an_array(self) -> None:
        trainable = _trainable(lambda x: float(x @ x), Space.from_bounds(BOX))
        assert trainable({"x0": 1.0, "x1": 2.0, STEP: {}}) == {"value": 5.0, "error": ""}

    def test_names_give_a_dictionary_of_the_users_names(self) -> None:
        seen: list[dict[str, Any]] = []
        trainable = _trainable(lambda p: seen.append(p) or 1.0, Space(NAMED))
        trainable({"optimizer": {"lr": 0.1}, "layers": 3, "act": "relu", "scale": 2.0, STEP: {"diagnostics": {"a": 1}}})
        assert seen == [{"optimizer/lr": 0.1, "layers": 3, "act": "relu", "scale": 2.0}]

    def test_exception_is_a_failed_evaluation(self, capsys: pytest.CaptureFixture[str]) -> None:
        result = _trainable(lambda x: 1 / 0, Space.from_bounds(BOX))({"x0": 1.0, "x1": 2.0})
        assert math.isnan(result["value"])
        assert result["error"] == "ZeroDivisionError: division by zero"
        assert "Traceback" in capsys.readouterr().err

    def test_workers_do_not_need_betabo(self, tmp_path: Path) -> None:
        (tmp_path / "trainable.pkl").write_bytes(
            cloudpickle.dumps(_trainable(lambda x: float(x.sum()), Space.from_bounds(BOX)))
        )
        program = """
import pickle, sys
sys.modules["betabo"] = None
with open(sys.argv[1], "rb") as file:
    print(pickle.load(file)({"x0": 1.0, "x1": 2.0})["value"])
"""
        command = [sys.executable, "-c", program, str(tmp_path / "trainable.pkl")]
        assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "3.0"


class TestArguments:
    def test_wrong_arguments_are_refused_before_a_cluster_starts(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="budget is 0, expected at least 1"):
            minimize(bowl, BOX, budget=0)
        with pytest.raises(ValueError, match="concurrency is 0, expected at least 1"):
            minimize(bowl, BOX, budget=1, concurrency=0)
        with pytest.raises(ValueError, match="resume needs storage_path and name"):
            minimize(bowl, BOX, budget=1, resume=True, storage_path=tmp_path)
        assert not ray.is_initialized()

    def test_missing_ray_is_explained(self) -> None:
        program = "import sys; sys.modules['ray'] = None\nimport betabo.ray"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert "ImportError: betabo.ray needs Ray Tune: pip install 'betabo[ray]'" in done.stderr


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # so that workers do not import this file
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()
    cloudpickle.unregister_pickle_by_value(sys.modules[__name__])


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Address of a cluster that another process started on the loopback interface."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="ray") as folder:  # short, since Ray puts sockets into it
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=2"]
        options = [f"--port={port}", "--node-ip-address=127.0.0.1", "--include-dashboard=false", f"--temp-dir={folder}"]
        with subprocess.Popen(command + options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for(lambda: _has_node(f"127.0.0.1:{port}", process))
                yield f"127.0.0.1:{port}"
            finally:
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=LONG)


def _forget(trial: Any) -> None:
    """What Ray has of a trial whose process died before it could tell anything."""
    trial._default_result_or_future = None


def _has_node(address: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether a program can connect; the port answers a little before there is a node."""
    assert process.poll() is None
    program = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False)"
    connected = subprocess.run([sys.executable, "-c", program, address], capture_output=True, check=False)
    return connected.returncode == 0


@pytest.mark.slow
class TestLocalCluster:
    @pytest.fixture(autouse=True)
    def _cluster(self, local: None) -> None: ...

    def test_minimizes_and_records(self, tmp_path: Path) -> None:
        result = minimize(bowl, BOX, budget=9, concurrency=2, seed=0, storage_path=tmp_path)
        assert result.success
        assert result.nfev == 9
        assert result.fun == min(e.value for e in result.history)
        assert result.fun == pytest.approx(bowl(result.x), rel=1e-12)  # it was another process that rounded
        assert [e.origin for e in result.history[:5]] == ["start"] * 5
        assert "model" in {e.origin for e in result.history}
        assert result.to_pandas()["bandwidth"].map(len).max() == 1
        assert ray.is_initialized()

    def test_names_integers_choices_and_constants(self, tmp_path: Path) -> None:
        def objective(p: dict[str, Any]) -> float:
            assert p["scale"] == 2.0
            return abs(math.log10(p["optimizer/lr"]) + 3) + p["layers"] + (p["act"] == "relu")

        result = minimize(objective, NAMED, budget=3, seed=0, storage_path=tmp_path)
        assert result.nfail == 0
        assert result.x.keys() == NAMED.keys()

    def test_failures_are_recorded_and_the_search_goes_on(self, tmp_path: Path) -> None:
        def objective(x: Any) -> float:
            if x[0] > 2:
                raise RuntimeError("too far right")
            return math.nan if x[1] > 7 else bowl(x)

        result = minimize(objective, BOX, budget=6, concurrency=1, seed=0, storage_path=tmp_path)
        assert result.nfev == 6
        errors = {e.error for e in result.history if e.failed}
        assert errors == {"RuntimeError: too far right", "the value is nan"}

    def test_an_evaluation_whose_process_dies_is_repeated(self, tmp_path: Path) -> None:
        marker = str(tmp_path / "died")

        def objective(x: Any) -> float:
            if not os.path.exists(marker):
                with open(marker, "w"):
                    os._exit(1)
            return float(x[0])

        result = minimize(objective, BOX, budget=2, concurrency=1, seed=0, storage_path=tmp_path)
        assert result.nfail == 0
        assert os.path.exists(marker)

    def test_an_evaluation_that_always_dies_has_failed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ray.tune.experiment.Trial._get_default_result_or_future", _forget)
        result = minimize(lambda x: os._exit(1), BOX, budget=1, retries=0, seed=0, storage_path=tmp_path)
        assert result.nfail == 1
        assert not result.success
        assert "Error" in result.history[0].error

    def test_searcher_in_a_tuner_of_the_users_own(self, tmp_path: Path) -> None:
        def train(config: dict[str, Any]) -> dict[str, float]:
            if config["layers"] > 6:
                raise RuntimeError("too deep")
            return {"accuracy": 1 / config["layers"]}

        search = searcher(NAMED, metric="accuracy", mode="max", seed=0)
        results = tune.Tuner(
            train,
            tune_config=tune.TuneConfig(search_alg=search, num_samples=5, max_concurrent_trials=2),
            run_config=tune.RunConfig(storage_path=str(tmp_path), name="own", verbose=0),
        ).fit()
        failed = sum(result.config["layers"] > 6 for result in results)
        assert results.num_errors == failed
        assert states(search).count(TrialState.FAIL) == failed
        assert states(search).count(TrialState.COMPLETE) == 5 - failed

    def test_experiment_is_not_overwritten_but_resumed(self, tmp_path: Path) -> None:
        first = minimize(bowl, BOX, budget=3, seed=0, storage_path=tmp_path, name="a")
        with pytest.raises(ValueError, match="holds an experiment: pass resume=True"):
            minimize(bowl, BOX, budget=3, storage_path=tmp_path, name="a")
        again = minimize(bowl, BOX, budget=3, storage_path=tmp_path, name="a", resume=True)
        assert again.history == first.history

    def test_address_of_another_cluster_is_refused(self) -> None:
        with pytest.raises(ValueError, match=r"address is '127.0.0.1:1', but this process is connected"):
            minimize(bowl, BOX, budget=1, address="127.0.0.1:1")


DRIVER = """
import json, sys, time
from betabo.ray import minimize

address, folder, log = sys.argv[1:]

def objective(x):
    time.sleep(0.5)
    with open(log, "a") as file:
        file.write(json.dumps(list(x)) + chr(10))
    return (x[0] - 1) ** 2 + x[1]

result = minimize(objective, [(-5, 10), (0, 15)], budget=8, address=address, concurrency=1, seed=0,
                  storage_path=folder, name="killed", resume=True)
print("RESULT", json.dumps([result.nfev, result.nfail, result.success]))
"""


def start(program: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that often saves the state of its experiment."""
    environment = {**os.environ, "TUNE_GLOBAL_CHECKPOINT_S": "0.5", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
    )


@pytest.mark.slow
def test_without_an_address_a_cluster_starts_and_ends(tmp_path: Path) -> None:
    program = """
import sys
import ray
from betabo.ray import minimize

result = minimize(lambda x: x[0] ** 2, [(-5, 10)], budget=2, concurrency=1, seed=0, storage_path=sys.argv[1])
print("RESULT", result.nfev, result.nfail, ray.is_initialized())
"""
    output, _ = start(program, str(tmp_path)).communicate(timeout=LONG)
    assert "RESULT 2 0 False" in output


@pytest.mark.slow
class TestClusterByAddress:
    def test_minimizes_on_it_and_lets_it_run_on(self, address: str, tmp_path: Path) -> None:
        program = """
import sys
import ray
from betabo.ray import minimize

result = minimize(lambda x: x[0] ** 2, [(-5, 10)], budget=3, address=sys.argv[1], seed=0, storage_path=sys.argv[2])
print("RESULT", result.nfev, result.nfail, ray.is_initialized())
"""
        for _ in range(2):  # the second connects to the same cluster
            process = start(program, address, str(tmp_path))
            output, _ = process.communicate(timeout=LONG)
            assert "RESULT 3 0 False" in output

    def test_killed_driver_is_resumed(self, address: str, tmp_path: Path) -> None:
        arguments = (address, str(tmp_path), str(tmp_path / "log"))
        process = start(DRIVER, *arguments)
        log = tmp_path / "log"
        wait_for(lambda: process.poll() is not None or (log.exists() and len(log.read_text().splitlines()) >= 4))
        assert process.poll() is None
        process.kill()
        process.communicate()
        before = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert 4 <= len(before) < 8

        output, _ = start(DRIVER, *arguments).communicate(timeout=LONG)
        assert "RESULT [8, 0, true]" in output
        evaluated = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
        assert len(evaluated) <= 8 + 2  # at most what ran, and what had not been saved, is repeated

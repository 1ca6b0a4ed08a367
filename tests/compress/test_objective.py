from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from betabo import Config, Float, Space
from betabo.compress.objective import CompressionObjective, why_failed
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.settings import Pruning, Training
from betabo.compress.training import DivergedError
from betabo.studies import ObjectiveError, Plan, StudyError, Workspace, load_study, objective_from_json, run_worker
from betabo.studies import trial_rows as rows_of
from compress.search_case import TRAINING, make_files, make_objective


@pytest.fixture
def objective(tmp_path: Path) -> CompressionObjective:
    make_files(tmp_path, head=True)
    return make_objective(tmp_path)


def space_of(problem: CompressionProblem) -> Space:
    return Space({name: Float(0.05, 0.95) for name in problem.plan.coordinates})


def workspace(folder: Path) -> Workspace:
    return Workspace.of(folder / "logs" / "test", 0)


def test_it_is_described_by_json(objective: CompressionObjective) -> None:
    described = json.loads(json.dumps(objective.to_json()))
    assert objective_from_json(described) == objective
    assert described["training"]["batch"] == 8
    assert "mrpc" in objective.describe()
    assert objective_from_json({**described, "weight": 2.0}).describe() != objective.describe()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": "head"}, "group is 'head', expected one of 'layer', 'block'"),
        ({"bounds": [0.0, 0.5]}, "bounds is"),
        ({"bounds": [0.5]}, "bounds is"),
        ({"weight": -1.0}, "weight is -1.0"),
        ({"weight": float("nan")}, "weight is nan"),
        ({"device": "tpu"}, "device is 'tpu', expected one of 'auto', 'cpu', 'cuda'"),
        ({"max_train": 0}, "max_train is 0"),
        ({"training": {"pace": 3}}, "expected the values of Training by name"),
        ({"pruning": {"keep": 2.0}}, "keep is 2.0"),
    ],
)
def test_what_is_wrong_is_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CompressionObjective(model="model", task="mrpc", **settings)


def test_a_missing_device_or_task_or_folder_is_seen_before_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space({"x": Float(0, 1)})
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for settings, message in (
        ({"device": "cuda"}, "torch sees no GPU"),
        ({"task": "mrcp"}, "Did you mean 'mrpc'"),
        ({"folder": "nowhere"}, "there is no folder nowhere"),
    ):
        with pytest.raises(ValueError, match=message):
            CompressionObjective(**{"model": "model", "task": "mrpc", **settings}).check(space)


def test_a_value_is_that_of_the_problem_and_its_parts_are_noted(
    objective: CompressionObjective, tmp_path: Path
) -> None:
    problem = objective.problem()
    parameters = dict(zip(problem.plan.coordinates, [0.2, 0.5, 0.8] * 4, strict=True))
    files = workspace(tmp_path)
    objective.prepare(space_of(problem))
    value = objective(parameters, files)
    notes = dict(files.notes)
    assert value == notes["size"] + notes["error"]
    assert notes["size"] == problem.plan.size(parameters, 0.1) / problem.plan.parameters
    assert notes["error"] == pytest.approx(1 - notes["metric_accuracy"])
    assert notes["seed"] == 0
    assert problem.evaluate(parameters).objective == value  # another process would come to the same
    heavier = make_objective(tmp_path, weight=3.0)
    assert heavier.weighted(notes) == 3 * notes["size"] + notes["error"]


def test_size_and_error_can_be_two_values(objective: CompressionObjective, tmp_path: Path) -> None:
    both = make_objective(tmp_path, pareto=True, training=Training(steps=0))
    files = workspace(tmp_path)
    values = both(dict.fromkeys(both.problem().plan.coordinates, 0.3), files)
    assert values == (files.notes["size"], files.notes["error"])


def test_another_space_is_refused(objective: CompressionObjective) -> None:
    with pytest.raises(StudyError, match="has 1 coordinates beginning with 'x'"):
        objective.prepare(Space({"x": Float(0.05, 0.95)}))


@pytest.mark.parametrize("part", ["model", "data"])
def test_missing_files_stop_a_study_with_one_line(objective: CompressionObjective, tmp_path: Path, part: str) -> None:
    with pytest.raises(ObjectiveError, match="nowhere") as caught:
        make_objective(tmp_path, **{part: "./nowhere/at/all"}).prepare(Space({"x": Float(0, 1)}))
    assert "\n" not in str(caught.value)


def out_of_gpu() -> BaseException:
    return torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB.\nMore lines.")


FAILURES: dict[str, Callable[[], BaseException]] = {
    "gpu": out_of_gpu,
    "host": MemoryError,
    "cpu": lambda: RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 9 bytes."),
    "nan": lambda: DivergedError("the loss was nan after 50 steps; try a smaller rate."),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_trial_without_memory_or_with_nan_fails_and_the_study_goes_on(
    objective: CompressionObjective, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str
) -> None:
    calls = []
    evaluate = CompressionProblem.evaluate

    def sometimes(self: CompressionProblem, ratios: Any, seed: int | None = None) -> CompressionResult:
        calls.append(ratios)
        if len(calls) == 2:
            raise FAILURES[failure]()
        return evaluate(self, ratios, seed)

    monkeypatch.setattr(CompressionProblem, "evaluate", sometimes)
    plan = Plan(
        study="test",
        space=space_of(objective.problem()),
        objective=objective,
        trials=4,
        storage=f"sqlite:///{tmp_path}/studies.db",
        config=Config(starting_points=10),
        seed=0,
        logs=tmp_path / "logs",
    )
    assert run_worker(plan).trials == 4
    rows = rows_of(load_study("test", plan.storage))
    assert [row["state"] for row in rows] == ["complete", "failed", "complete", "complete"]
    assert rows[1]["reason"] == why_failed(FAILURES[failure]())
    assert "\n" not in rows[1]["reason"]
    assert rows[1]["size"] is None
    assert all(row["value"] == row["size"] + row["error"] for row in rows if row["state"] == "complete")


def test_reasons_name_what_happened() -> None:
    reasons = {name: why_failed(make()) for name, make in FAILURES.items()}
    assert reasons == {
        "gpu": "out of memory, try a smaller batch: CUDA out of memory. Tried to allocate 3 GiB",
        "host": "out of memory, try a smaller batch: MemoryError",
        "cpu": "out of memory, try a smaller batch: [enforce fail] DefaultCPUAllocator: can't allocate memory: "
        "you tried 9 bytes",
        "nan": "the training diverged: the loss was nan after 50 steps; try a smaller rate",
    }


def test_a_defect_is_not_taken_for_a_failed_trial(
    objective: CompressionObjective, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> CompressionResult:
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")

    monkeypatch.setattr(CompressionProblem, "evaluate", broken)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        objective({}, workspace(tmp_path))


def test_settings_reach_the_problem(objective: CompressionObjective, tmp_path: Path) -> None:
    problem = make_objective(
        tmp_path, group="block", bounds=(0.1, 0.5), pruning=Pruning(keep=0.0), seed=3, max_train=10, max_validation=4
    ).problem()
    assert problem.dims == 4  # two blocks, pooler, classifier
    assert problem.bounds == [(0.1, 0.5)] * 4
    assert (problem.method.pruning.keep, problem.method.seed, problem.method.training) == (0.0, 3, TRAINING)
    assert (len(problem.data.train), len(problem.data.validation)) == (10, 4)

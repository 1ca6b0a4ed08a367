"""What a search looks like in MLflow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from betabo import Categorical, Float, minimize

mlflow = pytest.importorskip("mlflow")

from betabo.mlflow import MLflowCallback  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")

SPACE = {"m": Categorical(["a", "b"]), "x": Float(0, 1, when={"m": "a"})}


@pytest.fixture(autouse=True)
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("searches")


def objective(point: dict[str, Any]) -> dict[str, float]:
    if point["m"] == "b":
        return {"value": math.nan, "heat": 1.0}
    return {"value": point["x"], "heat": 2.0}


def search(callback: MLflowCallback) -> Any:
    return minimize(
        objective, space=SPACE, constraints={"heat": "<= 3"}, budget=6, seed=1, starting_points=50, callback=callback
    )


def runs() -> tuple[Any, list[Any]]:
    client = mlflow.MlflowClient()
    found = client.search_runs([client.get_experiment_by_name("searches").experiment_id], order_by=["start_time ASC"])
    children = [run for run in found if "mlflow.parentRunId" in run.data.tags]
    (parent,) = [run for run in found if run not in children]
    assert {run.data.tags["mlflow.parentRunId"] for run in children} == {parent.info.run_id}
    return parent, sorted(children, key=lambda run: run.info.run_name)


def test_a_search_is_a_run_with_one_below_it_for_each_evaluation() -> None:
    result = search(MLflowCallback("mine"))
    parent, children = runs()
    assert (parent.info.run_name, parent.info.status, len(children)) == ("mine", "FINISHED", 6)
    assert parent.data.metrics["best_value"] == result.fun
    for run, evaluation in zip(children, result.history, strict=True):
        point = result.space.from_unit(evaluation.unit)
        assert run.data.params == {name: str(value) for name, value in point.items()}
        assert run.info.status == ("FAILED" if evaluation.failed else "FINISHED")
        if evaluation.failed:
            assert run.data.tags["error"] == "the value was nan"
        else:
            assert run.data.metrics == {"value": evaluation.value, "heat": 2.0}


def test_an_active_run_is_that_of_the_search_and_stays_active() -> None:
    with mlflow.start_run(run_name="outer") as outer:
        search(MLflowCallback())
        assert mlflow.active_run() is not None
    parent, children = runs()
    assert parent.info.run_id == outer.info.run_id
    assert len(children) == 6

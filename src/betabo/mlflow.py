"""Searches in MLflow: a run for the search, and one below it for each evaluation."""

from __future__ import annotations

from typing import Any

from betabo.extras import needs_extra
from betabo.optimizer.history import Evaluation
from betabo.optimizer.result import SearchResult

with needs_extra("mlflow", "betabo.mlflow needs MLflow"):
    import mlflow
    from mlflow.entities import Metric, Param, RunTag


class MLflowCallback:
    """Logs a search as it goes: `betabo.minimize(..., callback=MLflowCallback())`.

    The run of the search is the active one of MLflow, or else a new one of the present experiment. It has the best
    values so far as metrics, with the number of the evaluation as the step. Each evaluation is a run below it, with its
    point as parameters, and its values and what was measured as metrics; a failed one has MLflow's status `FAILED` and
    its reason as the tag `error`. Of a study that goes on all evaluations are logged.

    Args:
        run_name: Name of the run of the search, where there is no active one; None lets MLflow choose.

    Example:
        >>> betabo.minimize(train, space=space, budget=40, callback=MLflowCallback())
    """

    def __init__(self, run_name: str | None = None) -> None:
        self._run_name = run_name
        self._logged = 0
        self._run: Any = None

    def __call__(self, result: SearchResult) -> None:
        """Log the evaluations that are new."""
        client = mlflow.MlflowClient()
        if self._run is None:
            self._run = mlflow.active_run() or client.create_run(_experiment(), run_name=self._run_name)
        evaluated = [evaluation for evaluation in result.history if evaluation.origin != "known"]
        for number in range(self._logged, len(evaluated)):
            self._log(client, result, evaluated[number], number)
        self._logged = len(evaluated)
        best = {f"best_{name}": value for point in result.front[:1] for name, value in point.values.items()}
        for name, value in best.items():
            client.log_metric(self._run.info.run_id, name, value, step=self._logged)
        if mlflow.active_run() is None:
            client.set_terminated(self._run.info.run_id)

    def _log(self, client: Any, result: SearchResult, evaluation: Evaluation, number: int) -> None:
        info = self._run.info
        tags = {"mlflow.parentRunId": info.run_id, "origin": evaluation.origin}
        tags |= {"error": evaluation.error} if evaluation.error else {}
        run = client.create_run(info.experiment_id, run_name=f"evaluation {number}")
        point = result.space.from_unit(evaluation.unit)
        point = point if isinstance(point, dict) else dict(zip(result.space.names, point.tolist(), strict=True))
        numbers = {**dict(zip(result.problem.names, evaluation.numbers, strict=False)), **evaluation.measured}
        client.log_batch(
            run.info.run_id,
            metrics=[Metric(name, value, run.info.start_time, 0) for name, value in numbers.items()],
            params=[Param(name, str(value)) for name, value in point.items()],
            tags=[RunTag(name, value) for name, value in tags.items()],
        )
        client.set_terminated(run.info.run_id, "FAILED" if evaluation.failed else "FINISHED")


def _experiment() -> str:
    """The present experiment of MLflow, which is its default one unless somebody has set another."""
    from mlflow.tracking.fluent import _get_experiment_id

    return str(_get_experiment_id())

"""Searches on a Ray cluster: Ray Tune evaluates, betabo proposes."""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from betabo.extras import needs_extra

with needs_extra("ray", "betabo.ray needs Ray Tune"):
    import ray
    from ray import tune
    from ray.tune.search.optuna import OptunaSearch

import numpy as np

from betabo.optimizer.history import Evaluation
from betabo.optimizer.result import SearchResult
from betabo.optuna import BetaSampler, to_distributions
from betabo.optuna.attributes import STEP
from betabo.space import Space, as_space

_VALUE, _ERROR = "value", "error"  # what an evaluation reports to Ray


def searcher(space: Any, *, metric: str, mode: str = "min", seed: int | None = None, **settings: Any) -> BetaSearch:
    """A search algorithm for `tune.TuneConfig(search_alg=...)`.

    Ray asks for the next configuration while others run; those count as pending. Leave `metric`, `mode` and the
    parameters of the space out of the `Tuner`'s own settings. A name such as `"optimizer/lr"` becomes a nested
    configuration, `config["optimizer"]["lr"]`.

    Args:
        space: A dictionary of `Float`, `Int`, `Categorical` and `Fixed` parameters, a `Space`, or bounds as pairs,
            whose parameters have the names `x0`, `x1`, ...
        metric: Name of the number that the trainable reports.
        mode: `"min"` or `"max"`.
        seed: Seed; None draws one. One trial at a time, the same seed gives the same configurations.
        settings: Settings of `BetaSampler`, such as `kernel="beta"` or `starting_points=10`.

    Example:
        >>> search = searcher({"lr": Float(1e-5, 1e-1, log=True)}, metric="loss", seed=0)
        >>> tune.Tuner(train, tune_config=tune.TuneConfig(search_alg=search, num_samples=50)).fit()
    """
    return BetaSearch(as_space(space), metric=metric, mode=mode, seed=seed, **settings)


def minimize(
    fun: Callable[[Any], float],
    space: Any,
    *,
    budget: int,
    address: str | None = None,
    concurrency: int | None = None,
    resources: dict[str, float] | None = None,
    retries: int = 3,
    storage_path: str | Path | None = None,
    name: str | None = None,
    resume: bool = False,
    seed: int | None = None,
    verbose: int = 0,
    **settings: Any,
) -> SearchResult:
    """Minimize a function on a Ray cluster.

    Evaluations run wherever the cluster has room. An exception, NaN or infinity is a failed evaluation, which is
    recorded while the search goes on. An evaluation whose machine or process is lost says nothing about the objective
    and is repeated.

    A process that is connected to a cluster already uses that one, and stays connected.

    Args:
        fun: The objective. It is given an array for bounds, a dictionary for a space with names, and returns a number.
            The machines need what it imports, but not betabo.
        space: Bounds as pairs, a dictionary of parameters, or a `Space`.
        budget: Number of evaluations.
        address: Address of a cluster: `"auto"` on one of its machines, `"HOST:6379"`, or `"ray://HOST:10001"` from
            outside; None starts a cluster on this machine, and ends it afterwards.
        concurrency: Most evaluations at a time; None is as many as the cluster has room for.
        resources: What one evaluation occupies, such as `{"cpu": 4, "gpu": 1}`; one CPU by default.
        retries: How often an evaluation is repeated whose machine or process was lost.
        storage_path: Folder of experiments, one that all machines see, or a URI such as `"s3://bucket/folder"`;
            Ray's own choice by default.
        name: Name of the experiment, a folder in `storage_path`.
        resume: Whether to go on with the experiment of this name where there is one, with its budget and its settings.
            Evaluations that were running start again. The folder holds pickles: resume only what you trust.
        seed: Seed; None draws one.
        verbose: How much Ray prints: 0, 1 or 2.
        settings: Settings of `BetaSampler`, such as `kernel="beta"`.

    Returns:
        What `betabo.minimize` returns; evaluations are in the order in which they were proposed.

    Example:
        >>> result = minimize(lambda x: (x[0] - 1) ** 2 + x[1], [(-5, 10), (0, 15)], budget=30, address="auto")
        >>> result.x, result.fun
    """
    if budget < 1:
        raise ValueError(f"budget is {budget}, expected at least 1.")
    if concurrency is not None and concurrency < 1:
        raise ValueError(f"concurrency is {concurrency}, expected at least 1.")
    if resume and (storage_path is None or name is None):
        raise ValueError("resume needs storage_path and name, which say what to resume.")
    space = as_space(space)
    search = BetaSearch(space, metric=_VALUE, seed=seed, keep_steps=True, **settings)
    folder = None if storage_path is None else _absolute(storage_path)
    with _cluster(address):
        trainable = tune.with_resources(_trainable(fun, space), resources or {"cpu": 1})
        exists = folder is not None and name is not None and tune.Tuner.can_restore(f"{folder}/{name}")
        if exists and not resume:
            raise ValueError(f"{folder}/{name} holds an experiment: pass resume=True to go on with it, or a new name.")
        if exists:
            tuner = tune.Tuner.restore(f"{folder}/{name}", trainable=trainable)
        else:
            tuner = tune.Tuner(
                trainable,
                tune_config=tune.TuneConfig(search_alg=search, num_samples=budget, max_concurrent_trials=concurrency),
                run_config=tune.RunConfig(
                    name=name,
                    storage_path=folder,
                    verbose=verbose,
                    failure_config=tune.FailureConfig(max_failures=retries),
                ),
            )
        results = tuner.fit()
    # A result has the configuration only if its process lived to tell it; Ray's own record always does.
    trials = [(trial.config, results[index]) for index, trial in enumerate(results._experiment_analysis.trials)]
    ended = {config[STEP]["number"]: (config, result) for config, result in trials if _has_ended(result)}
    history = [_evaluation(space, *ended[number]) for number in sorted(ended)]  # of a resumed run, Ray's order differs
    complete = len(history) >= budget
    message = f"the budget of {budget} evaluations is used up" if complete else f"stopped after {len(history)}"
    return SearchResult.of(space, history, message, complete)


class BetaSearch(OptunaSearch):  # type: ignore[misc, unused-ignore]
    """Ray Tune's `OptunaSearch` with a `BetaSampler`, in which every trial that ends has an end.

    `OptunaSearch` leaves a trial whose value is NaN running for ever, and the model would wait for it. Here such a
    trial has failed, and so has one without a value.

    Args:
        space: The search space.
        metric: Name of the number that the trainable reports.
        mode: `"min"` or `"max"`.
        seed: Seed; None draws one.
        keep_steps: Whether configurations carry their number, where they come from, and the figures of the model's
            fit, under `betabo.optuna.attributes.STEP`.
        settings: Settings of `BetaSampler`.
    """

    _ot_study: Any

    def __init__(
        self,
        space: Space,
        *,
        metric: str,
        mode: str = "min",
        seed: int | None = None,
        keep_steps: bool = False,
        **settings: Any,
    ) -> None:
        if mode not in ("min", "max"):
            raise ValueError(f"mode is {mode!r}, expected 'min' or 'max'.")
        self._keep_steps = keep_steps
        sampler = BetaSampler(search_space=space, seed=seed, **settings)
        super().__init__(to_distributions(space), metric=metric, mode=mode, sampler=sampler)

    def suggest(self, trial_id: str) -> dict[str, Any] | None:
        """The configuration of a new trial."""
        config: dict[str, Any] | None = super().suggest(trial_id)
        if self._keep_steps and config is not None:
            number = self._ot_trials[trial_id].number
            step = self._ot_study.get_trials(deepcopy=False)[number].system_attrs[STEP]
            config[STEP] = {"number": number, "origin": step["origin"], "diagnostics": step["diagnostics"]}
        return config

    def on_trial_complete(self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False) -> None:
        """Tell the value of a trial, or that it failed."""
        value = (result or {}).get(self.metric)
        if value is None or not math.isfinite(value):
            result, error = None, True
        super().on_trial_complete(trial_id, result=result, error=error)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """A connection to the cluster; one that was there before is used and kept."""
    if ray.is_initialized():
        if address is not None:
            raise ValueError(
                f"address is {address!r}, but this process is connected to a cluster already: "
                "leave the address out to use it, or call ray.shutdown() first."
            )
        yield
        return
    ray.init(address or "local", include_dashboard=False if address is None else None, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def _trainable(fun: Callable[[Any], float], space: Space) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """What Ray runs for each configuration. It travels by value and names nothing of betabo."""
    names, is_box = space.names, space.is_box

    def evaluate(config: dict[str, Any]) -> dict[str, Any]:
        values = {name: reduce(getitem, name.split("/"), config) for name in names}
        try:
            value = float(fun(np.array(list(values.values())) if is_box else values))
        except Exception as error:
            traceback.print_exc()  # into the log of the worker
            return {_VALUE: math.nan, _ERROR: f"{type(error).__name__}: {error}"}
        return {_VALUE: value, _ERROR: "" if math.isfinite(value) else f"the value is {value}"}

    return evaluate


def _has_ended(result: tune.Result) -> bool:
    return result.error is not None or _VALUE in (result.metrics or {})


def _evaluation(space: Space, config: dict[str, Any], result: tune.Result) -> Evaluation:
    """The record of a trial that has ended."""
    metrics = result.metrics or {}
    values: dict[str, Any] = {name: reduce(getitem, name.split("/"), config) for name in space.names}
    value = metrics.get(_VALUE, math.nan)
    error = metrics.get(_ERROR, "")
    if result.error is not None:  # the machine or the process was lost, too often
        error = f"{type(result.error).__name__}: {str(result.error).strip().splitlines()[0]}"
    return Evaluation(
        unit=tuple(space.to_unit(list(values.values()) if space.is_box else values).tolist()),
        value=value if math.isfinite(value) else None,
        error=error,
        origin=config[STEP]["origin"],  # of what `BetaSearch` knew when it proposed the configuration
        diagnostics=config[STEP]["diagnostics"],
    )


def _absolute(path: str | Path) -> str:
    """The path as Ray takes it: absolute, or a URI."""
    return str(path) if "://" in str(path) else str(Path(path).expanduser().absolute())

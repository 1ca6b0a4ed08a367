"""Studies of all kinds, made trial by trial so that nothing depends on a sampler."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

RANGES: dict[str, BaseDistribution] = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "drop": FloatDistribution(0.0, 0.5),
    "layers": IntDistribution(1, 6),
    "act": CategoricalDistribution(["relu", "tanh", None]),
}
HOSTILE = '</script><img src=x onerror="alert(1)">&%{x}{{7*7}}'


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(optuna.logging.INFO)


def draw(rng: np.random.Generator, ranges: dict[str, BaseDistribution]) -> dict[str, Any]:
    """Random parameters."""
    point: dict[str, Any] = {}
    for name, distribution in ranges.items():
        if isinstance(distribution, CategoricalDistribution):
            point[name] = distribution.choices[int(rng.integers(len(distribution.choices)))]
        elif isinstance(distribution, IntDistribution):
            point[name] = int(rng.integers(distribution.low, distribution.high + 1))
        elif isinstance(distribution, FloatDistribution) and distribution.log:
            point[name] = math.exp(rng.uniform(math.log(distribution.low), math.log(distribution.high)))
        elif isinstance(distribution, FloatDistribution):
            point[name] = rng.uniform(distribution.low, distribution.high)
    return point


def loss(point: dict[str, Any]) -> float:
    """Best at rate 0.1, drop 0.5 (a bound), layers 6 (a bound), act tanh."""
    return float(
        (math.log10(point["rate"]) + 1) ** 2
        + (0.5 - point["drop"])
        + 0.1 * (6 - point["layers"])
        + (point["act"] != "tanh")
    )


@pytest.fixture(scope="module")
def study() -> optuna.Study:
    """Twenty-five complete trials, of which the best is on two bounds, and one of each other state."""
    study = optuna.create_study(study_name="plain")
    rng = np.random.default_rng(0)
    for index in range(24):
        point = draw(rng, RANGES)
        step = {"origin": "start" if index < 8 else "model", "diagnostics": {}}
        if index >= 8:
            step["diagnostics"] = {
                "fit": "fitted",
                "fit_seconds": 0.25,
                "acquisition_seconds": 0.5,
                "bandwidth": [0.5 + 0.01 * index],
                "lengthscale": [0.1 * (i + 1) * (index - 7) for i in range(6)],
                "boundary_weight": 0.0,
                "noise": 10.0**-index,
            }
        add(study, point, [loss(point)], system_attrs={"betabo:step": step})
    best = {"rate": 0.1, "drop": 0.5, "layers": 6, "act": "tanh"}
    add(study, best, [loss(best)], system_attrs={"fixed_params": best})
    point = draw(rng, RANGES)
    add(study, point, [9.0], state=TrialState.PRUNED, intermediate_values={0: 9.0})
    add(study, point, None, state=TrialState.FAIL)
    add(study, point, None, state=TrialState.FAIL, system_attrs={"betabo:interrupted": "its worker died"})
    add(study, point, None, state=TrialState.FAIL, system_attrs={"betabo:withdrawn": True})
    study.enqueue_trial(point)
    study.enqueue_trial(point)
    study.ask()
    return study


def add(
    study: optuna.Study,
    params: dict[str, Any],
    values: list[float] | None,
    ranges: dict[str, BaseDistribution] | None = None,
    **options: Any,
) -> None:
    """One more trial."""
    ranges = RANGES if ranges is None else ranges
    distributions = {name: ranges[name] for name in params}
    study.add_trial(create_trial(params=params, distributions=distributions, values=values, **options))


def random_study(directions: list[str], constrained: bool = False, count: int = 30, seed: int = 0) -> optuna.Study:
    """Complete trials with random values, some of them equal."""
    study = optuna.create_study(directions=directions, study_name="random")
    rng = np.random.default_rng(seed)
    for _ in range(count):
        attrs = {"constraints": rng.normal(size=2).tolist()} if constrained else {}
        values = rng.integers(0, 12, size=len(directions)).astype(float).tolist()
        add(study, draw(rng, RANGES), values, system_attrs=attrs)
    return study


@pytest.fixture
def make_random() -> Callable[..., optuna.Study]:
    return random_study


@pytest.fixture
def add_trial() -> Callable[..., None]:
    return add


@pytest.fixture
def ranges() -> dict[str, BaseDistribution]:
    return RANGES


@pytest.fixture
def hostile() -> str:
    """Text that would do harm on a page that does not escape it."""
    return HOSTILE

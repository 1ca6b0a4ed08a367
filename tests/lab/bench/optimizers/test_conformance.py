"""What every optimizer of the catalogue has to do, on a quadratic in a box whose sides differ."""

from __future__ import annotations

import logging
import random
import sys
import warnings
from functools import cache

import numpy as np
import pytest
import torch

from betabo.lab.bench.optimizers import OPTIMIZERS, OptimizerAdapter, make_adapter

SLOW = ("ax", "ax-quality", "baybe", "bayes-opt", "hebo", "pybads", "smac", "vizier")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in OPTIMIZERS]
MODELS = ("betabo", "botorch", "turbo", "ax", "optuna-gp", "smac", "hebo")
LEARNERS = ("optuna-tpe", "optuna-cmaes", "pycma", "pycma-lq", "nevergrad", "cobyqa-scaled")
LOW, HIGH = np.array([-5.0, 0.0, 100.0]), np.array([10.0, 1.0, 300.0])
STARTS = LOW + (HIGH - LOW) * np.random.default_rng(5).random((6, 3))
NAN, INF = float("nan"), float("inf")

conforming = pytest.mark.parametrize("name", NAMES)


def adapter(name: str) -> OptimizerAdapter:
    try:
        return make_adapter(name, {})
    except ImportError as error:
        pytest.skip(str(error))


def quadratic(point: np.ndarray) -> float:
    return float((((point - LOW) / (HIGH - LOW) - 0.4) ** 2).sum())


def search(
    name: str, steps: int, seed: int, odd_values: dict[int, float] | None = None, starts: np.ndarray = STARTS
) -> np.ndarray:
    """The points asked for; evaluations in `odd_values` give those values instead of the function's."""
    optimizer = adapter(name)
    optimizer.start(list(zip(LOW.tolist(), HIGH.tolist(), strict=True)), starts.copy(), seed)
    points = []
    try:
        for number in range(len(starts) + steps):
            points.append(optimizer.ask())
            optimizer.tell(points[-1], (odd_values or {}).get(number, quadratic(points[-1])))
    finally:
        optimizer.end()
    return np.array(points)


@cache
def short(name: str) -> np.ndarray:
    return search(name, 3, seed=1)


@conforming
def test_starting_points_are_returned_to_the_last_digit(name) -> None:
    expected = np.testing.assert_allclose if name == "betabo" else np.testing.assert_array_equal
    expected(short(name)[: len(STARTS)], STARTS)


@conforming
def test_points_stay_in_the_box_and_are_new(name) -> None:
    points = short(name)
    assert points.shape == (len(STARTS) + 3, 3)
    assert ((points >= LOW) & (points <= HIGH)).all()
    if name != "corners":
        again = 1 if name == "pybads" else 0  # its first own point, to see whether there is noise
        assert len(np.unique(points, axis=0)) == len(points) - again


@conforming
def test_the_same_seed_gives_the_same_search(name) -> None:
    np.random.seed(99)  # noqa: NPY002
    torch.manual_seed(99)
    np.testing.assert_array_equal(search(name, 3, seed=1), short(name))


@conforming
def test_another_seed_gives_another_search(name) -> None:
    other = search(name, 3, seed=2)
    if name in ("nevergrad", "cobyqa", "cobyqa-scaled"):  # deterministic from the best starting point on
        np.testing.assert_array_equal(other, short(name))
    else:
        assert (other[len(STARTS) :] != short(name)[len(STARTS) :]).any()


@conforming
def test_without_starting_points_an_optimizer_starts_by_itself(name) -> None:
    steps = {"smac": 28, "optuna-gp": 12}.get(name, 10)
    points = search(name, steps, seed=1, starts=STARTS[:0])
    assert ((points >= LOW) & (points <= HIGH)).all()
    np.testing.assert_array_equal(search(name, 3, seed=1, starts=STARTS[:0]), points[:3])
    if name not in ("ax", "ax-quality", "hebo", "nevergrad"):  # which begin at the centre
        assert (search(name, 1, seed=2, starts=STARTS[:0]) != points[0]).any()


@conforming
def test_failures_do_not_end_a_search(name) -> None:
    points = search(name, 4, seed=1, odd_values={0: NAN, 3: INF, 6: NAN, 7: -INF})
    assert ((points >= LOW) & (points <= HIGH)).all()


@conforming
def test_a_search_survives_the_failure_of_all_starting_points(name) -> None:
    points = search(name, 4, seed=1, odd_values=dict.fromkeys(range(len(STARTS) + 1), NAN))
    assert ((points >= LOW) & (points <= HIGH)).all()


@conforming
def test_equal_values_do_not_end_a_search(name) -> None:
    points = search(name, 2, seed=1, odd_values=dict.fromkeys(range(len(STARTS) + 2), 7.0))
    assert ((points >= LOW) & (points <= HIGH)).all()


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in MODELS])
def test_twelve_steps_of_a_model_come_close_to_the_optimum(name) -> None:
    values = [quadratic(point) for point in search(name, 12, seed=0)]
    assert min(values) < 0.25 * min(values[: len(STARTS)])


@pytest.mark.parametrize("name", LEARNERS)
def test_forty_steps_of_the_others_improve(name) -> None:
    values = [quadratic(point) for point in search(name, 40, seed=0)]
    assert min(values) < 0.5 * min(values[: len(STARTS)])


@conforming
def test_an_optimizer_leaves_no_traces(name, tmp_path, monkeypatch, capfd) -> None:
    monkeypatch.chdir(tmp_path)
    adapter(name)  # imports
    capfd.readouterr()
    before = random.getstate(), np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    level, filters = logging.root.manager.disable, list(warnings.filters)
    search(name, 2, seed=1)
    assert capfd.readouterr() == ("", "")
    assert not list(tmp_path.iterdir())
    assert (logging.root.manager.disable, list(warnings.filters)) == (level, filters)
    if name == "betabo":
        return  # its random numbers are the business of its own tests
    assert random.getstate() == before[0]
    np.testing.assert_array_equal(np.random.get_state()[1], before[1])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[2])


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("ax", "ax"),
        ("optuna-gp", "optuna"),
        ("optuna-tpe", "optuna"),
        ("optuna-cmaes", "cmaes"),
        ("pycma", "cma"),
        ("smac", "smac"),
        ("baybe", "baybe"),
        ("pybads", "pybads"),
        ("pycma-lq", "cma"),
        ("nevergrad", "nevergrad"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name, package, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}: pip install 'betabo\[peers\]'"):
        make_adapter(name, {})


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("botorch", {"restarts": 8, "raw_samples": 4}, "restarts is 8, expected a number from 1 to raw_samples, 4"),
        ("pycma", {"sigma": 0.0}, r"sigma is 0\.0, expected a number > 0"),
        ("nevergrad", {"budget": 0}, "budget is 0, expected the evaluations to plan for"),
        ("ax-quality", {"method": "best"}, "unknown setting 'method'"),
        ("turbo", {"budget": 3}, "unknown setting 'budget' of the optimizer 'turbo', which takes none"),
    ],
)
def test_bad_settings_are_explained(name, settings, message) -> None:
    with pytest.raises(ValueError, match=message):
        make_adapter(name, settings)

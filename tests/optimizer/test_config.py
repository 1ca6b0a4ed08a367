"""The configuration of a search: what it refuses, its way to JSON and back."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import pytest
from gpytorch.kernels import RBFKernel

from betabo.acquisition.catalogue import DEFAULT_BETA, srinivas_schedule
from betabo.optimizer import Config


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"kernel": "mattern"},
            ValueError,
            r"kernel is 'mattern', expected one of beta, .*\. Did you mean 'matern'\?",
        ),
        ({"kernel": "zzz"}, ValueError, r"kernel is 'zzz', expected one of .*, matern-warped\.$"),
        ({"kernel": 3}, TypeError, "kernel is a int, expected a name or a factory"),
        ({"acquisition": "logei"}, ValueError, r"acquisition is 'logei', expected .*Did you mean 'log_ei'\?"),
        ({"acquisition": None}, TypeError, "acquisition is a NoneType, expected a name or a factory"),
        ({"noise": "some"}, ValueError, "noise is 'some', expected 'unknown', 'none', a variance >= 0, or a function"),
        ({"noise": -1.0}, ValueError, r"noise is -1\.0, expected"),
        ({"noise": math.nan}, ValueError, "noise is nan, expected"),
        ({"noise": math.inf}, ValueError, "noise is inf, expected"),
        ({"noise": None}, ValueError, "noise is None, expected"),
        ({"beta": -1}, ValueError, "beta is -1, expected a number >= 0 or a schedule"),
        ({"beta": math.nan}, ValueError, "beta is nan, expected"),
        ({"beta": math.inf}, ValueError, "beta is inf, expected"),
        ({"beta": "big"}, ValueError, "beta is 'big', expected"),
        ({"starting_points": 0}, ValueError, "starting_points is 0, expected at least 1"),
        ({"starting_points": 2.5}, TypeError, "starting_points is 2.5, expected an integer"),
        ({"max_failures": 0}, ValueError, "max_failures is 0, expected at least 1"),
        ({"max_failures": None}, TypeError, "max_failures is None, expected an integer"),
        ({"local_steps": "no"}, ValueError, "local_steps is 'no', expected True, False or None"),
        ({"power_transform": "no"}, ValueError, "power_transform is 'no', expected True or False"),
        ({"noise": True}, ValueError, "noise is True, expected"),
        ({"duplicate_tolerance": -1.0}, ValueError, r"duplicate_tolerance is -1\.0, expected a number >= 0"),
        ({"duplicate_tolerance": math.nan}, ValueError, "duplicate_tolerance is nan, expected"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Config(**settings)


def test_it_returns_from_json() -> None:
    config = Config(kernel="beta", acquisition="ucb", beta=2.0, noise=0.3, starting_points=9, max_failures=2)
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"kernel": RBFKernel()}, "kernel"),
        ({"acquisition": lambda context: None}, "acquisition"),
        ({"beta": srinivas_schedule}, "beta"),
        ({"noise": lambda point: 0.1}, "noise"),
    ],
)
def test_objects_cannot_be_written_as_json(settings: dict[str, Any], name: str) -> None:
    with pytest.raises(
        ValueError, match=f"(?s){name} is .* cannot be saved; use a name from the catalogue or a number"
    ):
        Config(**settings).to_json()


def test_unknown_settings_in_json_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown settings \['colour'\]; written by another version of betabo\?"):
        Config.from_json({"colour": "red"})


@pytest.mark.parametrize(("dims", "size"), [(1, 5), (2, 5), (3, 6), (25, 50), (30, 60), (200, 60)])
def test_the_design_has_twice_as_many_points_as_dims_within_limits(dims: int, size: int) -> None:
    assert Config().design_size(dims) == size
    assert Config(starting_points=7).design_size(dims) == 7


def test_it_is_given_as_a_whole_or_in_single_settings() -> None:
    config = Config(kernel="beta")
    assert Config.of(config, {}) is config
    assert Config.of(None, {"kernel": "beta"}) == config
    assert Config.of(None, {}) == Config()
    with pytest.raises(ValueError, match="config is given together with kernel, noise; put everything into one"):
        Config.of(config, {"kernel": "beta", "noise": "none"})
    with pytest.raises(TypeError, match="unknown setting colour, expected some of kernel, acquisition"):
        Config.of(None, {"colour": "red"})


def test_a_configuration_of_defaults_needs_no_model() -> None:
    assert Config.beta == DEFAULT_BETA
    code = (
        "import sys; from betabo.optimizer.config import Config; Config(noise=0.1); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

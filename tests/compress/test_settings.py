from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest

from betabo.compress.objective import CompressionObjective
from betabo.compress.settings import CompressionMethod, CompressionSettings, Pruning, Training


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"group": "head"}, "group is 'head', expected one of 'layer', 'block'"),
        ({"bounds": (0.5, 0.2)}, r"bounds is \(0\.5, 0\.2\)"),
        ({"bounds": (0, 1)}, r"bounds is \(0, 1\), expected two ratios with 0 < low"),
        ({"weight": float("inf")}, "weight is inf, expected a finite number"),
        ({"device": "tpu"}, "device is 'tpu', expected one of 'auto', 'cpu', 'cuda'"),
        ({"training": {"pace": 3}}, "expected the values of Training by name"),
        ({"max_train": 0}, "max_train is 0, expected at least 1"),
        ({"dense_steps": -1}, "dense_steps is -1, expected at least 0"),
        ({"trials": 0}, "trials is 0, expected at least 1"),
        ({"start": "grid"}, "start is 'grid', expected one of 'sobol', 'uniform'"),
        ({"pareto": True, "acquisition": "ucb"}, "acquisition is 'ucb' with pareto"),
    ],
)
def test_what_is_wrong_is_named_with_its_value(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CompressionSettings(model="m", task="mrpc", **settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Training(steps=-1), "steps is -1"),
        (lambda: Training(rate=0.0), r"rate is 0\.0, expected a number above 0"),
        (lambda: Training(schedule="step"), "schedule is 'step', expected one of 'linear'"),
        (lambda: Pruning(keep=1.5), r"keep is 1\.5, expected a share"),
        (lambda: Pruning(scope="model"), "scope is 'model', expected one of 'layer', 'global'"),
    ],
)
def test_training_and_pruning_check_themselves(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_parts_may_be_given_by_name() -> None:
    method = CompressionMethod(bounds=[0.1, 0.5], training={"steps": 7}, pruning={"keep": 0.2})  # type: ignore[arg-type]
    assert method == CompressionMethod(bounds=(0.1, 0.5), training=Training(steps=7), pruning=Pruning(keep=0.2))


def test_other_settings_have_the_same_values_where_both_have_them() -> None:
    settings = CompressionSettings(model="m", task="rte", weight=0.3, seed=4, pareto=True, trials=9, max_length=32)
    objective = settings.convert(CompressionObjective, cache="here")
    assert {item.name: getattr(objective, item.name) for item in fields(objective) if item.init} == {
        **{
            name: getattr(settings, name)
            for name in ("model", "task", "data", "max_train", "max_validation", "max_length")
        },
        **{name: getattr(settings, name) for name in ("group", "bounds", "weight", "training", "pruning", "seed")},
        "device": "auto",
        "max_length": 32,
        "pareto": True,
        "folder": None,
        "cache": "here",
    }
    assert objective.convert(CompressionMethod).weight == 0.3
    assert objective.convert(CompressionSettings, trials=9) == settings


def test_the_settings_are_quick_to_import() -> None:
    program = (
        "import sys, betabo.compress.settings\n"
        "heavy = {'torch', 'numpy', 'optuna', 'transformers'} & sys.modules.keys()\n"
        "assert not heavy, heavy\n"
    )
    assert subprocess.run([sys.executable, "-c", program], check=True).returncode == 0

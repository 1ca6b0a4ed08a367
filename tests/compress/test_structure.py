from __future__ import annotations

import json
from typing import Any

import pytest
import torch
from torch import nn

from betabo.compress.layers import CompactLinear, LoSparseLinear
from betabo.compress.plan import CompressionPlan
from betabo.compress.structure import Structure
from betabo.compress.without_training import compress_model


def _stack() -> nn.Sequential:
    return nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 16, bias=False), nn.ReLU(), nn.Linear(16, 2))


def _structure() -> Structure:
    structure = compress_model(_stack(), [0.2, 1.0], keep=0.25).compression
    assert isinstance(structure, Structure)
    return structure


def test_structure_says_what_each_layer_became() -> None:
    layers = _structure().layers
    assert list(layers) == ["0", "2"]
    # 128 weights at 24 a rank: ceil(0.2 * 128 / 24) = 2; a quarter of 8 rows
    assert (layers["0"].form, layers["0"].rank, layers["0"].rows, layers["0"].bias) == ("compact", 2, 2, True)
    assert layers["0"].parameters == 2 * 24 + 2 * 16 + 8
    assert (layers["2"].form, layers["2"].ratio, layers["2"].parameters) == ("dense", 1.0, 128)
    assert _structure().parameters == 88 + 128


def test_structure_survives_json() -> None:
    structure = _structure()
    assert Structure.from_json(json.loads(json.dumps(structure.to_json()))) == structure


def test_structure_carries_metrics() -> None:
    model = _stack()
    structure = Structure.of(model, CompressionPlan.of(model), 1.0, 0.1, {"accuracy": 1})
    assert structure.metrics == {"accuracy": 1.0}


def test_layers_in_training_have_no_structure_yet() -> None:
    model = _stack()
    plan = CompressionPlan.of(model)
    model[0] = LoSparseLinear.from_linear(model[0], 0.5)
    with pytest.raises(ValueError, match="layer 0 is a LoSparseLinear; materialise"):
        Structure.of(model, plan, 0.5, 0.1)


def test_shaping_an_uncompressed_model_takes_no_memory() -> None:
    model = _stack()
    _structure().shape(model)
    assert isinstance(model[0], CompactLinear)
    assert model[0].left.shape == (8, 2)
    assert model[0].block.shape == (2, 16)
    assert model[0].left.device == torch.device("meta")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (nn.Sequential(nn.Linear(16, 8)), "Sequential has no layer 2; it is another model"),
        (nn.Sequential(nn.Linear(16, 9), nn.ReLU(), nn.Linear(8, 16)), "layer 0 is 9 x 16, expected linear of 8"),
        (nn.Sequential(nn.ReLU(), nn.ReLU(), nn.Linear(8, 16)), "layer 0 is ReLU, expected linear of 8"),
    ],
    ids=["missing", "sizes", "kind"],
)
def test_another_model_is_refused(model: nn.Module, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _structure().shape(model)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": None}, "layers is None"),
        ({"keep": "much"}, "keep is 'much'"),
        ({"group": 3}, "group is 3"),
        ({"layers": {"0": 1}}, "layer 0 is 1, expected an object"),
        ({"form": "round"}, "the form of layer 0 is 'round', expected one of compact, dense, original"),
        ({"rank": "2"}, "rank is '2'"),
        ({"rank": True}, "rank is True"),
        ({"rank": -1}, "layer 0 has impossible sizes"),
        ({"rows": 9}, "layer 0 has impossible sizes"),
        ({"bias": 1}, "bias is 1"),
    ],
    ids=lambda value: "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else None,
)
def test_damaged_data_are_named(change: dict[str, Any], message: str) -> None:
    stored = _structure().to_json()
    (key,) = change
    target = stored if key in stored else stored["layers"]["0"]
    target.update(change)
    with pytest.raises(ValueError, match=message):
        Structure.from_json(stored)

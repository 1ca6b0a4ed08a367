"""A packed model and its examples are those that were packed, but for rounding."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file

from betabo.compress.pretrained import load_model
from betabo.compress.tasks import task_by_name
from compress.search_case import make_files
from example_case import load_example


@pytest.fixture
def packing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    script = load_example("compression/packing")
    monkeypatch.setattr(script, "LENGTHS", {"mrpc": 16})
    monkeypatch.setattr(script, "MOST", {"mrpc": (None, None)})
    return script


def test_what_is_unpacked_is_what_was_packed(packing: ModuleType, tmp_path: Path) -> None:
    make_files(tmp_path)
    model = tmp_path / "my-bert"
    packing.pack(model, tmp_path / "glue", tmp_path, tmp_path / "packed")
    task = task_by_name("mrpc", model, max_length=16)
    before, after = task.load(tmp_path / "glue"), packing.unpack_data(tmp_path / "packed", "mrpc")
    assert after.labels == before.labels
    packing.unpack_model(tmp_path / "packed", tmp_path / "model")
    weights, known = (load_file(folder / "model.safetensors") for folder in (tmp_path / "model", model))
    own = next(name for name in known if name.endswith(packing.EMBEDDINGS))
    for name, split in after.splits.items():
        expected = before.splits[name]
        assert split.details == expected.details
        for key in ("attention_mask", "token_type_ids", "label"):
            assert torch.equal(split.tensors[key], expected.tensors[key])
        mask = split.tensors["attention_mask"].bool()
        rows = weights[packing.EMBEDDINGS][split.tensors["input_ids"][mask]]
        exact = known[own][expected.tensors["input_ids"][mask]].float()
        assert (rows - exact).abs().max() <= exact.abs().max() / 127  # the same tokens, rounded
    loaded = load_model(tmp_path / "model", task, after).model
    assert loaded.config.vocab_size == len(weights[packing.EMBEDDINGS]) <= len(known[own])

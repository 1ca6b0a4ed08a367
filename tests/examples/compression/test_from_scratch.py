"""What the scripts that train models from scratch share."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from betabo.compress.settings import Training
from betabo.compress.tasks import Split, task_by_name
from examples.compression.training_case import SMALL, record_of


def test_time_limit_sets_the_number_of_steps(
    gpt2: ModuleType, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.import_module("from_scratch"), "seconds_of_a_step", lambda *_: 100.0)
    arguments = ["--data", str(text), "--device", "cpu", "--blocks", "1", "--width", "8", "--heads", "1"]
    gpt2.main([*arguments, "--out", str(tmp_path / "gpt2"), "--batch", "2", "--context", "8", "--seconds", "1000"])
    record = record_of(tmp_path / "gpt2")
    assert record["training"]["steps"] == 8  # nine tenths of 1000 s, less the start


def test_measuring_a_step_leaves_the_model_alone(gpt2: ModuleType, tiny_gpt2: torch.nn.Module) -> None:
    before = {name: tensor.clone() for name, tensor in tiny_gpt2.state_dict().items()}
    split = Split({"input_ids": torch.zeros(4, 4, dtype=torch.long)})
    measure = importlib.import_module("from_scratch").seconds_of_a_step
    assert 0 < measure(tiny_gpt2, task_by_name("tinyshakespeare"), split, Training(batch=1)) < 60
    assert all(torch.equal(tensor, before[name]) for name, tensor in tiny_gpt2.state_dict().items())


def test_nothing_is_overwritten(vit: ModuleType, images: Path, tmp_path: Path) -> None:
    out = tmp_path / "vit"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit, match="has something in it"):
        vit.main(["--data", str(images), "--out", str(out), *SMALL])
    assert [path.name for path in out.iterdir()] == ["mine.txt"]


def _tensors(args: Any) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(args) if isinstance(leaf, torch.Tensor)]


class NeverWaits(TorchDispatchMode):
    """Refuses what waits for the device or copies from the host, which no CUDA graph can record."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.name()
        if name.startswith(("aten::_local_scalar_dense", "aten::nonzero", "aten::masked_select", "aten::lift_fresh")):
            raise AssertionError(f"{name} waits for the device")
        if name.startswith("aten::index") and any(index.dtype == torch.bool for index in _tensors(args[1:])):
            raise AssertionError(f"{name} has a mask, which waits for the device")
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("which", ["vit", "gpt2"])
def test_a_step_never_waits_for_the_device(
    which: str, scripts: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        torch.cuda, "is_current_stream_capturing", lambda: True
    )  # what transformers asks in a recording
    model = request.getfixturevalue(f"tiny_{which}").train()
    if which == "vit":
        size = model.config.image_size
        task = request.getfixturevalue("vit").ManyViews()
        batch = {"image": torch.zeros(4, 3, size, size, dtype=torch.uint8), "label": torch.zeros(4, dtype=torch.long)}
    else:
        task = task_by_name("tinyshakespeare")
        batch = {"input_ids": torch.zeros(4, 16, dtype=torch.long)}
    with NeverWaits():
        task.loss(model, task.augment(batch)).backward()
    assert all(p.grad is not None for name, p in model.named_parameters() if "pooler" not in name)

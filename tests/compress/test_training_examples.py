"""The scripts that train models from scratch, with models and data that take seconds."""

from __future__ import annotations

import importlib
import io
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import load_model
from betabo.compress.settings import Training
from betabo.compress.tasks import Split, task_by_name
from betabo.compress.training import evaluate, finetune

EXAMPLES = Path(__file__).parents[2] / "examples" / "compression"
SMALL = ("--device", "cpu", "--blocks", "2", "--width", "16", "--heads", "2", "--steps", "5", "--batch", "8")
COLOURS = [(200, 30, 30), (30, 200, 30), (30, 30, 200)]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(EXAMPLES))


@pytest.fixture
def vit(scripts: None) -> ModuleType:
    return importlib.import_module("train_vit")


@pytest.fixture
def gpt2(scripts: None) -> ModuleType:
    return importlib.import_module("train_gpt2")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Noisy images of three colours, as CIFAR-10's files have them."""
    image = pytest.importorskip("PIL.Image")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "images"
    folder.mkdir()
    noise = np.random.default_rng(0)
    for part, count in (("train", 60), ("test", 12)):
        encoded, labels = [], [number % 3 for number in range(count)]
        for label in labels:
            pixels = np.clip(np.array(COLOURS[label]) + noise.integers(-20, 20, (32, 32, 3)), 0, 255)
            buffer = io.BytesIO()
            image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
            encoded.append(buffer.getvalue())
        pq.write_table(pa.table({"image": encoded, "label": labels}), folder / f"cifar10_{part}.parquet")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    pytest.importorskip("tokenizers")
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "tinyshakespeare.txt").write_text("To be, or not to be: that is the question.\n" * 100, encoding="utf-8")
    return folder


def record_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("half", [False, True], ids=["float32", "float16"])
def test_stored_vit_scores_what_its_record_says(vit: ModuleType, images: Path, tmp_path: Path, half: bool) -> None:
    out = tmp_path / "models" / "vit"
    vit.main(["--data", str(images), "--out", str(out), *SMALL, *(["--half"] if half else [])])
    task = task_by_name("cifar10", out)
    data = task.load(images)
    loaded = load_model(out, task, data)
    assert not loaded.head_is_new
    assert loaded.model.config.id2label[9] == "truck"
    assert CompressionPlan.of(loaded.model).dims == 12
    record = record_of(out)
    assert evaluate(loaded.model, task, data.test) == pytest.approx(record["test"])
    assert evaluate(loaded.model, task, data.validation) == pytest.approx(record["validation"])
    assert record["examples"] == {"train": 54, "validation": 6, "test": 12}
    assert record["training"]["steps"] == 5


def test_stored_gpt2_scores_what_its_record_says(gpt2: ModuleType, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "gpt2"
    gpt2.main(["--data", str(text), "--out", str(out), *SMALL, "--context", "32"])
    task = task_by_name("tinyshakespeare", out)
    assert task.block_size == 32
    data = task.load(text)
    model = load_model(out, task, data).model
    assert CompressionPlan.of(model).dims == 8
    record = record_of(out)
    assert evaluate(model, task, data.test) == pytest.approx(record["test"])
    assert record["test"]["bits_per_byte"] == pytest.approx(np.log2(record["test"]["perplexity"]))


def test_training_follows_from_the_seed(gpt2: ModuleType, text: Path, tmp_path: Path) -> None:
    records = []
    for name, seed in (("first", "1"), ("second", "1"), ("third", "2")):
        out = tmp_path / name
        gpt2.main(["--data", str(text), "--out", str(out), *SMALL, "--context", "16", "--seed", seed])
        records.append(record_of(out)["test"])
    assert records[0] == records[1] != records[2]


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


@pytest.mark.parametrize("sentence", ["To be, or not.", "naïve café\n\n\tβ → ∞ 日本 🙂", " two  spaces ", ""])
def test_tokens_are_the_bytes_of_utf8(gpt2: ModuleType, sentence: str) -> None:
    tokenizer = gpt2.byte_tokenizer(64)
    assert tokenizer(sentence)["input_ids"] == list(sentence.encode())
    assert tokenizer.decode(list(sentence.encode())) == sentence
    assert len(tokenizer) == 256


def test_overlapping_blocks_are_pieces_of_the_text(gpt2: ModuleType) -> None:
    tokens = torch.arange(5 * 7 + 1)
    blocks = gpt2.overlapping(Split({"input_ids": tokens.unfold(0, 8, 7)}), stride=3).tensors["input_ids"]
    assert blocks[:, 0].tolist() == list(range(0, 29, 3))
    assert torch.equal(blocks, blocks[:, :1] + torch.arange(8))


def test_pasted_area_is_the_share_of_the_other_label(vit: ModuleType) -> None:
    plain = vit.ManyViews(affine=0.0, colour=0.0, pasted=1.0, shift=0, flip=False)
    count = 400
    images = torch.zeros(count, 3, 32, 32, dtype=torch.uint8)
    images[count // 2 :] = 255  # an image is pasted into its mirror in the batch, of the other colour
    batch = plain.augment({"image": images, "label": (torch.arange(count) >= count // 2).long()})
    white = batch["image"].mean((1, 2, 3)) / 255
    assert torch.equal(batch["other"], 1 - batch["label"])
    torch.testing.assert_close(white, torch.where(batch["label"] == 1, 1 - batch["share"], batch["share"]))
    assert batch["share"].std() > 0.1
    assert 0.1 < batch["share"].mean() < 0.5  # a uniform area, less what the edges cut off


def test_loss_of_whole_images_is_the_tasks_own(vit: ModuleType, tiny_vit: torch.nn.Module) -> None:
    size = tiny_vit.config.image_size
    images = torch.randint(0, 256, (4, 3, size, size), dtype=torch.uint8)
    label = torch.arange(4) % tiny_vit.config.num_labels
    batch = {"image": images, "label": label, "other": label.flip(0), "share": torch.zeros(4)}
    plain = vit.ManyViews(smoothing=0.0)
    tiny_vit.eval()
    torch.testing.assert_close(plain.loss(tiny_vit, batch), task_by_name("cifar10").loss(tiny_vit, batch))
    exchanged = plain.loss(tiny_vit, {**batch, "share": torch.ones(4)})
    torch.testing.assert_close(exchanged, plain.loss(tiny_vit, {**batch, "label": label.flip(0)}))


def test_augmentation_keeps_images_in_range_and_recognisable(vit: ModuleType) -> None:
    images = torch.full((200, 3, 32, 32), 100, dtype=torch.uint8)
    varied = vit.ManyViews(pasted=0.0).augment({"image": images, "label": torch.zeros(200, dtype=torch.long)})["image"]
    flat = varied.flatten(1)
    torch.testing.assert_close(flat.amin(1), flat.amax(1))  # an even grey stays even, only its brightness changes
    assert 59 < flat.amin() < 75
    assert 125 < flat.amax() < 141


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


@pytest.mark.slow
def test_vit_learns_colours_from_scratch(vit: ModuleType, images: Path) -> None:
    from transformers import ViTConfig, ViTForImageClassification

    task = task_by_name("cifar10", size=32)
    data = task.load(images)
    torch.manual_seed(0)
    model = ViTForImageClassification(
        ViTConfig(
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=64,
            image_size=32,
            patch_size=8,
            num_labels=10,
        )
    )
    finetune(model, vit.ManyViews(**vars(task)), data.train, Training(steps=150, batch=32, rate=3e-3))
    assert evaluate(model, task, data.test)["accuracy"] == 1.0

"""The script that trains a ViT from scratch."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest
import torch

from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import load_model
from betabo.compress.settings import Training
from betabo.compress.tasks import task_by_name
from betabo.compress.training import evaluate, finetune
from examples.compression.training_case import SMALL, record_of


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

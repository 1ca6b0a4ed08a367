from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from betabo.compress.data import DataError, Rows
from betabo.compress.tasks import ImageClassification, Split

CLASSES = ("a", "b", "c", "d")


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG")
    return buffer.getvalue()


def random_images(count: int, size: int = 16, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


def make_split(count: int = 6, size: int = 16) -> Split:
    images = torch.from_numpy(random_images(count, size)).permute(0, 3, 1, 2)
    return Split({"image": images, "label": torch.arange(count) % 4})


def test_images_come_through_unchanged() -> None:
    pixels = random_images(3)
    rows = Rows({"image": [png(image) for image in pixels], "label": [2, 0, 1]})
    split = ImageClassification().encode(rows, CLASSES, training=True)
    assert split.tensors["image"].dtype == torch.uint8
    assert np.array_equal(split.tensors["image"].permute(0, 2, 3, 1), pixels)
    assert split.tensors["label"].tolist() == [2, 0, 1]


@pytest.mark.parametrize("form", ["record", "path"])
def test_images_of_the_hub_and_of_folders(tmp_path: Path, form: str) -> None:
    pixels = random_images(1)
    (tmp_path / "x.png").write_bytes(png(pixels[0]))
    value = {"bytes": png(pixels[0]), "path": None} if form == "record" else str(tmp_path / "x.png")
    split = ImageClassification().encode(Rows({"img": [value], "label": [0]}), CLASSES, training=False)
    assert np.array_equal(split.tensors["image"][0].permute(1, 2, 0), pixels[0])


def test_other_sizes_and_grey_images_are_converted() -> None:
    grey = np.full((10, 20), 77, dtype=np.uint8)
    split = ImageClassification(size=8).encode(Rows({"image": [png(grey)], "label": [0]}), CLASSES, training=True)
    assert split.tensors["image"].shape == (1, 3, 8, 8)
    assert (split.tensors["image"] == 77).all()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"image": [b"no image"], "label": [0]}, "cannot be read"),
        ({"image": [3], "label": [0]}, "given as int"),
        ({"picture": [b""], "label": [0]}, "no column 'image', only 'picture'"),
        ({"image": [b""], "label": [7]}, "cannot be read"),
    ],
)
def test_what_is_no_image_is_refused(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ImageClassification(size=8).encode(Rows(columns), CLASSES, training=True)


def test_normalisation_is_that_of_the_formula() -> None:
    task = ImageClassification(mean=(0.1, 0.2, 0.3), std=(0.5, 0.6, 0.7))
    split = make_split()
    expected = (split.tensors["image"].double() / 255 - torch.tensor(task.mean).double()[:, None, None]) / torch.tensor(
        task.std
    ).double()[:, None, None]
    pixels = task.inputs(split.tensors)["pixel_values"]
    assert pixels.dtype == torch.float32
    torch.testing.assert_close(pixels.double(), expected, atol=1e-6, rtol=1e-6)


def test_loss_is_that_of_transformers(tiny_vit: Any) -> None:
    task, split = ImageClassification(), make_split()
    with torch.no_grad():
        expected = tiny_vit(**task.inputs(split.tensors), labels=split.tensors["label"]).loss
        torch.testing.assert_close(task.loss(tiny_vit, split.tensors), expected)


def test_metrics_are_of_the_likeliest_class(tiny_vit: Any) -> None:
    task, split = ImageClassification(), make_split()
    with torch.no_grad():
        predictions = task.predictions(tiny_vit, split.tensors)
        logits = tiny_vit(**task.inputs(split.tensors)).logits
    expected = np.mean([int(np.argmax(row)) == number % 4 for number, row in enumerate(logits.numpy())])
    assert task.metrics(split, predictions) == {"accuracy": pytest.approx(expected)}


@pytest.mark.parametrize("flip", [True, False])
def test_an_augmented_image_is_a_window_of_the_mirrored_surroundings(flip: bool) -> None:
    task = ImageClassification(shift=3, flip=flip)
    batch = make_split(20, 8).tensors
    before = batch["image"].clone()
    varied = task.augment(batch)
    assert torch.equal(batch["image"], before)
    assert varied["image"].dtype == torch.uint8
    assert torch.equal(varied["label"], batch["label"])
    seen = set()
    for image, result in zip(before.numpy(), varied["image"].numpy(), strict=True):
        padded = np.pad(image, ((0, 0), (3, 3), (3, 3)), mode="reflect")
        windows = {(y, x, False): padded[:, y : y + 8, x : x + 8] for y in range(7) for x in range(7)}
        windows |= {(y, x, True): window[:, :, ::-1] for (y, x, _), window in windows.items()}
        matching = [key for key, window in windows.items() if np.array_equal(window, result)]
        assert len(matching) == 1
        seen.add(matching[0])
    assert {mirrored for _, _, mirrored in seen} == ({True, False} if flip else {False})
    assert len({y for y, _, _ in seen}) > 3
    assert len({x for _, x, _ in seen}) > 3


def test_augmentation_follows_the_default_generator() -> None:
    task, batch = ImageClassification(), make_split().tensors
    results = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        results.append(task.augment(batch)["image"])
    assert torch.equal(results[0], results[1])
    assert not torch.equal(results[0], results[2])


def test_a_folder_of_images_is_loaded_for_a_model(tmp_path: Path, vit_folder: Path) -> None:
    for part, count in (("train", 10), ("test", 2)):
        for label in ("cat", "dog"):
            (tmp_path / "data" / part / label).mkdir(parents=True)
            for number, image in enumerate(random_images(count, 20)):
                (tmp_path / "data" / part / label / f"{number}.png").write_bytes(png(image))
    task = ImageClassification().suited_to(vit_folder)
    data = task.load(tmp_path / "data")
    assert data.labels == ("cat", "dog")
    assert {name: len(split) for name, split in data.splits.items()} == {"train": 18, "validation": 2, "test": 4}
    assert data.train.tensors["image"].shape[1:] == (3, 16, 16)
    assert task.example(data)["pixel_values"].shape == (1, 3, 16, 16)

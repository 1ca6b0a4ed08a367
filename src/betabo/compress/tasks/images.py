"""Image classification."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from betabo.compress.data import DataError, Rows
from betabo.compress.pretrained import load_image_format
from betabo.compress.tasks.labels import class_names, class_numbers, classification_metrics, most_frequent
from betabo.compress.tasks.split import Split
from betabo.compress.tasks.task import Batch, Kind, SplitRule, Task
from betabo.extras import needs_extra


@dataclass(frozen=True)
class ImageClassification(Task):
    """Which of some classes an image shows.

    A split has `image`, uint8 of examples x 3 x size x size, and `label`, int64. Images of another size are resized,
    without regard to their proportions. They are normalised on the device, when they go into the model.

    Attributes:
        name: Name of the task.
        dataset: Its dataset on the hub.
        rule: Which parts of the data serve for what.
        labels: Names of the classes, where they are known.
        size: Height and width in pixels; None takes those of the first image.
        mean: Of each channel, in [0, 1]; subtracted.
        std: Of each channel; divided by.
        shift: Augmentation moves an image by up to this many pixels each way; what comes in is mirrored.
        flip: Whether augmentation mirrors half of the images left to right.
        image_column: Column of images: encoded bytes, or paths of files.
        label_column: Column of labels.
    """

    kind: ClassVar[Kind] = "image-classification"
    metric: ClassVar[str] = "accuracy"

    name: str = "image-classification"
    dataset: str | None = None
    rule: SplitRule = field(default_factory=SplitRule)
    labels: tuple[str, ...] | None = None
    size: int | None = None
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)
    shift: int = 4
    flip: bool = True
    image_column: str | None = None
    label_column: str | None = None

    def suited_to(self, model: str | Path) -> Self:
        """This task with the size and normalisation of a model."""
        found = load_image_format(model)
        return replace(self, size=found.size, mean=found.mean, std=found.std)

    def class_names(self, train: Rows) -> tuple[str, ...]:
        """Names of the classes in the order of their numbers."""
        return class_names(train[self._label_column(train)], self.labels)

    def has_answers(self, rows: Rows) -> bool:
        """Whether the rows can be scored: secret labels are absent, or -1."""
        column = self._label_column(rows)
        return column in rows.columns and not all(value == -1 for value in rows[column])

    def encode(self, rows: Rows, labels: tuple[str, ...] | None, *, training: bool) -> Split:  # noqa: ARG002
        """The images and labels as tensors."""
        column = self.image_column or rows.first_of("image", "img")
        if column is None:
            raise DataError(f"the data have no column 'image', only {', '.join(map(repr, rows.columns))}.")
        values = rows[column]
        size = self.size or (_width(values[0]) if values else 1)
        images = np.empty((len(values), size, size, 3), dtype=np.uint8)
        for number, value in enumerate(values):
            images[number] = _pixels(value, size)
        label = class_numbers(rows[self._label_column(rows)], labels or self.class_names(rows))
        return Split({"image": torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(), "label": label})

    def augment(self, batch: Batch) -> Batch:
        """Each image moved by a random number of pixels and, half of them, mirrored left to right."""
        images = batch["image"]
        count, _, height, width = images.shape
        device = images.device

        def moved(length: int) -> Tensor:
            steps = torch.randint(-self.shift, self.shift + 1, (count, 1), device=device)
            index = (torch.arange(length, device=device) + steps).abs()
            return (length - 1) - ((length - 1) - index).abs()

        rows, columns = moved(height), moved(width)
        if self.flip:
            mirrored = torch.rand(count, 1, device=device) < 0.5
            columns = torch.where(mirrored, width - 1 - columns, columns)
        example = torch.arange(count, device=device)[:, None, None]
        varied = images.permute(0, 2, 3, 1)[example, rows[:, :, None], columns[:, None, :]]
        return {**batch, "image": varied.permute(0, 3, 1, 2)}

    def inputs(self, batch: Mapping[str, Tensor]) -> Batch:
        """The normalised images, float32."""
        channels = batch["image"].unbind(1)  # numbers, not tensors, of mean and std: nothing to copy to the device
        scaled = [
            channel.to(torch.float32).mul(1 / (255 * std)).sub(mean / std)
            for channel, mean, std in zip(channels, self.mean, self.std, strict=True)
        ]
        return {"pixel_values": torch.stack(scaled, 1)}

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy."""
        return nn.functional.cross_entropy(self.answers(model, batch)[0].float(), batch["label"])

    def answers(self, model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
        """The logits of the classes."""
        return (model(**self.inputs(batch)).logits,)

    def predictions(self, model: nn.Module, batch: Batch) -> Batch:
        """The number of the likeliest class, `label`."""
        return {"label": self.answers(model, batch)[0].argmax(-1)}

    def guessed(self, split: Split) -> float | None:
        """The share of the most frequent class."""
        return most_frequent(split.tensors["label"])

    def metrics(self, split: Split, predictions: Mapping[str, Tensor]) -> dict[str, float]:
        """The accuracy."""
        return classification_metrics(split.tensors["label"], predictions["label"], classes=0)

    def _label_column(self, rows: Rows) -> str:
        return self.label_column or rows.first_of("label", "labels", "fine_label") or "label"


def _open(value: Any) -> Any:
    """An image from encoded bytes, a path, or the hub's record of both."""
    with needs_extra("compress", "images need pillow"):
        from PIL import Image, UnidentifiedImageError
    if isinstance(value, Mapping):
        value = value["bytes"] if value.get("bytes") is not None else value.get("path")
    if not isinstance(value, bytes | str):
        raise DataError(f"an image is given as {type(value).__name__}, expected encoded bytes or a path.")
    try:
        return Image.open(io.BytesIO(value) if isinstance(value, bytes) else value)
    except (OSError, UnidentifiedImageError) as error:
        raise DataError(f"an image cannot be read: {error}.") from error


def _width(value: Any) -> int:
    with _open(value) as image:
        return int(image.width)


def _pixels(value: Any, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Height x width x 3."""
    with _open(value) as image:
        colour = image.convert("RGB")
        if colour.size != (size, size):
            colour = colour.resize((size, size), resample=2)  # bilinear
        return np.asarray(colour, dtype=np.uint8)

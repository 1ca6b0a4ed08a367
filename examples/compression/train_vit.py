"""Train a small Vision Transformer on CIFAR-10 from scratch, as a model to compress.

12 blocks of width 192 with 3 heads, patches of 4 x 4 pixels: 72 layers and 5.4 million parameters. DATA has
cifar10_train.parquet and cifar10_test.parquet, with the columns image (encoded bytes) and label. A tenth of train is
held out for validation, the same images that `betabo compress --task cifar10` chooses models by. OUT is a folder that
transformers loads, with training.json beside the weights: the settings, the accuracies, the time.

    python examples/compression/train_vit.py --data data/images --out models/vit-cifar10
    python examples/compression/train_vit.py --data data/images --out models/vit-cifar10 --seconds 200

A transformer knows nothing about images at the start, and 45,000 are few, so each is seen in many ways: moved,
mirrored, turned, stretched, coloured, with a rectangle of another image in it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from from_scratch import options, train
from torch import Tensor
from torch.nn import functional
from transformers import ViTConfig, ViTForImageClassification

from betabo.compress.settings import Training
from betabo.compress.tasks import Batch, ImageClassification, TaskData, task_by_name

SIZE, PATCH = 32, 4
TRAINING = Training(steps=7000, batch=512, rate=1e-3, warmup=0.05, schedule="cosine", weight_decay=0.05)


@dataclass(frozen=True)
class ManyViews(ImageClassification):
    """Image classification with strong augmentation.

    Attributes:
        affine: Largest change of an entry of the affine map that turns, stretches and moves an image.
        colour: Largest relative change of brightness, contrast and saturation.
        pasted: Share of the images that get a rectangle of another one, and its label in proportion (CutMix).
        smoothing: Share of each label that is spread over all classes.
    """

    affine: float = 0.2
    colour: float = 0.4
    pasted: float = 0.5
    smoothing: float = 0.1

    def augment(self, batch: Batch) -> Batch:
        """Images varied, with parts of others in them; adds `other`, the labels of those, and `share`, their areas."""
        batch = super().augment(batch)
        images = self._recoloured(self._deformed(batch["image"].to(torch.float32)))
        count, _, height, width = images.shape
        device = images.device
        chosen = torch.rand(count, 1, device=device) < self.pasted
        reach = chosen * torch.rand(count, 1, device=device).sqrt() / 2  # half a side, so that areas are uniform

        def inside(length: int) -> Tensor:
            places = (torch.arange(length, device=device) + 0.5) / length
            return (places - torch.rand(count, 1, device=device)).abs() < reach

        box = inside(height)[:, :, None] & inside(width)[:, None, :]
        return {
            "image": torch.where(box[:, None], images.flip(0), images),
            "label": batch["label"],
            "other": batch["label"].flip(0),
            "share": box.to(torch.float32).mean((1, 2)),
        }

    def loss(self, model: torch.nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy with both labels of each image, in proportion to their areas."""
        logits = model(**self.inputs(batch)).logits.float()

        def entropy(label: Tensor) -> Tensor:
            return functional.cross_entropy(logits, label, reduction="none", label_smoothing=self.smoothing)

        return torch.lerp(entropy(batch["label"]), entropy(batch["other"]), batch["share"]).mean()

    def _deformed(self, images: Tensor) -> Tensor:
        """Half of the images under a random affine map."""
        count, device = len(images), images.device
        change = torch.empty(count, 2, 3, device=device).uniform_(-self.affine, self.affine)
        change = change * (torch.rand(count, 1, 1, device=device) < 0.5)
        grid = functional.affine_grid(torch.eye(2, 3, device=device) + change, list(images.shape), align_corners=False)
        return functional.grid_sample(images, grid, padding_mode="reflection", align_corners=False)

    def _recoloured(self, images: Tensor) -> Tensor:
        """Images with another saturation, contrast and brightness, each between 0 and 255."""
        for around in (images.mean(1, keepdim=True), images.mean((1, 2, 3), keepdim=True), 0.0):
            factor = 1 + self.colour * (2 * torch.rand(len(images), 1, 1, 1, device=images.device) - 1)
            images = around + factor * (images - around)
        return images.clamp(0, 255)


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, and write the folder."""
    parser = options(__doc__, TRAINING)
    parser.add_argument("--blocks", type=int, default=12, help="blocks (default 12)")
    parser.add_argument("--width", type=int, default=192, help="width of a block (default 192)")
    parser.add_argument("--heads", type=int, default=3, help="attention heads (default 3)")
    parser.add_argument(
        "--plain", action="store_true", help="only move and mirror the images, which is better for a short training"
    )
    chosen = parser.parse_args(arguments)
    task = task_by_name("cifar10", size=SIZE)

    def model(data: TaskData) -> ViTForImageClassification:
        names = dict(enumerate(data.labels or ()))
        return ViTForImageClassification(
            ViTConfig(
                hidden_size=chosen.width,
                num_hidden_layers=chosen.blocks,
                num_attention_heads=chosen.heads,
                intermediate_size=4 * chosen.width,
                image_size=SIZE,
                patch_size=PATCH,
                id2label=names,
                label2id={name: number for number, name in names.items()},
            )
        )

    def describe_images(folder: Path) -> None:
        description = {
            "image_processor_type": "ViTImageProcessor",
            "size": {"height": SIZE, "width": SIZE},
            "image_mean": task.mean,
            "image_std": task.std,
        }
        (folder / "preprocessor_config.json").write_text(json.dumps(description, indent=1), encoding="utf-8")

    practice = None if chosen.plain else ManyViews(**vars(task))
    train(model, task, TRAINING, chosen, practice=practice, finish=describe_images)


if __name__ == "__main__":
    main()

"""What the tests of compressions to a size share: a tiny BERT that was trained for a moment."""

from __future__ import annotations

from functools import cache

import torch

from betabo.compress.problem import CompressionProblem
from betabo.compress.settings import CompressionMethod, Training
from betabo.compress.tasks import Split, TaskData, TextClassification
from betabo.compress.training import finetune
from tiny_models import make_bert


@cache
def trained_problem(group: str = "layer") -> CompressionProblem:
    """A BERT that knows whether a text has an even or an odd first token, more or less."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, 24, (320, 10), generator=generator)
    mask = (torch.arange(10) < torch.randint(4, 11, (320, 1), generator=generator)).long()
    tensors = {"input_ids": tokens * mask, "attention_mask": mask, "label": tokens[:, 0] % 2}
    parts = (slice(0, 192), slice(192, 256), slice(256, 320))
    splits = [Split({name: tensor[part] for name, tensor in tensors.items()}, {"classes": 2}) for part in parts]
    model, task = make_bert(), TextClassification()
    training = Training(steps=100, batch=32, rate=3e-3)
    finetune(model, task, splits[0], training, seed=0)
    method = CompressionMethod(group=group, training=Training(batch=32, rate=1e-3), device="cpu")  # type: ignore[arg-type]
    return CompressionProblem(model.eval(), task, TaskData(*splits), method)

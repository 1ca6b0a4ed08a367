"""Presets: the paper's compressions, and those whose results come with the package, by name.

The paper states the model, the task, the steps, the batch and the number of coordinates of its experiments. It does not
state the learning rate, nor the share of rows that is kept; these are ours, as is everything in presets of our own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from betabo.compress.settings import CompressionSettings, Training
from betabo.suggestions import did_you_mean

IMAGENET_EXAMPLES = 1_281_167
"""Training examples of ImageNet-1k."""


@dataclass(frozen=True, kw_only=True)
class Preset(CompressionSettings):
    """The settings of a compression under a name: those of `CompressionSettings`, and four more.

    Args:
        name: Its name in `PRESETS`.
        description: What it is, in one line.
        source: `"paper"`, or `"ours"` for what is run with small models and stored with the package.
        note: What has to be known about it.
    """

    name: str
    description: str
    source: Literal["paper", "ours"]
    note: str = ""


def preset_by_name(name: str) -> Preset:
    """The preset with a name.

    Raises:
        ValueError: There is none; the message lists those with close names.
    """
    if name in PRESETS:
        return PRESETS[name]
    hint = did_you_mean(name, PRESETS)
    raise ValueError(f"preset is {name!r}, expected one of {', '.join(PRESETS)}.{hint}")


def _deberta(task: str, note: str = "") -> Preset:
    return Preset(
        name=f"deberta-{task}",
        description=f"DeBERTa-v3 on {task.upper()}, a coordinate a block",
        model="microsoft/deberta-v3-base",
        task=task,
        source="paper",
        group="block",
        training=Training(steps=256, batch=100),
        note=f"12 blocks, pooler and classifier make the paper's 14 coordinates, which is our reading.{note}",
    )


def _minilm(task: str, title: str, data: str = "data/glue", also: str = "") -> Preset:
    return Preset(
        name=f"minilm-{task}",
        description=f"MiniLM (6 blocks) on {title}, a coordinate a layer",
        model="models/minilm",
        task=task,
        source="ours",
        data=data,
        training=Training(steps=60, batch=32, rate=1e-4),
        note=f"The model comes from examples/compression/minilm.py{also}.",
    )


_PAPER = (
    Preset(
        name="vit-imagenet",
        description="ViT on ImageNet-1k, a coordinate a layer",
        model="google/vit-base-patch16-224",
        task="imagenet-1k",
        source="paper",
        training=Training(steps=-(-IMAGENET_EXAMPLES // 200), batch=200),
        note="One epoch a trial.",
    ),
    Preset(
        name="bert-squad",
        description="BERT on SQuAD, a coordinate a layer",
        model="bert-base-uncased",
        task="squad",
        source="paper",
        training=Training(steps=256, batch=100),
        note="The paper's text says BERT (large), its table 109M parameters and 72 layers: the base model.",
    ),
    Preset(
        name="gpt2-squad",
        description="GPT-2 on SQuAD, a coordinate a layer",
        model="gpt2",
        task="squad",
        source="paper",
        training=Training(steps=512, batch=25),
    ),
    _deberta("mnli"),
    _deberta("rte", " The small training set is seen more than ten times a trial."),
    _deberta("qnli"),
    _deberta("mrpc", " 3,668 training examples are seen about seven times a trial."),
)

_OURS = (
    Preset(
        name="vit-cifar10",
        description="a small ViT on CIFAR-10, a coordinate a layer",
        model="models/vit-cifar10",
        task="cifar10",
        source="ours",
        data="data/images",
        training=Training(steps=50, batch=128, rate=5e-4),
        max_validation=2500,
        note="The model comes from examples/compression/train_vit.py.",
    ),
    _minilm("mrpc", "MRPC"),
    _minilm("rte", "RTE"),
    _minilm("squadshifts", "SQuADShifts", data="data/squad", also=", the data from squadshifts.py beside it"),
    Preset(
        name="gpt2-shakespeare",
        description="a small GPT-2 on Tiny Shakespeare, a coordinate a layer",
        model="models/gpt2-shakespeare",
        task="tinyshakespeare",
        source="ours",
        data="data/text",
        training=Training(steps=50, batch=32, rate=5e-4),
        note="The model comes from examples/compression/train_gpt2.py.",
    ),
    Preset(
        name="gpt2-shakespeare-narrow",
        description="a narrow GPT-2 on Tiny Shakespeare, a coordinate a layer",
        model="models/gpt2-shakespeare-narrow",
        task="tinyshakespeare",
        source="ours",
        data="data/text",
        training=Training(steps=15, batch=16, rate=1e-3),
        max_validation=256,
        note="Quick on a CPU. The model comes from examples/compression/train_gpt2.py --width 64 --context 64.",
    ),
    Preset(
        name="deberta-rte-xsmall",
        description="DeBERTa-v3-xsmall on RTE, a coordinate a block",
        model="models/deberta-v3-xsmall",
        task="rte",
        source="ours",
        data="data/glue",
        group="block",
        training=Training(steps=50, batch=32, rate=1e-4),
        dense_steps=500,
        note="The model comes from examples/compression/deberta_from_onnx.py: weights from int8 values.",
    ),
)

PRESETS: dict[str, Preset] = {preset.name: preset for preset in (*_PAPER, *_OURS)}
"""All presets by name."""

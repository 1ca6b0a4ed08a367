"""A compressed model beside its alternatives: how large, how fast and how good each is."""

from __future__ import annotations

import copy
import io
import warnings
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import nn

from betabo.compress.counting import LATENCY_REPEATS, count_flops, count_parameters, measure_latency
from betabo.compress.problem import CompressionProblem


@dataclass(frozen=True)
class ModelFigures:
    """How large, how fast and how good a model is.

    Attributes:
        size: Parameters of the layers that are compressed, as a share of what they were.
        megabytes: Millions of bytes of all its weights as they are stored.
        flops: Floating-point operations of one example; eight-bit operations count like others.
        latency: Seconds of one example, the median of some.
        validation: Its metrics on the validation examples.
        test: Its metrics on the test examples, None without any.
    """

    size: float
    megabytes: float
    flops: int
    latency: float
    validation: dict[str, float]
    test: dict[str, float] | None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


def figures_of(problem: CompressionProblem, model: nn.Module, *, like: nn.Module | None = None) -> ModelFigures:
    """Measure a model.

    Args:
        problem: What it is compressed for.
        model: The model, where the problem's is.
        like: A model with the same layers in a form that can be counted, if `model` cannot be.
    """
    counted = model if like is None else like
    names = [layer.name for layer in problem.plan.layers]
    example = problem.task.example(problem.data)
    return ModelFigures(
        size=count_parameters(counted, names) / problem.plan.parameters,
        megabytes=_bytes(model) / 1e6,
        flops=count_flops(counted, example),
        latency=measure_latency(model, example, repeats=LATENCY_REPEATS).median,
        validation=problem.judge(model, problem.data.validation, short=True),
        test=None if problem.data.test is None else problem.judge(model, short=True),
    )


def int8_model(model: nn.Module) -> nn.Module:
    """A copy of a model on the CPU whose `nn.Linear` layers have weights of eight bits, quantized as they run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that this will move to torchao
        from torch.ao.quantization import quantize_dynamic

        made: nn.Module = quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8)
    return made


def only_guesses(metrics: dict[str, float], metric: str, labels: torch.Tensor | None) -> bool:
    """Whether a classifier's accuracy is no better than that of always giving the most frequent answer."""
    if metric != "accuracy" or labels is None:
        return False
    return metrics["accuracy"] <= float(labels.bincount().max()) / len(labels) + 1e-9


def _bytes(model: nn.Module) -> int:
    stored = io.BytesIO()
    torch.save(model.state_dict(), stored)
    return len(stored.getvalue())

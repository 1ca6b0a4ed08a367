"""A compressed model beside its alternatives: how large, how fast and how good each is."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from betabo.compress.counting import count_flops, count_parameters, measure_latencies
from betabo.compress.problem import CompressionProblem

if TYPE_CHECKING:
    from betabo.compress.tasks import Split, Task


@dataclass(frozen=True)
class ModelFigures:
    """How large, how fast and how good a model is.

    Attributes:
        size: Parameters of the layers that are compressed, as a share of what they were.
        megabytes: Millions of bytes of all its weights as they are stored, in the precision of the original's files.
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


def figures_of(
    problem: CompressionProblem, models: Mapping[str, nn.Module], counted: Mapping[str, nn.Module] | None = None
) -> dict[str, ModelFigures]:
    """Measure some models, which take turns where time is measured.

    Args:
        problem: What they are compressed for.
        models: The models by name, where the problem's is.
        counted: By name, models with the same layers in a form that can be counted, for those that cannot be.
    """
    names = [layer.name for layer in problem.plan.layers]
    example = problem.task.example(problem.data)
    latencies = measure_latencies(list(models.values()), example)
    found = {}
    for (name, model), latency in zip(models.items(), latencies, strict=True):
        like = (counted or {}).get(name, model)
        found[name] = ModelFigures(
            size=count_parameters(like, names) / problem.plan.parameters,
            megabytes=_bytes(model, problem.precision) / 1e6,
            flops=count_flops(like, example),
            latency=latency.median,
            validation=problem.judge(model, problem.data.validation, short=True),
            test=None if problem.data.test is None else problem.judge(model, short=True),
        )
    return found


def table_rows(figures: Mapping[str, ModelFigures], device: str) -> list[list[str]]:
    """The figures of some models as a table, its heads first: a column for each model.

    Args:
        figures: The figures by name of the model.
        device: Where latencies were measured.
    """
    models = list(figures.values())
    rows = [
        ["", *figures],
        ["size of the layers", *(f"{model.size:.3f}" for model in models)],
        ["megabytes", *(f"{model.megabytes:.1f}" for model in models)],
        ["MFLOPs", *(f"{model.flops / 1e6:,.1f}" for model in models)],
        [f"latency ({device}), ms", *(f"{1e3 * model.latency:.2f}" for model in models)],
    ]
    splits = {"validation": [model.validation for model in models]}
    if all(model.test is not None for model in models):
        splits["test"] = [model.test or {} for model in models]
    for split, found in splits.items():
        rows += [[f"{name}, {split}", *(f"{metrics[name]:.4f}" for metrics in found)] for name in found[0]]
    return rows


def int8_model(model: nn.Module) -> nn.Module:
    """A copy of a model on the CPU whose `nn.Linear` layers have weights of eight bits, quantized as they run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that this will move to torchao
        from torch.ao.quantization import quantize_dynamic

        made: nn.Module = quantize_dynamic(copy.deepcopy(model), {nn.Linear}, dtype=torch.qint8)
    return made


def only_guesses(task: Task, split: Split, metrics: Mapping[str, float]) -> bool:
    """Whether a model is no better than one that always gives the most frequent answer.

    Args:
        task: What it does.
        split: The examples that it was judged on.
        metrics: What came of it.
    """
    guess = task.guessed(split)
    return guess is not None and metrics[task.metric] <= guess + 1e-9


def _bytes(model: nn.Module, precision: torch.dtype) -> int:
    stored = io.BytesIO()
    state = {
        name: value.to(precision) if isinstance(value, Tensor) and value.is_floating_point() else value
        for name, value in model.state_dict(keep_vars=False).items()
    }
    torch.save(state, stored)
    return len(stored.getvalue())

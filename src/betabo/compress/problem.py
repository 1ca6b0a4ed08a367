"""Compression as an optimization problem: ratios in, size and error out."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import nn

from betabo.compress.counting import count_flops, count_parameters
from betabo.compress.layers import Factors, LoSparseLinear
from betabo.compress.plan import CompressionPlan, Ratios
from betabo.compress.settings import CompressionMethod
from betabo.compress.store import CompressedModel, as_compressed
from betabo.compress.structure import Structure
from betabo.compress.training import evaluate, finetune
from betabo.compress.whitening import factors_of
from betabo.compress.without_training import eight_bits
from betabo.space import Space

if TYPE_CHECKING:
    from betabo.compress.tasks import Split, Task, TaskData


@dataclass(frozen=True)
class CompressionResult:
    """What came of one compression.

    Attributes:
        objective: weight x size + error.
        size: Parameters of the compressed layers, as a share of what they were.
        error: One minus the task's main metric on the validation examples.
        parameters: Parameters of the whole model.
        flops: Floating-point operations of one example, see `count_flops`.
        metrics: All metrics on the validation examples.
        seconds: Time of the evaluation.
    """

    objective: float
    size: float
    error: float
    parameters: int
    flops: int
    metrics: dict[str, float]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return asdict(self)


class CompressionProblem:
    """How small can a model be, and how good does it stay?

    A point is a vector of ratios: for each linear layer, or each block, the share of its parameters that its low-rank
    part may have. To evaluate one, the layers are split at the ranks that follow, the model is trained for a short
    while as rows of the remainders are pruned, and it is materialised and judged on the validation examples. Every
    evaluation has the same seed unless it is given another, so that points are compared on the same order of examples.

    Args:
        model: A trained model; it is not changed.
        task: What it does.
        data: The examples.
        method: How it is compressed and judged; None for the defaults.
        precision: What compressed models are stored in; they are computed with in the model's own.

    Example:
        >>> problem = CompressionProblem(model, task, data)  # doctest: +SKIP
        >>> betabo.minimize(problem, problem.bounds, budget=35)  # doctest: +SKIP
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        data: TaskData,
        method: CompressionMethod | None = None,
        *,
        precision: torch.dtype = torch.float32,
    ) -> None:
        self.method = CompressionMethod() if method is None else method
        self.device = torch_device(self.method.device)
        self.model = copy.deepcopy(model).to(self.device).eval()
        self.task, self.data, self.precision = task, data, precision
        self.plan = CompressionPlan.of(self.model, self.method.group)
        self._train = data.train.to(self.device)
        self._validation = data.validation.to(self.device)

    @property
    def dims(self) -> int:
        """Number of coordinates."""
        return self.plan.dims

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Lowest and highest ratio of each coordinate, for `betabo.minimize`."""
        return [self.method.bounds] * self.dims

    @property
    def space(self) -> Space:
        """The coordinates by name."""
        return self.plan.space(self.method.bounds)

    @cached_property
    def original(self) -> CompressionResult:
        """The model as it came: size one, its own error, no training."""
        return self.judged_original()

    def judged_original(self, *, short: bool = False) -> CompressionResult:
        """The same anew.

        Args:
            short: See `judge`.
        """
        start = time.perf_counter()
        metrics = self.judge(self.model, self._validation, short=short)
        return self._evaluation(1.0, count_parameters(self.model), self._flops, metrics, start)

    def __call__(self, x: ArrayLike) -> float:
        """The objective at a vector of ratios."""
        return self.evaluate(np.asarray(x, dtype=float).tolist()).objective

    def evaluate(self, ratios: Ratios, seed: int | None = None) -> CompressionResult:
        """Compress, train and judge.

        Args:
            ratios: See `CompressionPlan.ratios`.
            seed: Seed of the training, by default that of the problem.

        Raises:
            DivergedError: The training diverged.
        """
        return self.compress(ratios, seed)[1]

    def compress(self, ratios: Ratios, seed: int | None = None) -> tuple[CompressedModel, CompressionResult]:
        """As `evaluate`, and also the model: materialised, with `save_pretrained`."""
        start = time.perf_counter()
        chosen = self.plan.ratios(ratios)
        model = split_layers(self.model, self.plan, chosen, self.method.pruning.keep, self._factors)
        finetune(
            model,
            self.task,
            self._train,
            self.method.training,
            self.method.pruning,
            seed=self.method.seed if seed is None else seed,
            device=self.device,
        )
        materialise_layers(model)
        return self.judged(model, chosen, self.method.pruning.keep, start)

    def judged(
        self,
        model: nn.Module,
        ratios: dict[str, float],
        keep: float,
        start: float,
        *,
        short: bool = False,
        int8: bool = False,
    ) -> tuple[CompressedModel, CompressionResult]:
        """A model whose layers are in their final form, with its structure, and how small and how good it is.

        Args:
            model: The model.
            ratios: The ratio of each layer by name.
            keep: The share of rows that was to be kept.
            start: When the work on it began, by `time.perf_counter`.
            short: See `judge`.
            int8: Whether its layers are rounded to eight bits.
        """
        structure = Structure.of(model, self.plan, ratios, keep)
        made = cast(CompressedModel, as_compressed(model.eval(), structure))
        made = eight_bits(made) if int8 else made
        metrics = self.judge(made, self._validation, short=short)
        made.compression = replace(made.compression, metrics=metrics)
        others = count_parameters(self.model) - self.plan.parameters
        flops = count_flops(model, self._example)
        evaluation = self._evaluation(
            structure.parameters / self.plan.parameters, others + structure.parameters, flops, metrics, start
        )
        return made, evaluation

    def judge(self, model: nn.Module, split: Split | None = None, *, short: bool = False) -> dict[str, float]:
        """The metrics of a model on a split, by default on the test examples.

        Args:
            model: The model.
            split: The examples.
            short: Whether texts are read without the padding that all of a batch have, which is quicker, and the same
                but for rounding.

        Raises:
            ValueError: There are no test examples.
        """
        split = self.data.test if split is None else split
        if split is None:
            raise ValueError("the data has no test examples; give it some, or give a split.")
        precision = self.method.training.precision
        return evaluate(model, self.task, split, device=self.device, precision=precision, short=short)

    def _evaluation(
        self, size: float, parameters: int, flops: int, metrics: dict[str, float], start: float
    ) -> CompressionResult:
        error = 1 - metrics[self.task.metric]
        return CompressionResult(
            objective=self.method.weight * size + error,
            size=size,
            error=error,
            parameters=parameters,
            flops=flops,
            metrics=metrics,
            seconds=time.perf_counter() - start,
        )

    @cached_property
    def _factors(self) -> dict[str, Factors]:
        """The decomposition of each layer, which is the same for every point."""
        return factors_of(self.model, self.plan)

    @cached_property
    def _example(self) -> dict[str, torch.Tensor]:
        return self.task.example(self.data)

    @cached_property
    def _flops(self) -> int:
        return count_flops(self.model, self._example)


def split_layers(
    model: nn.Module,
    plan: CompressionPlan,
    ratios: Mapping[str, float],
    keep: float,
    factors: Mapping[str, Factors],
) -> nn.Module:
    """A copy of a model with its layers in two parts, to be trained while rows of the second are pruned.

    Args:
        model: The model.
        plan: Its plan.
        ratios: The ratio of each layer by name.
        keep: The share of rows that will be kept; a layer that would be no smaller stays as it is.
        factors: The decomposition of each layer by name.
    """
    made = copy.deepcopy(model)
    for layer in plan.layers:
        ratio = ratios[layer.name]
        if not layer.stays(ratio, keep):
            module = LoSparseLinear.from_linear(made.get_submodule(layer.name), ratio, factors[layer.name])
            made.set_submodule(layer.name, module)
    return made


def materialise_layers(model: nn.Module) -> None:
    """Give the layers that are in two parts their final form, in place."""
    for name, module in list(model.named_modules()):
        if isinstance(module, LoSparseLinear):
            model.set_submodule(name, module.materialise())


def torch_device(device: str) -> torch.device:
    """Where to compute, from `"auto"`, `"cpu"` or `"cuda"`.

    Raises:
        ValueError: A GPU was asked for, and there is none.
    """
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device is 'cuda', but torch sees no GPU; use 'cpu', or 'auto' for whatever there is.")
    return torch.device("cuda" if device != "cpu" and torch.cuda.is_available() else "cpu")


def uniform_levels(count: int, bounds: tuple[float, float] = (0.05, 0.95)) -> Sequence[float]:
    """Ratios at equal distances from the lowest to the highest, to be given to all layers alike."""
    levels: list[float] = np.linspace(*bounds, count).tolist()
    return levels

"""Compression to a size without a search: what each layer is worth is measured once, and the size is spent by it.

Nothing is random but the examples and, if it is asked for, the training afterwards.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from betabo.compress.allocation import CAUTIONS, allocate, uniform_ratio
from betabo.compress.batches import short_batches
from betabo.compress.figures import ModelFigures, figures_of, int8_model
from betabo.compress.finish import write_model
from betabo.compress.layers import Factors
from betabo.compress.preparation import write_json
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.sensitivity import Sensitivities, mean_loss, measure_sensitivities
from betabo.compress.store import CompressedModel
from betabo.compress.training import finetune
from betabo.compress.whitening import factors_of
from betabo.compress.without_training import truncate

EXAMPLES = 256
"""Training examples that layers are decomposed for, and that their sensitivities are measured on."""

SIZES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Sizes of a front."""

SENSITIVITIES_FILE = "sensitivities.json"
FRONT_FILE = "front.json"
_BATCH = 32  # examples of a forward pass, which a small machine has the memory for
_HALVINGS = 6  # of the range of sizes, when the smallest good one is looked for: to a sixty-fourth


@dataclass(frozen=True)
class SizedModel:
    """A compression to a size.

    Attributes:
        target: The size that was asked for.
        ratios: The ratio of each coordinate.
        result: How small and how good it is.
        model: The model; None if it was read from a file.
    """

    target: float
    ratios: Mapping[str, float]
    result: CompressionResult
    model: CompressedModel | None = None

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types, without the model."""
        return {"target": self.target, "ratios": dict(self.ratios), "result": self.result.to_json()}


class CompressionBySize:
    """Compressions of a model to any size.

    Args:
        problem: The model, its task and its data.
        out: Folder where sensitivities are kept and models are stored; None to keep nothing.
        examples: Training examples to decompose for and to measure sensitivities on.
        steps: Steps of training after compression, with the problem's batch and rate.
        on_progress: Called with the number of coordinates whose sensitivity is measured, and of all.

    Example:
        >>> sized = CompressionBySize(problem, "compressed")  # doctest: +SKIP
        >>> small = sized.at(0.3)  # doctest: +SKIP
        >>> small.result.metrics  # doctest: +SKIP
        >>> sized.store(small)  # doctest: +SKIP
    """

    def __init__(
        self,
        problem: CompressionProblem,
        out: str | Path | None = None,
        *,
        examples: int = EXAMPLES,
        steps: int = 0,
        on_progress: Callable[[int, int], None] | None = None,
    ) -> None:
        for name, value, least in (("examples", examples, 1), ("steps", steps, 0)):
            if value < least:
                raise ValueError(f"{name} is {value!r}, expected at least {least}.")
        self.problem, self.steps = problem, steps
        self.out = None if out is None else Path(out)
        self._examples, self._on_progress = examples, on_progress

    @cached_property
    def factors(self) -> dict[str, Factors]:
        """The decomposition of each layer, the best for its outputs."""
        inputs = [self.problem.task.inputs(batch) for batch in self._batches]
        return factors_of(self.problem.model, self.problem.plan, inputs)

    @cached_property
    def sensitivities(self) -> Sensitivities:
        """What each coordinate is worth: read from the folder if it is known there, else measured and kept."""
        path = None if self.out is None else self.out / SENSITIVITIES_FILE
        key = self._key()
        if path is not None and path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            if stored["key"] == key:
                return Sensitivities.from_json(stored)
        problem = self.problem
        found = measure_sensitivities(
            problem.model, problem.task, problem.plan, self.factors, self._batches, progress=self._on_progress
        )
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"key": key, **found.to_json()})
        return found

    def at(self, size: float) -> SizedModel:
        """The compression to a size.

        Sensitivities are estimates. So a few designs compete, which believe more or less of them, and one ratio for all
        layers: the one with the lowest loss on training examples on which nothing was measured is taken.

        Args:
            size: Parameters of the layers, as a share of what they were; at most this much is left.

        Raises:
            ValueError: It cannot be reached; the message has the smallest size that can be.
        """
        return self.made(size, self._best_design(size))

    def uniform(self, size: float) -> SizedModel:
        """The compression to a size with one ratio for all layers."""
        return self.made(size, self._one_ratio(size))

    def made(self, size: float, ratios: Mapping[str, float]) -> SizedModel:
        """The compression with these ratios."""
        start, problem = time.perf_counter(), self.problem
        chosen = problem.plan.ratios(dict(ratios))
        model = truncate(problem.model, problem.plan, chosen, 0.0, self.factors)
        if self.steps:
            training = replace(problem.method.training, steps=self.steps)
            finetune(
                model,
                problem.task,
                problem.data.train,
                training,
                seed=problem.method.seed,
                device=problem.device,
                short=True,
            )
        made, result = problem.judged(model, chosen, 0.0, start, short=True)
        return SizedModel(size, dict(ratios), result, made)

    def front(self, sizes: Sequence[float] = SIZES) -> list[SizedModel]:
        """The compressions to several sizes, those that can be reached, without their models."""
        found = []
        for size in sorted(sizes):
            try:
                ratios = self._best_design(size)
            except ValueError:
                continue
            found.append(replace(self.made(size, ratios), model=None))
        return found

    def within(self, drop: float) -> SizedModel:
        """The smallest compression whose metric on the validation examples falls by no more than this.

        The sizes between the smallest and the whole are halved a few times, as if the metric only fell with the size.

        Args:
            drop: How much the main metric may fall, such as 0.01 for one point of a hundred.
        """
        if drop < 0:
            raise ValueError(f"the largest drop is {drop!r}, expected at least 0.")
        allowed = self.problem.original.error + drop
        plan = self.problem.plan
        low, high = plan.size(self.problem.method.bounds[0], 0.0) / plan.parameters, 1.0
        best: SizedModel | None = None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tried = self.at(middle)
            if tried.result.error <= allowed + 1e-12:
                high, best = middle, tried
            else:
                low = middle
        return self.at(1.0) if best is None else best

    def table(self, chosen: SizedModel) -> dict[str, ModelFigures]:
        """The original, the chosen compression, one ratio for all layers, and eight bits where they can be had."""
        problem = self.problem
        models = {
            "original": problem.model,
            "compressed": self._model_of(chosen),
            "one ratio": self._model_of(self.uniform(chosen.result.size)),
        }
        found = {name: figures_of(problem, model) for name, model in models.items()}
        if problem.device.type == "cpu":
            found["int8"] = figures_of(problem, int8_model(problem.model), like=problem.model)
        return found

    def store(
        self, chosen: SizedModel, out: str | Path | None = None, about: Mapping[str, Any] | None = None
    ) -> dict[str, ModelFigures]:
        """Put a compression into a folder, with `summary.json`.

        Args:
            chosen: The compression.
            out: The folder; None for that of the sensitivities.
            about: What else the summary says, of plain JSON types.

        Returns:
            The table of it and its alternatives.
        """
        folder = self.out if out is None else Path(out)
        if folder is None:
            raise ValueError("there is no folder to store the model in; give one as `out`.")
        table = self.table(chosen)
        summary = {
            **(about or {}),
            **chosen.to_json(),
            "steps": self.steps,
            "table": {name: figures.to_json() for name, figures in table.items()},
        }
        write_model(self._model_of(chosen), folder, summary, getattr(self.problem.task, "tokenizer", None))
        return table

    def _model_of(self, chosen: SizedModel) -> CompressedModel:
        model = self.made(chosen.target, chosen.ratios).model if chosen.model is None else chosen.model
        assert model is not None
        return model

    def _best_design(self, size: float) -> dict[str, float]:
        plan, bounds = self.problem.plan, self.problem.method.bounds
        designs = [allocate(plan, self.sensitivities, size, bounds, caution) for caution in CAUTIONS]
        designs.append(self._one_ratio(size))

        def loss(ratios: dict[str, float]) -> float:
            model = truncate(self.problem.model, plan, plan.ratios(ratios), 0.0, self.factors)
            return mean_loss(model, self.problem.task, self._other_batches)

        return min(designs, key=loss)

    def _one_ratio(self, size: float) -> dict[str, float]:
        return dict.fromkeys(self.problem.plan.coordinates, uniform_ratio(self.problem.plan, size))

    @cached_property
    def _batches(self) -> list[dict[str, Tensor]]:
        """The examples that layers are decomposed for and that sensitivities are measured on."""
        return self._chosen(slice(0, self._examples))

    @cached_property
    def _other_batches(self) -> list[dict[str, Tensor]]:
        """As many others; the same if there are too few."""
        others = slice(self._examples, 2 * self._examples)
        return self._chosen(others) if len(self.problem.data.train) >= others.stop else self._batches

    def _chosen(self, part: slice) -> list[dict[str, Tensor]]:
        train = self.problem.data.train
        order = torch.randperm(len(train), generator=torch.Generator().manual_seed(self.problem.method.seed))
        split = train.subset(order[part].sort().values)
        return list(short_batches(split.to(self.problem.device), _BATCH)[1])

    def _key(self) -> str:
        """What sensitivities depend on: the weights, the coordinates and the examples."""
        digest = hashlib.sha256(json.dumps(list(self.problem.plan.coordinates)).encode())
        tensors = [*self.problem.model.state_dict().values(), *(t for batch in self._batches for t in batch.values())]
        for tensor in tensors:
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]


def write_front(path: Path, front: Sequence[SizedModel], about: Mapping[str, Any]) -> None:
    """Write the points of a front, with what it is of, of plain JSON types."""
    write_json(path, {"about": about, "points": [point.to_json() for point in front]})


def read_front(path: Path) -> tuple[list[SizedModel], dict[str, Any]]:
    """The points that `write_front` wrote, and what they are of.

    Raises:
        ValueError: There are none, or they are damaged.
    """
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected the folder of `betabo compress --front`.")
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        points = [SizedModel(p["target"], p["ratios"], CompressionResult(**p["result"])) for p in stored["points"]]
        return points, dict(stored["about"])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); make it again.") from error


def largest_within(front: Sequence[SizedModel], size: float) -> SizedModel:
    """The largest point of a front that is not larger than a size.

    Raises:
        ValueError: All are larger.
    """
    fitting = [point for point in front if point.result.size <= size]
    if not fitting:
        least = min((point.result.size for point in front), default=1.0)
        raise ValueError(f"the size is {size:g}, but the smallest point of the front has {least:.4f}.")
    return max(fitting, key=lambda point: point.result.size)

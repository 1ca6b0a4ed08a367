"""Compression to a size without a search: what each layer is worth is measured once, and the size is spent by it.

Nothing is random but the examples and, if it is asked for, the training afterwards.
"""

from __future__ import annotations

import copy
import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn

from betabo.compress.allocation import CAUTIONS, allocate, check_target, spend, uniform_ratio
from betabo.compress.batches import short_batches
from betabo.compress.counting import measure_latencies
from betabo.compress.figures import ModelFigures, figures_of, int8_model, table_rows
from betabo.compress.finish import write_model
from betabo.compress.front import FRONT_FILE, SizedModel, read_front
from betabo.compress.imitation import DIVERGENCE, Imitation, drawn_loss, with_reference
from betabo.compress.int8 import evened
from betabo.compress.layers import Factors
from betabo.compress.page import CompressionPage
from betabo.compress.preparation import write_json
from betabo.compress.problem import CompressionProblem, materialise_layers, split_layers
from betabo.compress.refinement import refined_designs
from betabo.compress.sensitivity import Sensitivities, mean_loss, measure_sensitivities
from betabo.compress.settings import EXAMPLES
from betabo.compress.store import CompressedModel
from betabo.compress.timing import layer_costs
from betabo.compress.training import finetune
from betabo.compress.whitening import factors_of, gradient_moments
from betabo.compress.without_training import eight_bits, truncate

if TYPE_CHECKING:
    from betabo.compress.tasks import Split, Task

FINALISTS = 3
"""Designs of a search that are trained for a quarter of the steps, if there are any, before one is trained for all."""

SIZES = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Sizes of a front."""

SENSITIVITIES_FILE = "sensitivities.json"
_BATCH = {"cpu": 32, "cuda": 256}  # examples of a forward pass, which a small machine has the memory for
_HALVINGS = 6  # of the range of sizes, when the smallest good one is looked for: to a sixty-fourth
_TIMINGS = 5  # whole models that are timed when a latency is looked for


class CompressionBySize:
    """Compressions of a model to any size.

    Args:
        problem: The model, its task and its data.
        out: Folder where sensitivities are kept and models are stored; None to keep nothing.
        examples: Training examples to decompose for and to measure sensitivities on.
        steps: Steps of training after compression, for `goal`, with the problem's batch and rate.
        keep: Share of the rows that each layer keeps beside its low-rank part. They are what that part leaves out:
            those that give the largest outputs, or with steps those that training keeps.
        int8: Whether the layers are rounded to eight bits in the end, on top of everything.
        search: Designs that a search looks at before one is taken, beside a few fixed ones, see `refined_designs`.
        on_progress: Called with the number of coordinates whose sensitivity is measured, and of all.
        on_loss: Called now and then in training with the number of steps done and the loss.

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
        keep: float = 0.0,
        int8: bool = False,
        search: int = 0,
        on_progress: Callable[[int, int], None] | None = None,
        on_loss: Callable[[int, float], None] | None = None,
    ) -> None:
        for name, value, least in (("examples", examples, 1), ("steps", steps, 0), ("search", search, 0)):
            if value < least:
                raise ValueError(f"{name} is {value!r}, expected at least {least}.")
        if not 0 <= keep < 1:
            raise ValueError(f"keep is {keep!r}, expected a share of the rows from 0 to less than 1.")
        self.problem, self.steps, self.keep, self.int8, self.search = problem, steps, keep, int8, search
        self.out = None if out is None else Path(out)
        self._examples, self._on_progress, self._on_loss = examples, on_progress, on_loss

    @cached_property
    def factors(self) -> dict[str, Factors]:
        """The decomposition of each layer, the best for those of its outputs that the answers depend on."""
        model, plan, task = self.problem.model, self.problem.plan, self.problem.task
        generator = torch.Generator().manual_seed(self.problem.method.seed)

        def loss(batch: dict[str, Tensor]) -> Tensor:
            return drawn_loss(task.answers(model, batch), generator)

        gradients = gradient_moments(model, plan, self._batches, loss)
        return factors_of(model, plan, [task.inputs(batch) for batch in self._batches], gradients)

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
            problem.model, self.goal, problem.plan, self.factors, self._batches, progress=self._on_progress
        )
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, {"key": key, **found.to_json()})
        return found

    @cached_property
    def goal(self) -> Task | Imitation:
        """What is measured on examples, and trained for: to answer as the original does.

        Where an answer is one of very many, as in language modelling, it is the task itself: the answers of the
        original would take too much memory.
        """
        task = self.problem.task
        return Imitation(task) if task.has_few_answers else task

    def at(self, size: float) -> SizedModel:
        """The compression to a size.

        Sensitivities are estimates. So a few designs compete, which believe more or less of them, and one ratio for all
        layers: the one with the lowest loss on training examples on which nothing was measured is taken.

        Args:
            size: Parameters of the layers, as a share of what they were; at most this much is left.

        Raises:
            ValueError: It cannot be reached; the message has the smallest size that can be.
        """
        check_target(self.problem.plan, size, self.problem.method.bounds, self.keep)
        return self.made(size, self._best_design(size))

    def uniform(self, size: float) -> SizedModel:
        """The compression to a size with one ratio for all layers."""
        return self.made(size, self._one_ratio(size))

    def made(self, size: float, ratios: Mapping[str, float]) -> SizedModel:
        """The compression with these ratios."""
        start, problem = time.perf_counter(), self.problem
        chosen = problem.plan.ratios(dict(ratios))
        losses: list[float] = []
        if self.steps:
            model = split_layers(problem.model, problem.plan, chosen, self.keep, self.factors) if self.keep else None
            model = self._truncated(ratios) if model is None else model
            losses = finetune(
                model,
                self.goal,
                self._training_examples,
                replace(problem.method.training, steps=self.steps),
                replace(problem.method.pruning, keep=self.keep) if self.keep else None,
                seed=problem.method.seed,
                device=problem.device,
                progress=self._on_loss,
                short=True,
            )
            materialise_layers(model)
        else:
            model = self._truncated(ratios)
        if self.int8:
            model = evened(model, [problem.task.inputs(batch) for batch in self._batches])
        made, result = problem.judged(model, chosen, self.keep, start, short=True, int8=self.int8)
        return SizedModel(size, dict(ratios), result, losses, made)

    def front(
        self,
        sizes: Sequence[float] = SIZES,
        on_point: Callable[[SizedModel], None] | None = None,
        known: Sequence[SizedModel] = (),
    ) -> list[SizedModel]:
        """The compressions to several sizes, those that can be reached, without their models.

        Args:
            sizes: The sizes.
            on_point: Called with each as soon as it is there.
            known: Those that were made before, which are not made again.
        """
        found: list[SizedModel] = []
        before = {point.target: point for point in known}
        smallest = self.problem.plan.size(self.problem.method.bounds[0], self.keep)
        for size in sorted(sizes):
            if smallest <= size * self.problem.plan.parameters:
                found.append(before[size] if size in before else replace(self.at(size), model=None))
                if on_point is not None:
                    on_point(found[-1])
        return found

    def within(self, drop: float) -> SizedModel:
        """The smallest compression whose metric on the validation examples falls by no more than this.

        The sizes between the smallest and the whole are halved a few times, as if the metric only fell with the size.

        Args:
            drop: How much the main metric may fall, such as 0.01 for one point of a hundred; of a language model, what
                the perplexity may rise by, as a share.
        """
        if drop < 0:
            raise ValueError(f"the largest drop is {drop!r}, expected at least 0.")
        plan, task, before = self.problem.plan, self.problem.task, self.problem.original.metrics
        low, high = plan.size(self.problem.method.bounds[0], self.keep) / plan.parameters, 1.0
        best: SizedModel | None = None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            tried = self.at(middle)
            if task.drop(before, tried.result.metrics) <= drop + 1e-12:
                high, best = middle, tried
            else:
                low = middle
        return self.at(1.0) if best is None else best

    def at_latency(self, share: float) -> SizedModel:
        """The compression that loses least and takes at most a share of the original's time for one example.

        Each kind of layer is timed, and seconds are spent as parameters are in `at`: a layer that is not quicker as two
        products stays as it is. Then whole models are timed beside the original.

        Args:
            share: Of the latency of the original, above 0 and less than 1.

        Raises:
            ValueError: Nothing is as quick; the message has what was reached.
        """
        if not 0 < share < 1:
            raise ValueError(f"the latency is {share!r} of the original's, expected a share above 0 and less than 1.")
        problem, plan = self.problem, self.problem.plan
        example, bounds = problem.task.example(problem.data), problem.method.bounds
        cost = layer_costs(problem.model, plan, example, keep=self.keep, int8=self.int8)

        def designed(budget: float) -> dict[str, float]:
            return self._best_of([spend(plan, self.sensitivities, budget, cost, bounds, part) for part in CAUTIONS])

        def seconds(ratios: Mapping[str, float]) -> float:
            return sum(cost(layer, ratios[layer.group]) for layer in plan.layers)

        def measured(ratios: Mapping[str, float]) -> float:
            if not self.int8 and all(ratio == 1.0 for ratio in ratios.values()):
                return 1.0  # the original
            made = self._truncated(ratios)
            before, after = measure_latencies([problem.model, eight_bits(made) if self.int8 else made], example)
            return after.median / before.median

        quickest = spend(plan, self.sensitivities, 0.0, cost, bounds)
        least = measured(quickest)
        best = quickest if least <= share else None
        low, high = seconds(quickest), seconds(dict.fromkeys(plan.coordinates, 1.0))
        budget = (
            high if self.int8 else (low + high) / 2
        )  # with all its layers whole it is the original, but for eight bits
        for _ in range(_TIMINGS):
            tried = designed(budget)
            found = measured(tried)
            least = min(least, found)
            if found <= share:
                best, low = tried, budget
            else:
                high = budget
            budget = (low + high) / 2
        if best is None:
            raise ValueError(
                f"the latency is to be {share:g} of the original's, but the least that was measured is {least:.2f}."
            )
        return self.made(plan.size(plan.ratios(best), self.keep) / plan.parameters, best)

    def table(self, chosen: SizedModel) -> dict[str, ModelFigures]:
        """The original, the chosen compression, one ratio for all layers, and eight bits where they can be had."""
        problem = self.problem
        uniform = self.uniform(chosen.result.size)
        bits = ", int8" if self.int8 else ""
        made = {f"compressed{bits}": chosen, f"one ratio{bits}": uniform}
        models = {"original": problem.model, **{name: self._model_of(point) for name, point in made.items()}}
        counted: dict[str, nn.Module] = {}
        if self.int8:
            counted = {name: self._truncated(point.ratios) for name, point in made.items()}
        if problem.device.type == "cpu":
            models["int8"], counted["int8"] = int8_model(problem.model), problem.model
        return figures_of(problem, models, counted)

    def store(
        self, chosen: SizedModel, out: str | Path | None = None, about: Mapping[str, Any] | None = None
    ) -> dict[str, ModelFigures]:
        """Put a compression into a folder, with `summary.json`, its card and its report.

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
            "keep": self.keep,
            "int8": self.int8,
            "table": {name: figures.to_json() for name, figures in table.items()},
        }
        model, rows = self._model_of(chosen), table_rows(table, str(self.problem.device))
        write_model(self.problem, model, folder, summary, rows, self._page(chosen, model, table, rows).html())
        return table

    def _page(
        self,
        chosen: SizedModel,
        model: CompressedModel,
        table: Mapping[str, ModelFigures],
        rows: Sequence[Sequence[str]],
    ) -> CompressionPage:
        problem, task = self.problem, self.problem.task
        known = self.out is not None and (self.out / FRONT_FILE).is_file()
        front = read_front(self.out / FRONT_FILE)[0] if self.out is not None and known else []
        return CompressionPage(
            title=f"{type(model).__name__} on {task.name}",
            plan=problem.plan,
            structure=model.compression,
            table=rows,
            badness=task.badness(chosen.result.metrics)[0],
            points={name: (figures.size, task.badness(figures.validation)[1]) for name, figures in table.items()},
            front=[(point.result.size, task.badness(point.result.metrics)[1]) for point in front],
            sensitivities=self.sensitivities,
            measured=DIVERGENCE if isinstance(self.goal, Imitation) else "the loss",
            losses=chosen.losses,
        )

    def _model_of(self, chosen: SizedModel) -> CompressedModel:
        model = self.made(chosen.target, chosen.ratios).model if chosen.model is None else chosen.model
        assert model is not None
        return model

    def _best_design(self, size: float) -> dict[str, float]:
        plan, bounds = self.problem.plan, self.problem.method.bounds

        def spent(sensitivities: Sensitivities, caution: float) -> dict[str, float]:
            return allocate(plan, sensitivities, size, bounds, caution, self.keep)

        designs = [spent(self.sensitivities, caution) for caution in CAUTIONS]
        if self.search:
            seed = self.problem.method.seed
            designs += refined_designs(plan, self.sensitivities, spent, self._loss, self.search, seed=seed)
        designs.append(self._one_ratio(size))
        return self._best_of(designs)

    def _best_of(self, designs: Sequence[dict[str, float]]) -> dict[str, float]:
        """The design with the lowest loss on examples on which nothing was measured.

        After a search the best few are trained for a quarter of the steps first.
        """
        if not (self.search and self.steps):
            return min(designs, key=self._loss)
        brief = copy.copy(self)
        brief.steps, brief.int8 = math.ceil(self.steps / 4), False

        def loss(ratios: dict[str, float]) -> float:
            return mean_loss(brief._model_of(brief.made(1.0, ratios)), self.goal, self._other_batches)

        return min(sorted(designs, key=self._loss)[:FINALISTS], key=loss)

    def _loss(self, ratios: Mapping[str, float]) -> float:
        return mean_loss(self._truncated(ratios), self.goal, self._other_batches)

    def _truncated(self, ratios: Mapping[str, float]) -> CompressedModel:
        problem = self.problem
        chosen = problem.plan.ratios(dict(ratios))
        return cast(CompressedModel, truncate(problem.model, problem.plan, chosen, self.keep, self.factors))

    def _one_ratio(self, size: float) -> dict[str, float]:
        plan = self.problem.plan
        return dict.fromkeys(plan.coordinates, uniform_ratio(plan, size, self.keep))

    @cached_property
    def _batches(self) -> list[dict[str, Tensor]]:
        """The examples that layers are decomposed for and that sensitivities are measured on."""
        return self._chosen(slice(0, self._examples))

    @cached_property
    def _other_batches(self) -> list[dict[str, Tensor]]:
        """As many others; the same if there are too few."""
        others = slice(self._examples, 2 * self._examples)
        return self._chosen(others) if len(self.problem.data.train) >= others.stop else self._batches

    @cached_property
    def _training_examples(self) -> Split:
        """No more than training looks at."""
        return self._some(slice(0, self.steps * self.problem.method.training.batch))

    def _chosen(self, part: slice) -> list[dict[str, Tensor]]:
        return list(short_batches(self._some(part), _BATCH[self.problem.device.type])[1])

    def _some(self, part: slice) -> Split:
        """Some training examples, drawn at random, with what the goal needs beside them."""
        problem = self.problem
        order = torch.randperm(len(problem.data.train), generator=torch.Generator().manual_seed(problem.method.seed))
        split = problem.data.train.subset(order[part].sort().values).to(problem.device)
        return with_reference(problem.model, problem.task, split) if isinstance(self.goal, Imitation) else split

    def _key(self) -> str:
        """What sensitivities depend on: the weights, the coordinates and the examples."""
        digest = hashlib.sha256(json.dumps(list(self.problem.plan.coordinates)).encode())
        tensors = [*self.problem.model.state_dict().values(), *(t for batch in self._batches for t in batch.values())]
        for tensor in tensors:
            digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]

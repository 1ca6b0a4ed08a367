"""Compressions to a size compared with all rivals, on packed models and tasks, by several processes that share a GPU.

    python examples/compression/packing.py MODEL GLUE SQUADSHIFTS packed
    python examples/compression/campaign.py packed --out out/campaign --seconds 500
    python examples/compression/campaign.py packed --out out/campaign --parts paper kernels --known out/campaign

The parts are `compare` (each way of compressing, three sizes), `search` (the paper's search, led to each size), `paper`
(the paper's search at the paper's length), `kernels` (kernels in the search that begins from sensitivities) and `parts`
(our way with one thing changed). Then `latency` times what was found, on a CPU. A result is a line of a file in --out.
With --known the results of an earlier run are not made again. What the ways and numbers of this file mean is said in
docs/compression.md.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).parent))
from packing import unpack_data, unpack_model

from betabo.compress.allocation import uniform_ratio
from betabo.compress.batches import shortened
from betabo.compress.by_size import CompressionBySize
from betabo.compress.counting import measure_latencies
from betabo.compress.figures import int8_model
from betabo.compress.imitation import Imitation, drawn_loss
from betabo.compress.int8 import Int8Linear, evened, int8_layer
from betabo.compress.layers import weight_of
from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import load_model
from betabo.compress.problem import CompressionProblem
from betabo.compress.refinement import refined_designs
from betabo.compress.sensitivity import mean_loss
from betabo.compress.settings import CompressionMethod, Precision, Pruning, Training
from betabo.compress.tasks import Split, Task, TaskData, task_by_name
from betabo.compress.training import DivergedError, evaluate, finetune
from betabo.compress.whitening import factors_of, gradient_moments, input_moments, whitened_factors
from betabo.compress.without_training import compress_model, eight_bits

PARTS = ("compare", "search", "paper", "kernels", "parts")
"""And `latency`, which needs the results of the others."""
TIMED = ("ours; trained", "one ratio, inputs; trained on labels", "LoSparse; trained on labels")
PAIRS = ("sst2", "mrpc", "squadshifts")
SIZES = (0.3, 0.15, 0.5)
SEEDS = 3
DENSE_STEPS = {"sst2": 1000, "mrpc": 500, "squadshifts": 1600}
"""Training of the original, from the weights that were packed and a new head."""
STEPS = 200
"""Training after compression, the same for every way that is trained."""
RATE, BATCH, EXAMPLES = 1e-4, 32, 256
PRECISION: dict[str, Precision] = {"sst2": "tf32", "mrpc": "tf32", "squadshifts": "bfloat16"}
"""How the GPU trains, whichever is quicker; all is judged with products of TensorFloat-32."""
LENGTHS = {"sst2": 48, "mrpc": 96, "squadshifts": 256}
"""Tokens of a text, what is longer is cut."""
KEPT = 0.05
"""Share of the rows beside the low-rank part: in our way with rows, and in the paper's search to a size."""
LOW_RANK = 0.05
"""Ratio of the low-rank part in LoSparse as published, whatever the size; the sparse rows take the rest."""
TRIALS, STARTING_POINTS, TRIAL_STEPS = 15, 5, 20
"""The paper's search to a size, and the steps of a trial; the best is trained for `STEPS` like all others."""
EXCESS = 10.0
"""What a size above the wanted one costs in errors in that search."""
SEARCH_KERNELS = ("matern", "beta-paper")
PAPER_TASK, PAPER_KERNELS, PAPER_TRIALS = "sst2", ("beta-paper", "matern", "rbf"), 35
PAPER_TRAINING = Training(steps=128, batch=100, rate=5e-4, precision="tf32")
"""12,800 examples a trial, as for GPT-2 in the paper; its other models have 25,600."""
NARROW = {"hidden_size": 128, "num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size": 512}
"""The model of the paper's search at the paper's length, trained from scratch."""
PAPER_MORE = ("spectral-mixture", "newton-girard", "cylindrical")
GRACE = 25.0
"""Seconds that a search may go on after the end."""
DAMPINGS = (0.01, 1.0)
"""Other dampings of the gradients, with one ratio for all and no training."""
DESIGNS, DESIGN_STARTS = 30, 8
DESIGN_KERNELS = ("beta-additive", "beta-paper", "matern", "rbf")


@dataclass(frozen=True)
class Job:
    """A piece of work that one process does.

    Attributes:
        part: One of `PARTS`.
        pair: Which task MiniLM was trained for.
        seed: Seed of the training of the original, of the examples and of all that follows.
        size: The size that is asked for, if there is one.
        kernel: The kernel of a search, or `"uniform"`.
    """

    part: str
    pair: str
    seed: int
    size: float = 0.0
    kernel: str = ""

    @property
    def name(self) -> str:
        """A name for files."""
        size = f"{self.size:g}" if self.size else ""
        return "-".join(filter(None, (self.part, self.pair, f"s{self.seed}", size, self.kernel)))


def jobs(parts: Sequence[str], pairs: Sequence[str], sizes: Sequence[float], seeds: int) -> Iterator[Job]:
    """All jobs, the most important ones first."""
    every = range(seeds)
    if "compare" in parts:
        longest = [pair for pair in pairs if pair == "squadshifts"]
        yield from (Job("compare", pair, seed) for pair, seed in product(longest, every))
        yield from (Job("compare", pair, seed) for seed in every for pair in pairs if pair not in longest)
    for number, size in enumerate(sizes):
        if "search" in parts:
            yield from (
                Job("search", pair, seed, size, kernel) for seed, pair, kernel in product(every, pairs, SEARCH_KERNELS)
            )
        if number == 0 and "paper" in parts:
            kernels = ("uniform", *PAPER_KERNELS)
            yield from (Job("paper", PAPER_TASK, seed, kernel=kernel) for seed, kernel in product(every, kernels))
        if number == 0 and "kernels" in parts:
            yield from (Job("kernels", pair, seed, size) for size, seed, pair in product(sizes[:2], every, pairs))
    if "paper" in parts:
        yield from (Job("paper", PAPER_TASK, seed, kernel=kernel) for seed, kernel in product(every, PAPER_MORE))
    if "parts" in parts:
        yield from (Job("parts", pair, seed, size) for size, seed, pair in product(sizes, every, pairs))
    if "latency" in parts:
        yield from (Job("latency", pair, 0) for pair in pairs)


class Worker:
    """One process: claims jobs, does them, and writes a line for each result."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.packed, self.scratch, self.tiny = arguments.packed, arguments.scratch, arguments.tiny
        self.device = arguments.device
        self.end = arguments.end
        self.file = arguments.out / f"rows-{arguments.worker}.jsonl"
        self.rows = read_rows(arguments.known)
        self.known = {row["key"] for row in self.rows}
        self.jobs = jobs(arguments.parts, arguments.pairs, arguments.sizes, arguments.seeds)
        self.sizes = arguments.sizes

    def work(self) -> None:
        """Do jobs until the time is over or nothing is left."""
        for job in self.jobs:
            if time.time() > self.end:
                break
            if self.claimed(job.name):
                continue
            start = time.time()
            try:
                getattr(self, job.part)(job)
            except Exception:
                (self.file.parent / f"error-{job.name}.txt").write_text(traceback.format_exc(), encoding="utf-8")
                print(f"FAILED {job.name}\n{traceback.format_exc()[-1500:]}", flush=True)
            print(f"{job.name}: {time.time() - start:.0f} s", flush=True)

    def claimed(self, name: str) -> bool:
        """Whether another process has it; if not, this one has it from now on."""
        try:
            os.close(os.open(self.scratch / f"claim-{name}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return True
        return False

    def add(self, job: Job, way: str, make: Callable[[], dict[str, Any]], **more: Any) -> None:
        """Write a result down, unless it is known; nothing begins after the end."""
        facts = {"part": job.part, "pair": job.pair, "seed": job.seed, "way": way, **more}
        key = "/".join(str(value) for value in facts.values())
        if key in self.known or time.time() > self.end:
            return
        start = time.perf_counter()
        try:
            found = make()
        except (DivergedError, torch.cuda.OutOfMemoryError) as error:
            found = {"failed": f"{type(error).__name__}: {error}"}
        line = json.dumps({"key": key, **facts, **found, "seconds": round(time.perf_counter() - start, 3)})
        with self.file.open("a", encoding="utf-8") as file:
            file.write(line + "\n")

    def in_time(self) -> None:
        """See that a search does not go on long after the end."""
        if time.time() > self.end + GRACE:
            raise TimeoutError("the time is over")

    def data(self, pair: str) -> TaskData:
        """The examples of a task; few if only the code is to be tried."""
        data = cut(unpack_data(self.packed, pair), LENGTHS[pair])
        if not self.tiny:
            return data
        parts = (data.train, data.validation, data.test)
        train, validation, test = (split.subset(range(min(24, len(split)))) for split in parts)
        return TaskData(train, validation, test, data.labels)

    def original(self, job: Job, task: Task, data: TaskData) -> nn.Module:
        """The original of a pair and a seed, trained by the process that asks first."""
        folder = self.scratch / f"dense-{job.pair}-{job.seed}{'-narrow' * (job.part == 'paper')}"
        while not folder.is_dir():
            if not self.claimed(folder.name):
                try:
                    self.train(folder, job, task, data)
                except BaseException:
                    (self.scratch / f"claim-{folder.name}").unlink()
                    raise
            elif time.time() > self.end:
                raise TimeoutError(f"{folder.name} was not there in time")
            else:
                time.sleep(0.2)
        return load_model(folder, task, data).model

    def train(self, folder: Path, job: Job, task: Task, data: TaskData) -> None:
        """Train an original and store it."""
        narrow = job.part == "paper"
        start = time.perf_counter()
        source = self.scratch / f"source-{folder.name}"
        if narrow:
            write_narrow(self.packed, source, job.seed)
        else:
            unpack_model(self.packed, source)
        model = load_model(source, task, data, seed=job.seed).model.to(self.device)
        steps = 2 if self.tiny else DENSE_STEPS[job.pair]
        training = replace(PAPER_TRAINING, steps=steps) if narrow else self.training(job.pair, steps)
        finetune(model, task, data.train.to(self.device), training, seed=job.seed)
        partial_folder = folder.with_suffix(".partial")
        model.save_pretrained(partial_folder)
        partial_folder.rename(folder)
        shutil.rmtree(source)
        print(f"{folder.name}: {time.perf_counter() - start:.0f} s", flush=True)

    def problem(self, job: Job, training: Training, pruning: Pruning | None = None) -> CompressionProblem:
        """The problem of a job."""
        task, data = task_by_name(job.pair), self.data(job.pair)
        device = "cuda" if self.device == "cuda" else "cpu"
        data = data.to(device)
        method = CompressionMethod(
            training=training if not self.tiny else replace(training, steps=2, batch=4),
            pruning=Pruning() if pruning is None else pruning,
            seed=job.seed,
            device=device,
        )
        return CompressionProblem(self.original(job, task, data), task, data, method)

    def judged(
        self, problem: CompressionProblem, model: nn.Module, validation: dict[str, float] | None = None
    ) -> dict[str, Any]:
        """The metrics of a model; those on validation examples may be known."""

        def metrics(split: Split) -> dict[str, float]:
            return evaluate(model, problem.task, split, device=problem.device, precision="tf32", short=True)

        data = problem.data
        return {"validation": validation or metrics(data.validation), "test": metrics(data.test)}

    def compare(self, job: Job) -> None:
        """Every way of compressing a pair, to every size."""
        problem = self.problem(job, self.training(job.pair))
        ways = Ways(problem, 8 if self.tiny else EXAMPLES)
        self.add(job, "original", lambda: {"reached": 1.0, **self.judged(problem, problem.model)}, size=1.0)
        self.add(job, "int8", lambda: {"reached": 1.0, **self.judged(problem, rounded(problem.model))}, size=1.0)
        for size in self.sizes:
            for way, make in ways.at(size):
                self.add(job, way, partial(self.result, problem, make), size=size)

    def parts(self, job: Job) -> None:
        """Our way with one thing changed."""
        problem = self.problem(job, self.training(job.pair))
        for way, make in Ways(problem, 8 if self.tiny else EXAMPLES).parts_of_ours(job.size):
            self.add(job, way, partial(self.result, problem, make), size=job.size)

    def result(self, problem: CompressionProblem, make: Callable[[], Made]) -> dict[str, Any]:
        """What a way came to."""
        made = make()
        facts = {"reached": made.size, "steps": made.steps, "ratios": made.ratios}
        return {**facts, **self.judged(problem, made.model, made.validation)}

    def training(self, pair: str, steps: int = STEPS) -> Training:
        """Training after compression."""
        return Training(steps=steps, batch=BATCH, rate=RATE, precision=PRECISION[pair])

    def search(self, job: Job) -> None:
        """The paper's search with one kernel, led to a size, and its best trained for as long as all others."""
        problem = self.problem(job, self.training(job.pair, TRIAL_STEPS), Pruning(keep=KEPT))
        self.add(job, job.kernel, partial(self.searched, problem, job), size=job.size)

    def searched(self, problem: CompressionProblem, job: Job) -> dict[str, Any]:
        """Run a search to a size; returns its trials and what came of the best one."""
        from betabo.lab.reproduce.compression.searches import starting_points
        from betabo.optimizer import Config, Optimizer

        trials, count = (4, 3) if self.tiny else (TRIALS, STARTING_POINTS)
        config = Config(kernel=job.kernel, acquisition="ucb", starting_points=count)
        start = starting_points(problem, count, job.seed)
        optimizer = Optimizer(problem.bounds, seed=job.seed, initial=start, config=config)
        tried: list[tuple[float, float, float, list[float]]] = []
        for _ in range(trials):
            self.in_time()
            x = optimizer.ask()
            _, result = problem.compress(x.tolist())
            value = result.error + EXCESS * max(0.0, result.size - job.size)
            optimizer.tell(x, value)
            tried.append((value, result.size, result.error, x.tolist()))
        best = min(tried)
        method = replace(problem.method, training=replace(problem.method.training, steps=2 if self.tiny else STEPS))
        final = CompressionProblem(problem.model, problem.task, problem.data, method)
        model, result = final.compress(best[3])
        return {
            "reached": result.size,
            "steps": method.training.steps,
            "ratios": best[3],
            "sizes": [size for _, size, _, _ in tried],
            "errors": [error for _, _, error, _ in tried],
            **self.judged(problem, model, result.metrics),
        }

    def paper(self, job: Job) -> None:
        """The paper's search at the paper's length, size and error added up, or one ratio for all."""
        from betabo.lab.reproduce.compression.searches import SearchChoice, run_search

        problem = self.problem(job, PAPER_TRAINING)
        method, acquisition = ("uniform", "") if job.kernel == "uniform" else (job.kernel, "ucb")
        choice = SearchChoice(f"paper-{job.pair}", method, acquisition, job.seed)
        trials = 3 if self.tiny else 19 if job.kernel == "uniform" else PAPER_TRIALS

        def result() -> dict[str, Any]:
            path = self.file.parent / "searches" / f"{choice.name}.jsonl"
            records = run_search(
                problem,
                choice,
                path,
                trials=trials,
                starting_points=2 if self.tiny else STARTING_POINTS,
                progress=lambda *_: self.in_time(),
            )
            whole = self.judged(problem, problem.model)
            return {"original": whole, "trials": records}

        self.add(job, job.kernel, result)

    def kernels(self, job: Job) -> None:
        """Kernels in the search that begins from sensitivities: what loss they find, and how good the designs are."""
        problem = self.problem(job, Training(steps=0, batch=BATCH, rate=RATE, precision="tf32"))
        ways = Ways(problem, 8 if self.tiny else EXAMPLES)
        for kernel in ("none", "random", *DESIGN_KERNELS):
            self.add(job, kernel, partial(self.designed, ways, job, kernel), size=job.size)

    def latency(self, job: Job) -> None:
        """Seconds for one example on a CPU, of models that were found, which take turns; `--known` has their ratios.

        Weights do not matter here, so that nothing is trained.
        """
        task, data = task_by_name(job.pair), self.data(job.pair)
        source = self.scratch / f"packed-{job.pair}-{job.seed}"
        unpack_model(self.packed, source)
        method = CompressionMethod(training=Training(steps=0), device="cpu", seed=job.seed)
        problem = CompressionProblem(load_model(source, task, data).model, task, data, method)
        lengths = data.validation.tensors["attention_mask"].sum(1)
        example = shortened(data.validation.subset([int(lengths.argsort()[len(lengths) // 2])]).tensors)
        models: dict[tuple[str, float], nn.Module] = {
            ("original", 1.0): problem.model,
            ("int8", 1.0): int8_model(problem.model),
        }
        plan = problem.plan
        for row in self.rows:
            if (
                (row["pair"], row["seed"]) != (job.pair, job.seed)
                or "reached" not in row
                or row.get("size", 1.0) == 1.0
            ):
                continue
            if row["part"] == "compare" and row["way"] in TIMED:
                ratios = row["ratios"] or [LOW_RANK] * plan.dims
                keep = losparse_keep(plan, row["size"]) if not row["ratios"] else 0.0
                made = compress_model(problem.model, ratios, keep=keep, plan=plan)
                models[row["way"], row["size"]] = made
                if row["way"] == "ours; trained":
                    models["ours; trained; int8", row["size"]] = eight_bits(made)
            elif row["part"] == "search":
                made = compress_model(problem.model, row["ratios"], keep=KEPT, plan=plan)
                models[f"search {row['way']}", row["size"]] = made
        found = measure_latencies(list(models.values()), task.inputs(example), repeats=3 if self.tiny else 60)
        for (way, size), time_taken in zip(models, found, strict=True):
            self.add(job, way, lambda seconds=time_taken.median: {"latency": seconds}, size=size)

    def designed(self, ways: Ways, job: Job, kernel: str) -> dict[str, Any]:
        """The best design of a search with one kernel."""
        from betabo.compress.allocation import CAUTIONS, allocate
        from betabo.optimizer import Config

        sized, plan, size = ways.ours, ways.problem.plan, job.size
        losses: list[float] = []

        def loss(ratios: Mapping[str, float]) -> float:
            losses.append(sized._loss(ratios))
            return losses[-1]

        def design(sensitivities: Any, caution: float) -> dict[str, float]:
            return allocate(plan, sensitivities, size, ways.problem.method.bounds, caution)

        if kernel == "none":
            designs = [design(sized.sensitivities, caution) for caution in CAUTIONS]
            designs.append(dict.fromkeys(plan.coordinates, uniform_ratio(plan, size)))
            for ratios in designs:
                loss(ratios)
        else:
            count, starts = (4, 3) if self.tiny else (DESIGNS, DESIGN_STARTS)
            config = Config(starting_points=count if kernel == "random" else starts)
            config = config if kernel == "random" else replace(config, kernel=kernel)
            designs = refined_designs(plan, sized.sensitivities, design, loss, count, seed=job.seed, config=config)
        best = designs[losses.index(min(losses))]
        model = sized._truncated(best)
        return {
            "losses": losses,
            "fresh": mean_loss(model, sized.goal, ways.fresh),
            "reached": model.compression.parameters / plan.parameters,
            "ratios": [best[name] for name in plan.coordinates],
            **self.judged(ways.problem, model),
        }


@dataclass(frozen=True)
class Made:
    """A model that was made: what is left of it, after how many steps, its ratios, its validation metrics if known."""

    model: nn.Module
    size: float
    steps: int
    ratios: list[float]
    validation: dict[str, float] | None = None


class Ways:
    """Ways to compress a pair: ours with variants, and its rivals.

    Args:
        problem: The pair; its training is that after compression.
        examples: How many are measured on.
    """

    def __init__(self, problem: CompressionProblem, examples: int) -> None:
        self.problem, self.steps = problem, problem.method.training.steps
        self.ours = CompressionBySize(problem, examples=examples)
        self.examples = examples
        self.training_examples: dict[bool, Split] = {}

    def at(self, size: float) -> Iterator[tuple[str, Callable[[], Made]]]:
        """Names of ways to a size, and what makes them."""
        uniform = dict.fromkeys(self.problem.plan.coordinates, uniform_ratio(self.problem.plan, size))
        make = self.maker(self.ours, size, cached(partial(self.ours._best_design, size)))
        yield "ours", partial(make, 0)
        yield "ours; trained", partial(make, self.steps)
        yield "ours; int8", lambda: self.eight(make(0))
        yield "ours; trained; int8", lambda: self.eight(make(self.steps))
        for name, sized in (("inputs", self.inputs), ("plain", self.plain)):
            one = self.maker(sized, size, lambda: uniform)
            yield f"one ratio, {name}", partial(one, 0)
            yield f"one ratio, {name}; trained on labels", partial(one, self.steps, labels=True)
        yield "LoSparse; trained on labels", lambda: self.losparse(size)
        yield "magnitude", lambda: Made(pruned(self.problem, size), size, 0, [])
        yield "magnitude; trained on labels", lambda: self.magnitude(size)

    def parts_of_ours(self, size: float) -> Iterator[tuple[str, Callable[[], Made]]]:
        """Ours with one thing changed, to see what each is good for."""
        uniform = dict.fromkeys(self.problem.plan.coordinates, uniform_ratio(self.problem.plan, size))
        for name, sized in (("ours", self.ours), ("inputs, labels", self.measured_by_labels), ("inputs", self.inputs)):
            make = self.maker(sized, size, cached(partial(sized._best_design, size)))
            if name != "ours":
                yield name, partial(make, 0)
                yield f"{name}; trained", partial(make, self.steps)
            if name != "inputs":
                yield f"{name}; trained on labels", partial(make, self.steps, labels=True)
        yield "ours, rows", lambda: self.with_rows(size, 0)
        yield "ours, rows; trained", lambda: self.with_rows(size, self.steps)
        for name, sized in (("both", self.ours), ("inputs", self.inputs), ("plain", self.plain)):
            make = self.maker(sized, size, lambda: uniform)
            if name == "both":
                yield f"one ratio, {name}", partial(make, 0)
                yield f"one ratio, {name}; trained on labels", partial(make, self.steps, labels=True)
            yield f"one ratio, {name}; trained", partial(make, self.steps)
        for damping in DAMPINGS:
            yield (
                f"one ratio, both, damping {damping:g}",
                lambda damping=damping: self.made(self.damped(damping), size, uniform, 0),
            )
        make = self.maker(self.with_more, size, cached(partial(self.with_more._best_design, size)))
        yield "ours, more examples", partial(make, 0)
        yield "ours, more examples; trained", partial(make, self.steps)

    def eight(self, made: Made) -> Made:
        """The same with layers of eight bits."""
        batches = [self.problem.task.inputs(batch) for batch in self.ours._batches]
        return replace(made, model=rounded(evened(made.model, batches)), validation=None)

    def maker(
        self, sized: CompressionBySize, size: float, design: Callable[[], Mapping[str, float]]
    ) -> Callable[..., Made]:
        """What makes a compression with a design; the same training is not done twice."""
        made: dict[Any, Made] = {}

        def make(steps: int, *, labels: bool = False) -> Made:
            key = steps, labels
            if key not in made:
                made[key] = self.made(sized, size, design(), steps, labels=labels)
            return made[key]

        return make

    def made(
        self,
        sized: CompressionBySize,
        size: float,
        ratios: Mapping[str, float],
        steps: int,
        *,
        labels: bool = False,
        keep: float = 0.0,
    ) -> Made:
        """A compression with these ratios, trained on labels or for the answers of the original."""
        sized = copy.copy(sized)
        sized.steps, sized.keep = steps, keep
        sized.__dict__["goal"] = self.problem.task if labels else Imitation(self.problem.task)
        sized.__dict__.pop("_training_examples", None)
        if steps:
            if labels not in self.training_examples:
                self.training_examples[labels] = sized._training_examples
            sized.__dict__["_training_examples"] = self.training_examples[labels]
        point = sized.made(size, ratios)
        return Made(point.model, point.result.size, steps, [*map(float, ratios.values())], point.result.metrics)

    def with_rows(self, size: float, steps: int) -> Made:
        """Our way with rows beside the low-rank part."""
        sized = copy.copy(self.ours)
        sized.keep = KEPT
        return self.made(sized, size, sized._best_design(size), steps, keep=KEPT)

    @cached_property
    def inputs(self) -> CompressionBySize:
        """Decompositions for what comes out of each layer, whatever the answers depend on."""
        inputs = [self.problem.task.inputs(batch) for batch in self.ours._batches]
        return self._with(factors_of(self.problem.model, self.problem.plan, inputs))

    @cached_property
    def plain(self) -> CompressionBySize:
        """Decompositions of the weights."""
        return self._with(factors_of(self.problem.model, self.problem.plan))

    @cached_property
    def measured_by_labels(self) -> CompressionBySize:
        """The same as `inputs`, by how much the loss of the task rises."""
        sized = self._with(self.inputs.factors)
        sized.__dict__["goal"] = self.problem.task
        return sized

    @cached_property
    def fresh(self) -> list[dict[str, Tensor]]:
        """Examples on which nothing was measured or chosen."""
        part = slice(2 * self.examples, 6 * self.examples)
        return self.ours._chosen(part if len(self.problem.data.train) >= part.stop else slice(0, self.examples))

    @cached_property
    def with_more(self) -> CompressionBySize:
        """Our way with four times as many examples to measure on."""
        return CompressionBySize(self.problem, examples=4 * self.examples)

    def damped(self, damping: float) -> CompressionBySize:
        """Our decompositions with another damping of the gradients."""
        return self._with(self._factors(damping))

    @cache  # noqa: B019 - a process has few
    def _factors(self, damping: float) -> Any:
        problem, batches = self.problem, self.ours._batches
        model, plan, task = problem.model, problem.plan, problem.task
        generator = torch.Generator().manual_seed(problem.method.seed)

        def loss(batch: dict[str, Tensor]) -> Tensor:
            return drawn_loss(task.answers(model, batch), generator)

        gradients = gradient_moments(model, plan, batches, loss)
        moments = input_moments(model, plan, [task.inputs(batch) for batch in batches])
        return {
            name: whitened_factors(
                weight_of(model.get_submodule(name)), moment, gradients[name], gradient_damping=damping
            )
            for name, moment in moments.items()
        }

    def _with(self, factors: Any) -> CompressionBySize:
        sized = CompressionBySize(self.problem, examples=self.examples)
        sized.__dict__["factors"] = factors
        return sized

    def losparse(self, size: float) -> Made:
        """LoSparse as published: plain decompositions of one low ratio, and rows of all layers that compete."""
        problem, plan = self.problem, self.problem.plan
        keep = losparse_keep(plan, size)
        for _ in range(2):
            method = replace(problem.method, pruning=replace(problem.method.pruning, keep=keep, scope="global"))
            model, result = CompressionProblem(problem.model, problem.task, problem.data, method).compress(LOW_RANK)
            if result.size > 0.97 * size:
                break
            keep += size - result.size  # where a layer keeps almost all of its rows, they take less than was thought
        return Made(model, result.size, self.steps, [], result.metrics)

    def magnitude(self, size: float) -> Made:
        """The smallest weights set to zero, and the others trained."""
        problem, training = self.problem, self.problem.method.training
        model = pruned(problem, size)
        for layer in problem.plan.layers:
            model.set_submodule(layer.name, Masked(model.get_submodule(layer.name)))
        finetune(model, problem.task, problem.data.train, training, seed=problem.method.seed, short=True)
        for layer in problem.plan.layers:
            model.set_submodule(layer.name, model.get_submodule(layer.name).linear())
        return Made(model, size, self.steps, [])


class Masked(nn.Module):
    """A linear layer whose zeros stay zero in training."""

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = layer.weight, layer.bias
        self.register_buffer("mask", (layer.weight != 0).to(layer.weight.dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Apply to the last dimension."""
        return nn.functional.linear(x, self.weight * self.mask, self.bias)

    @torch.no_grad()
    def linear(self) -> nn.Linear:
        """A plain layer that does the same."""
        outputs, inputs = self.weight.shape
        made = nn.Linear(inputs, outputs, device=self.weight.device)
        made.weight.copy_(self.weight * self.mask)
        made.bias.copy_(self.bias)
        return made


def losparse_keep(plan: CompressionPlan, size: float) -> float:
    """The share of the rows that fills a size where the low-rank parts have `LOW_RANK`."""
    weights = sum(layer.outputs * layer.inputs for layer in plan.layers)
    return max(0.0, (size * plan.parameters - plan.size(LOW_RANK, 0.0)) / weights)


def write_narrow(packed: Path, out: Path, seed: int) -> None:
    """Make a folder with a small encoder of random weights and the packed vocabulary."""
    from transformers import BertConfig, BertModel

    config = json.loads((packed / "config.json").read_text(encoding="utf-8"))
    torch.manual_seed(seed)
    BertModel(BertConfig(**config | NARROW)).save_pretrained(out)


def cut(data: TaskData, length: int) -> TaskData:
    """The same examples with texts of at most some tokens."""

    def shorter(split: Split) -> Split:
        width = split.tensors["input_ids"].shape[1]
        tensors = {
            name: tensor[:, :length].contiguous() if tensor.ndim > 1 and tensor.shape[1] == width else tensor
            for name, tensor in split.tensors.items()
        }
        return Split(tensors, split.details)

    test = data.test
    return TaskData(shorter(data.train), shorter(data.validation), None if test is None else shorter(test), data.labels)


def cached(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same function, called once."""
    found: list[Any] = []

    def get() -> Any:
        if not found:
            found.append(make())
        return found[0]

    return get


def pruned(problem: CompressionProblem, size: float) -> nn.Module:
    """The model with the smallest weights of each layer set to zero, the same share in all, biases untouched."""
    model = copy.deepcopy(problem.model)
    for layer in problem.plan.layers:
        weight: Tensor = model.get_submodule(layer.name).weight.data
        kept = int(size * layer.parameters - layer.bias * layer.outputs)
        threshold = weight.abs().flatten().kthvalue(weight.numel() - kept).values
        weight[weight.abs() <= threshold] = 0.0
    return model


def rounded(model: nn.Module) -> nn.Module:
    """A copy whose linear layers have eight bits, and whose inputs are rounded as on a CPU, wherever it is computed."""
    made = copy.deepcopy(model)
    for name, module in list(made.named_modules()):
        if isinstance(module, nn.Linear) or type(module).__name__ == "CompactLinear":
            made.set_submodule(name, int8_layer(module).to(next(module.parameters()).device))
    for module in made.modules():
        if isinstance(module, Int8Linear):
            module.register_forward_pre_hook(lambda _module, arguments: (seven_bits(arguments[0]),))
    return made


def seven_bits(x: Tensor) -> Tensor:
    """Numbers rounded to 128 steps from the smallest to the largest, zero among them, as dynamic quantization does."""
    low, high = x.amin().clamp(max=0.0), x.amax().clamp(min=0.0)
    step = ((high - low) / 127).clamp(min=torch.finfo(x.dtype).tiny)
    zero = (-low / step).round()
    return ((x / step).round() + zero).clamp(0, 127).sub(zero) * step


def read_rows(folder: Path | None) -> list[dict[str, Any]]:
    """The results in a folder; a line that was cut off is left out."""
    rows = []
    for path in sorted(folder.glob("rows-*.jsonl")) if folder is not None else []:
        for line in path.read_text(encoding="utf-8").splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return rows


def shares_well() -> bool:
    """Start CUDA's multi-process service, with which processes compute side by side; False if it does not work."""
    try:
        subprocess.run(["nvidia-cuda-mps-control", "-d"], check=True, timeout=20, capture_output=True)
        probe = "import torch; print(float((torch.ones(64, 64).cuda() @ torch.ones(64, 64).cuda()).sum()))"
        done = subprocess.run([sys.executable, "-c", probe], check=True, timeout=40, capture_output=True, text=True)
        if done.stdout.strip() == "262144.0":
            return True
    except (OSError, subprocess.SubprocessError):
        pass
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, timeout=20, capture_output=True)
    os.environ["CUDA_MPS_PIPE_DIRECTORY"] = "/nonexistent"  # so that no process looks for it
    return False


def main() -> None:
    """Start the processes, or be one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed", type=Path, help="what packing.py wrote")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--scratch", type=Path, help="folder for trained originals (default: beside the results)")
    parser.add_argument("--known", type=Path, help="results that are not made again")
    parser.add_argument("--parts", nargs="+", default=["compare", "search"], choices=[*PARTS, "latency"])
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=PAIRS)
    parser.add_argument("--sizes", type=float, nargs="+", default=list(SIZES))
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=float, default=480.0, help="after these nothing new begins")
    parser.add_argument("--workers", type=int, default=4, help="processes")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--no-service", action="store_true", help="do not start CUDA's multi-process service")
    parser.add_argument("--tiny", action="store_true", help="only to see whether everything runs")
    parser.add_argument("--worker", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--end", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.scratch = arguments.scratch or arguments.out.with_name(f"{arguments.out.name}-scratch")
    if arguments.worker is not None:
        torch.set_num_threads(1)
        Worker(arguments).work()
        return
    end = time.time() + arguments.seconds
    arguments.out.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(arguments.scratch, ignore_errors=True)
    arguments.scratch.mkdir(parents=True)
    if arguments.device == "cuda" and not arguments.no_service:
        print(f"multi-process service: {shares_well()}", flush=True)
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    command = [sys.executable, __file__, *sys.argv[1:], "--scratch", str(arguments.scratch), "--end", str(end)]
    workers = [
        subprocess.Popen([*command, "--worker", str(number)], env=environment) for number in range(arguments.workers)
    ]
    for worker in workers:
        worker.wait()


if __name__ == "__main__":
    main()

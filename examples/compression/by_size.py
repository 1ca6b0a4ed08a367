"""Compressions to a size without a search, compared with simpler ones, on a model that is trained for the task first.

    python examples/compression/by_size.py run --model models/minilm --data data/glue --task sst2 --work out/sst2
    python examples/compression/by_size.py run ... --work out/sst2 --steps 40
    python examples/compression/by_size.py collect out/sst2 out/mrpc --out examples/compression/results/by-size.parquet

Each way of compressing is judged on test examples, before any training and, with --steps, after it; the answers to all
of these are kept, so that any comparison is one of the same examples. What is done is one line of a file in --work, and
the same command goes on from there. A seed is one of the examples that are measured on, and of training afterwards;
the original is trained once.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.problem import CompressionProblem

DENSE, ROWS, ABOUT = "dense", "rows.jsonl", "about.json"
ROWS_KEPT = 0.05
"""Share of the rows beside whitened decompositions, where they are tried."""
HELD_OUT = 0.2
"""Share of a single file that is test examples."""
LOW_RANK = 0.05
"""Ratio of the low-rank part in LoSparse as published, whatever the size; the sparse rows take the rest."""


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="compare on one task")
    run.add_argument("--model", type=Path, required=True, help="folder of an encoder with a tokenizer")
    run.add_argument("--data", type=Path, required=True, help="folder of the data, or one file to be divided")
    run.add_argument("--task", default="sst2", help="name of the task")
    run.add_argument("--work", type=Path, required=True, help="folder for the trained model and the results")
    run.add_argument("--max-length", type=int, default=64, help="tokens of a text")
    run.add_argument("--max-train", type=int, default=4000)
    run.add_argument("--max-test", type=int, default=872)
    run.add_argument("--dense-steps", type=int, default=130)
    run.add_argument("--steps", type=int, default=0, help="steps of training after compression")
    run.add_argument("--examples", type=int, default=128, help="examples to decompose for and to measure on")
    run.add_argument("--search", type=int, default=0, help="designs of a search from where sensitivities lead")
    run.add_argument("--sizes", type=float, nargs="+", default=[0.3, 0.15, 0.5])
    run.add_argument("--seeds", type=int, default=3)
    run.set_defaults(call=compare)
    collect = commands.add_parser("collect", help="put the results of some tasks into one file")
    collect.add_argument("work", type=Path, nargs="+")
    collect.add_argument("--out", type=Path, required=True)
    collect.set_defaults(call=collect_rows)
    arguments = parser.parse_args()
    arguments.call(arguments)


def compare(arguments: argparse.Namespace) -> None:
    """Compress in several ways to several sizes, and write down how good each is."""
    from dataclasses import replace

    import torch

    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.pretrained import load_model
    from betabo.compress.problem import CompressionProblem
    from betabo.compress.settings import CompressionMethod, Training
    from betabo.compress.tasks import task_by_name
    from betabo.compress.training import finetune

    torch.set_num_threads(1)
    task = task_by_name(arguments.task, arguments.model, max_length=arguments.max_length)
    if arguments.data.is_file():  # all there is: test examples are held out of it
        task = task.with_options(rule=replace(task.rule, test_share=HELD_OUT))
    data = task.load(arguments.data, max_train=arguments.max_train, max_validation=100, cache=arguments.work / "data")
    training = Training(steps=arguments.dense_steps, batch=32, rate=1e-4)
    dense = arguments.work / DENSE
    if not dense.is_dir():
        model = load_model(arguments.model, task, data).model
        finetune(model, task, data.train, training, progress=lambda *done: print(*done, flush=True), short=True)
        model.save_pretrained(dense)
        task.tokenizer.save_pretrained(dense)
    model = load_model(dense, task, data).model
    settings = ("task", "max_length", "max_train", "max_test", "dense_steps", "examples", "search")
    (arguments.work / ABOUT).write_text(json.dumps({name: getattr(arguments, name) for name in settings}))
    for seed in range(arguments.seeds):
        problem = CompressionProblem(model, task, data, CompressionMethod(training=training, device="cpu", seed=seed))
        sized = CompressionBySize(
            problem,
            arguments.work / f"seed{seed}",
            steps=arguments.steps,
            examples=arguments.examples,
            search=arguments.search,
        )
        journal = Journal(arguments.work / ROWS, problem, arguments.max_test)
        for size in (1.0, *arguments.sizes):
            for way, make in ways_to(sized, size, seed, arguments.steps):
                journal.add({"way": way, "target": size, "steps": arguments.steps, "seed": seed}, make)


def ways_to(sized: CompressionBySize, size: float, seed: int, steps: int) -> Iterator[tuple[str, Any]]:
    """Names of ways to compress to a size, and functions that give a model, the share that is left, and its ratios.

    What is not random is done for the first seed alone.
    """
    from functools import cache

    from betabo.compress.figures import int8_model
    from betabo.compress.without_training import eight_bits

    problem, plan = sized.problem, sized.problem.plan
    if size == 1.0:
        if seed == 0 and steps == 0:
            yield "original", lambda: (problem.model, 1.0, {})
            yield "int8", lambda: (int8_model(problem.model), 1.0, {})
        return

    def made(point: Any) -> tuple[torch.nn.Module, float, dict[str, float]]:
        return point.model, point.result.size, dict(point.ratios)

    @cache
    def ours() -> Any:
        return sized.at(size)

    yield "by sensitivity", lambda: made(ours())
    yield "by sensitivity, int8", lambda: (eight_bits(ours().model), ours().result.size, dict(ours().ratios))
    yield "one ratio", lambda: made(sized.uniform(size))
    if steps == 0 and seed == 0:
        yield "plain, one ratio", lambda: made(_plain(sized).uniform(size))
        yield "magnitude", lambda: (pruned(problem, size), size, {})
    if steps:
        yield "by sensitivity, rows", lambda: made(_with_rows(sized).at(size))
        yield "plain, one ratio", lambda: made(_plain(sized).uniform(size))
        yield "LoSparse", lambda: losparse(problem, plan, size, steps)


def _with_rows(sized: CompressionBySize) -> CompressionBySize:
    """The same with rows beside the low-rank part, which training keeps."""
    import copy

    other = copy.copy(sized)
    other.keep = ROWS_KEPT
    return other


def _plain(sized: CompressionBySize) -> CompressionBySize:
    """The same with decompositions of the weights, whatever comes in."""
    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.whitening import factors_of

    other = CompressionBySize(sized.problem, steps=sized.steps)
    other.__dict__["factors"] = factors_of(sized.problem.model, sized.problem.plan)
    return other


def pruned(problem: CompressionProblem, size: float) -> torch.nn.Module:
    """The model with the smallest weights of each layer set to zero, the same share in all, biases untouched."""
    import copy

    model = copy.deepcopy(problem.model)
    for layer in problem.plan.layers:
        weight: torch.Tensor = model.get_submodule(layer.name).weight.data  # type: ignore[union-attr, operator, assignment]
        kept = int(size * layer.parameters - layer.bias * layer.outputs)
        threshold = weight.abs().flatten().kthvalue(weight.numel() - kept).values
        weight[weight.abs() <= threshold] = 0.0
    return model


def losparse(
    problem: CompressionProblem, plan: Any, size: float, steps: int
) -> tuple[torch.nn.Module, float, dict[str, float]]:
    """LoSparse as published: plain decompositions of one low ratio, and rows of all layers that compete."""
    from dataclasses import replace

    from betabo.compress.problem import CompressionProblem

    method = problem.method
    weights = sum(layer.outputs * layer.inputs for layer in plan.layers)
    keep = (size * plan.parameters - plan.size(LOW_RANK, 0.0)) / weights
    pruning = replace(method.pruning, keep=keep, scope="global")
    method = replace(method, training=replace(method.training, steps=steps), pruning=pruning)
    model, result = CompressionProblem(problem.model, problem.task, problem.data, method).compress(LOW_RANK)
    return model, result.size, dict.fromkeys(plan.coordinates, LOW_RANK)


class Journal:
    """Results as lines of a file, each done once.

    Args:
        path: The file.
        problem: The problem, with test examples.
        most: Test examples that are used at most, the first ones.
    """

    def __init__(self, path: Path, problem: CompressionProblem, most: int) -> None:
        self._path, self._problem = path, problem
        test = problem.data.test
        if test is None:
            raise ValueError("the data has no test examples; give some.")
        self._test = test.subset(range(min(most, len(test))))
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        self._done = [
            {name: row[name] for name in ("way", "target", "steps", "seed")} for row in map(json.loads, lines)
        ]

    def add(self, key: dict[str, Any], make: Any) -> None:
        """Make a model and judge it, unless it is done."""
        if key in self._done:
            return
        start, cpu = time.perf_counter(), time.process_time()
        model, size, ratios = make()
        made, made_cpu = time.perf_counter() - start, time.process_time() - cpu
        correct = self._correct(model)
        row = {**key, "size": size, "seconds": made, "cpu_seconds": made_cpu, "ratios": ratios}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**row, "correct": "".join("01"[value] for value in correct)}) + "\n")
        print(key, f"accuracy {sum(correct) / len(correct):.4f}, made in {made:.0f} s ({made_cpu:.0f})", flush=True)

    def _correct(self, model: torch.nn.Module) -> list[bool]:
        """Which of the test examples are answered rightly, in their order."""
        import torch

        from betabo.compress.batches import short_batches

        order, batches = short_batches(self._test, 64)
        model.eval()
        with torch.inference_mode():
            found = [self._problem.task.predictions(model, batch)["label"] == batch["label"] for batch in batches]
        answers: list[bool] = torch.cat(found)[order.argsort()].tolist()
        return answers


def collect_rows(arguments: argparse.Namespace) -> None:
    """Put the results of some tasks into one Parquet file."""
    import pandas as pd

    tables = []
    for work in arguments.work:
        about = json.loads((work / ABOUT).read_text(encoding="utf-8"))
        rows = pd.read_json(work / ROWS, lines=True, dtype={"correct": str})
        tables.append(rows.assign(ratios=rows["ratios"].map(lambda ratios: [*ratios.values()]), **about))
    pd.concat(tables, ignore_index=True).to_parquet(arguments.out, compression="zstd")


if __name__ == "__main__":
    main()

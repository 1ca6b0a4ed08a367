"""Run the searches that docs/compression.md reports, many side by side on one GPU.

Every worker is a process of its own. It prepares an experiment that nobody has prepared (encodes the data, trains the
uncompressed model on the task), or takes the next search. Searches are files of JSON lines, so that the same command
again does what is missing. With CUDA's multi-process service running, the processes share the card well:

    nvidia-cuda-mps-control -d
    python examples/compression/run.py --models models --data data --out out/compression --workers 16
    python examples/compression/run.py --models models --data data --out out/compression --latency
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
import traceback
from dataclasses import asdict, replace
from functools import cache, partial
from itertools import product
from pathlib import Path

from betabo.files import write_text

KERNELS = ("rbf", "matern", "beta-paper", "beta-matern")
ACQUISITIONS = ("pi", "ei", "corrected_pi", "corrected_ei")
EXPERIMENTS = (
    "minilm-mrpc",
    "minilm-rte",
    "minilm-squadshifts",
    "gpt2-shakespeare",
    "gpt2-shakespeare-narrow",
    "deberta-rte-xsmall",
    "vit-cifar10",
)
COMPARED = "gpt2-shakespeare-narrow"  # where the acquisition functions are compared, quick enough for a CPU
UNIFORM_LEVELS = 19
BATCHES = {"cpu": (1,), "cuda": (1, 128)}  # examples in a pass that is timed
DENSE_EPOCHS = 3  # of a model whose head is new, as in `betabo compress`


def searches(experiments: list[str], seeds: int) -> list:
    """All searches, the first seeds of all experiments first, the comparison of acquisition functions last."""
    from betabo.lab.reproduce.compression.searches import SearchChoice

    found = [SearchChoice(experiment, "uniform") for experiment in experiments]
    for seed, experiment in product(range(seeds), experiments):
        found += [SearchChoice(experiment, kernel, "ucb", seed) for kernel in KERNELS]
        found.append(SearchChoice(experiment, "random", seed=seed))
        found.append(SearchChoice(experiment, "beta-matern", "log_ei", seed, start="uniform"))
        found.append(SearchChoice(experiment, "beta-additive", "log_ei", seed))
    return found + [
        SearchChoice(COMPARED, kernel, acquisition, seed)
        for seed, kernel, acquisition in product(range(seeds), ("matern", "beta-paper"), ACQUISITIONS)
        if COMPARED in experiments
    ]


class Bench:
    """The folders of a run, and what one process does in them."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.models, self.data, self.out = arguments.models, arguments.data, arguments.out
        self.trials, self.device, self.steps = arguments.trials, arguments.device, arguments.steps
        self.seeds, self.experiments = arguments.seeds, arguments.experiments
        self.precision = arguments.precision

    def work(self) -> None:
        """Prepare and search until nothing is left; a model may arrive while the others are searched."""
        left = searches(self.experiments, self.seeds)
        while left:
            for experiment in {search.experiment for search in left}:
                if self.has_model(experiment) and self.claim(f"prepare-{experiment}"):
                    self.attempt(f"prepare-{experiment}", partial(self.prepare, experiment))
            ready = [search for search in left if self.prepared(search.experiment).exists()]
            for search in ready[:1]:
                left.remove(search)
                if self.claim(search.name):
                    self.attempt(search.name, partial(self.search, search))
            if not ready:
                left = [search for search in left if not self.error(f"prepare-{search.experiment}").exists()]
                time.sleep(0.5)

    def prepare(self, name: str) -> None:
        """Encode the data of an experiment and train its uncompressed model, once."""
        if self.prepared(name).exists():
            return
        import torch

        from betabo.compress.counting import count_flops, count_parameters
        from betabo.compress.plan import CompressionPlan
        from betabo.compress.presets import preset_by_name
        from betabo.compress.pretrained import load_model
        from betabo.compress.training import evaluate, finetune

        start = time.time()
        preset = preset_by_name(name)
        task, data = self.load_data(name)
        loaded = load_model(self.models / Path(preset.model).name, task, data)
        model = loaded.model.float().to(self.device)
        epochs = math.ceil(DENSE_EPOCHS * len(data.train) / preset.training.batch)
        dense = preset.dense_steps if preset.dense_steps is not None else epochs * loaded.head_is_new
        if dense:
            dense = dense if self.steps is None else self.steps
            finetune(model, task, data.train, replace(preset.training, steps=dense), device=self.device)
        folder = self.prepared(name).parent
        model.save_pretrained(folder / "model")
        plan = CompressionPlan.of(model, preset.group)
        blocks = {layer.group: layer.block for layer in plan.layers}
        facts = {
            "title": preset.description.split(",")[0],
            "weights": preset.note,
            "task": preset.task,
            "metric": task.metric,
            "dimension": plan.dims,
            "coordinates": plan.coordinates,
            "roles": [layer.role for layer in plan.layers] if preset.group == "layer" else ["block"] * plan.dims,
            "blocks": [blocks[coordinate] for coordinate in plan.coordinates],
            "layer_parameters": plan.parameters,
            "parameters": count_parameters(model),
            "flops": count_flops(model, task.example(data)),
            "left_out": [asdict(left) for left in plan.left_out],
            "training": asdict(preset.training),
            "pruning": asdict(preset.pruning),
            "dense_steps": dense,
            "examples": {part: len(split) for part, split in data.splits.items()},
            "validation": evaluate(model, task, data.validation, device=self.device),
            "test": evaluate(model, task, data.test, device=self.device),
            "also": {key: evaluate(model, task, split, device=self.device) for key, split in self.also(name, task)},
            "seconds": time.time() - start,
            "device": torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu",
        }
        _write(self.prepared(name), facts)

    def search(self, search) -> None:
        """Run one search, then judge its best model on further test sets where there are any."""
        from betabo.lab.reproduce.compression.searches import read_search, run_search

        problem = self.problem(search.experiment)
        trials = self.length(search)
        path = self.out / "searches" / f"{search.name}.jsonl"
        if len(read_search(path)) < trials:
            run_search(problem, search, path, trials=trials)
        final = self.out / "finals" / f"{search.name}.json"
        more = self.also(search.experiment, problem.task)
        if more and not final.exists():
            records = [record for record in read_search(path) if "objective" in record]
            best = min(records, key=lambda record: record["objective"])
            model, evaluation = problem.compress(best["x"])
            also = {name: problem.judge(model, split) for name, split in more}
            _write(final, {"also": also, "again": evaluation.to_json()})

    def length(self, search) -> int:
        """Evaluations of a search."""
        return min(UNIFORM_LEVELS, self.trials) if search.method == "uniform" else self.trials

    def latency(self) -> None:
        """Time the best model of each method on this machine, among finished searches, with nothing else running."""
        import torch

        from betabo.compress.counting import measure_latency
        from betabo.compress.without_training import compress_model
        from betabo.lab.reproduce.compression.searches import read_search

        rows = []
        for experiment in self.experiments:
            problem = self.problem(experiment)
            chosen: dict[str, tuple[float, list[float]]] = {"original": (1.0, [1.0] * problem.dims)}
            for search in searches([experiment], self.seeds):
                records = read_search(self.out / "searches" / f"{search.name}.jsonl")
                if len(records) < self.length(search):
                    continue
                for record in records:
                    key = f"{search.method}/{search.acquisition}"  # the best of all seeds
                    if "objective" in record and record["objective"] < chosen.get(key, (9.0,))[0]:
                        chosen[key] = (record["objective"], record["x"])
            for key, (_, x) in chosen.items():
                model = compress_model(problem.model, x, keep=problem.method.pruning.keep, plan=problem.plan)
                for batch in BATCHES[problem.device.type]:
                    split = problem.data.validation
                    rows_ = torch.arange(batch) % len(split)
                    example = problem.task.inputs(split.subset(rows_).tensors)
                    seconds = measure_latency(model, example, repeats=20, warmup=5)
                    rows.append({"experiment": experiment, "method": key, "batch": batch, **asdict(seconds)})
            print(experiment, len(rows), flush=True)
            _write(self.out / f"latency-{problem.device.type}.json", {"rows": rows, "device": _machine(problem.device)})

    @cache  # noqa: B019 - a process has one
    def problem(self, name: str):
        """The problem of an experiment, from what `prepare` left."""
        from betabo.compress.presets import preset_by_name
        from betabo.compress.pretrained import load_model
        from betabo.compress.problem import CompressionProblem
        from betabo.compress.settings import CompressionMethod

        preset = preset_by_name(name)
        task, data = self.load_data(name)
        model = load_model(self.prepared(name).parent / "model", task, data).model
        training = replace(preset.training, precision=self.precision)
        training = training if self.steps is None else replace(training, steps=self.steps)
        method = preset.convert(CompressionMethod, training=training, device=self.device)
        return CompressionProblem(model, task, data, method)

    def load_data(self, name: str):
        """Task and data of an experiment; encoded data are kept beside the prepared model."""
        from betabo.compress.presets import preset_by_name
        from betabo.compress.tasks import task_by_name

        preset = preset_by_name(name)
        task = task_by_name(preset.task, self.models / Path(preset.model).name)
        data = task.load(
            self.data / Path(preset.data).name,
            max_train=preset.max_train,
            max_validation=preset.max_validation,
            cache=self.out / "encoded",
        )
        return task, data

    @cache  # noqa: B019
    def also(self, name: str, task) -> list:  # noqa: ARG002
        """Further test sets: XQuAD for question answering."""
        file = self.data / "squad" / "xquad_en.parquet"
        if task.kind != "question-answering" or not file.exists():
            return []
        from betabo.compress.data import read_file

        return [("xquad", task.encode(read_file(file), None, training=False))]

    def has_model(self, name: str) -> bool:
        """Whether the model of an experiment is there to be prepared."""
        from betabo.compress.presets import preset_by_name

        return (self.models / Path(preset_by_name(name).model).name / "config.json").exists()

    def error(self, name: str) -> Path:
        """The file that says how something failed."""
        return self.out / "errors" / f"{name}.txt"

    def prepared(self, name: str) -> Path:
        """The file that says that an experiment is prepared."""
        return self.out / "prepared" / name / "facts.json"

    def claim(self, name: str) -> bool:
        """Whether this process is the one that does something."""
        path = self.out / "claims" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def attempt(self, name: str, do) -> None:
        """Do something; an error is written down and the rest goes on."""
        start = time.time()
        try:
            do()
        except Exception:
            self.error(name).parent.mkdir(parents=True, exist_ok=True)
            self.error(name).write_text(traceback.format_exc())
            print(f"FAILED {name}\n{traceback.format_exc()[-1500:]}", flush=True)
        else:
            print(f"{name}: {time.time() - start:.0f} s", flush=True)


def _write(path: Path, content: dict) -> None:
    write_text(path, json.dumps(content, indent=1), parents=True)


def _machine(device) -> str:
    import torch

    return torch.cuda.get_device_name() if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"


def main() -> None:
    """Start the workers, or be one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="folder of the model folders")
    parser.add_argument("--data", type=Path, required=True, help="folder of the data folders")
    parser.add_argument("--out", type=Path, required=True, help="folder of the results")
    parser.add_argument("--experiments", nargs="+", default=list(EXPERIMENTS), choices=EXPERIMENTS, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=3, help="searches by each method")
    parser.add_argument("--trials", type=int, default=35, help="evaluations of a search")
    parser.add_argument("--steps", type=int, help="training steps of an evaluation, to try things out")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--precision", default="tf32", help="bfloat16 or tf32, what is quicker for the models")
    parser.add_argument("--latency", action="store_true", help="time the models found, search nothing")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    bench = Bench(arguments)
    if arguments.latency:
        bench.latency()
    elif arguments.worker:
        import torch

        torch.set_num_threads(1)
        bench.work()
    else:
        for claim in (arguments.out / "claims").glob("*"):
            claim.unlink()
        command = [sys.executable, __file__, *sys.argv[1:], "--worker"]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        workers = [subprocess.Popen(command, env=environment) for _ in range(arguments.workers)]
        for worker in workers:
            worker.wait()


if __name__ == "__main__":
    main()

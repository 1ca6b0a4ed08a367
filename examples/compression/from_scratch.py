"""What the scripts that train a model from scratch share: options, the training with a report, the folder written."""

from __future__ import annotations

import argparse
import copy
import json
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
import transformers

from betabo.compress.settings import Training
from betabo.compress.tasks import Split, Task, TaskData
from betabo.compress.training import evaluate, finetune
from betabo.files import whole_folder

REPORTS = 20  # times that the validation data are looked at
EVALUATION_BATCH = 1000
MEASURED_STEPS = 100  # to learn how long one takes
RESERVE = 0.9  # share of the time for training; the rest is for evaluations, and for a card that others use too


def options(description: str | None, training: Training) -> argparse.ArgumentParser:
    """A parser with the options that all scripts have.

    Args:
        description: What the script does.
        training: Its defaults.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder or file of the data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the model, a new one")
    parser.add_argument("--cache", type=Path, help="folder where encoded data are kept (default: encoded, beside OUT)")
    parser.add_argument("--device", help="cuda or cpu (default: cuda if there is one)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the weights and of the training (default 0)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--steps", type=int, default=training.steps, help=f"steps (default {training.steps})")
    length.add_argument(
        "--seconds", type=float, help="about as many steps as take this long, from a measurement at the start"
    )
    parser.add_argument(
        "--batch", type=int, default=training.batch, help=f"examples in a step (default {training.batch})"
    )
    parser.add_argument(
        "--rate", type=float, default=training.rate, help=f"largest learning rate (default {training.rate})"
    )
    parser.add_argument("--half", action="store_true", help="store the weights as float16, which takes half the space")
    return parser


def train(
    make_model: Callable[[TaskData], transformers.PreTrainedModel],
    task: Task,
    training: Training,
    arguments: argparse.Namespace,
    *,
    practice: Task | None = None,
    prepare: Callable[[Split], Split] = lambda split: split,
    finish: Callable[[Path], Any] = lambda _: None,
) -> None:
    """Train a model, print how it goes, and write it to a folder.

    Args:
        make_model: Makes the model for the data, with random weights.
        task: Loads the data and judges the model.
        training: The settings that are no option.
        arguments: The options.
        practice: The task to train with if it is another one, with the same data.
        prepare: What to make of the training data.
        finish: Writes what else belongs into the folder.
    """
    start = time.perf_counter()
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if arguments.out.exists() and any(arguments.out.iterdir()):
        raise SystemExit(f"{arguments.out} has something in it: give another folder, or delete it.")
    data = task.load(arguments.data, cache=arguments.cache or arguments.out.parent / "encoded").to(device)
    practice, examples = practice or task, prepare(data.train)
    torch.manual_seed(arguments.seed)
    model = make_model(data).to(device)
    print(f"{type(model).__name__}, {model.num_parameters():,} parameters, on {name_of(device)}")
    print(", ".join(f"{name} {len(split):,}" for name, split in data.splits.items()), "examples", flush=True)

    training = replace(training, steps=arguments.steps, batch=arguments.batch, rate=arguments.rate)
    if arguments.seconds is not None:
        each = seconds_of_a_step(model, practice, examples, training)
        left = RESERVE * (arguments.seconds - (time.perf_counter() - start))
        training = replace(training, steps=max(1, int(left / each)))
        print(f"a step takes {1000 * each:.1f} ms: {training.steps} steps", flush=True)
    report = Report(model, task, data.validation, training.steps)
    finetune(model, practice, examples, training, seed=arguments.seed, progress=report)

    if arguments.half:
        model.half().float()  # what is reported is what is stored
    metrics = {
        name: evaluate(model, task, data.splits[name], batch=EVALUATION_BATCH) for name in ("validation", "test")
    }
    record = {
        **metrics,
        "training": asdict(training),
        "options": vars(arguments),
        "examples": {name: len(split) for name, split in data.splits.items()},
        "history": report.history,
        "device": name_of(device),
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "seconds": time.perf_counter() - start,
    }
    transformers.utils.logging.disable_progress_bar()
    with whole_folder(arguments.out, parents=True) as folder:
        (model.half() if arguments.half else model).save_pretrained(folder)
        finish(folder)
        (folder / "training.json").write_text(json.dumps(record, indent=1, default=str), encoding="utf-8")
    print(f"test: {as_text(metrics['test'])}; {record['seconds']:.0f} s; {arguments.out}", flush=True)


class Report:
    """Prints the metrics on the validation data now and then, and keeps them."""

    def __init__(self, model: torch.nn.Module, task: Task, validation: Split, steps: int) -> None:
        self.history: list[dict[str, float]] = []
        self._model, self._task, self._validation, self._steps = model, task, validation, steps
        self._start, self._next = time.perf_counter(), steps / REPORTS

    def __call__(self, done: int, loss: float) -> None:
        """Called by the training with the number of steps done and the loss."""
        if done < self._next:
            return
        self._next = done + self._steps / REPORTS
        metrics = evaluate(self._model, self._task, self._validation, batch=EVALUATION_BATCH)
        seconds = time.perf_counter() - self._start
        self.history.append({"steps": done, "seconds": seconds, "loss": loss, **metrics})
        print(f"{done:6d}/{self._steps}  {seconds:4.0f} s  loss {loss:.3f}  {as_text(metrics)}", flush=True)


def seconds_of_a_step(model: torch.nn.Module, task: Task, examples: Split, training: Training) -> float:
    """How long a step takes, from the training of a copy of the model."""
    looks: list[tuple[int, float]] = []
    settings = replace(training, steps=MEASURED_STEPS)
    finetune(
        copy.deepcopy(model),
        task,
        examples,
        settings,
        progress=lambda done, _: looks.append((done, time.perf_counter())),
    )
    (first, start), (last, end) = looks[0], looks[-1]
    return (end - start) / (last - first)


def as_text(metrics: dict[str, float]) -> str:
    """Metrics in one line."""
    return "  ".join(f"{name} {value:.4f}" for name, value in metrics.items())


def name_of(device: torch.device) -> str:
    """What a device is called."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else f"CPU, {torch.get_num_threads()} threads"

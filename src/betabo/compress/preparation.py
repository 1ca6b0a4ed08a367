"""The model before it is compressed: trained for the task once if need be, stored, and judged.

The folder of a compression has `original.json`, which says how good and how large the original is. It has `dense/`, the
trained original, if the model came with a head that was never trained, or if a training was asked for.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from torch import nn

from betabo.compress.objective import CompressionObjective, free_memory, why_failed
from betabo.compress.plan import CompressionPlan
from betabo.compress.problem import CompressionResult, torch_device
from betabo.compress.store import PROCESSOR_FILES
from betabo.compress.tasks import Task
from betabo.compress.training import finetune
from betabo.files import whole_folder, write_text

ORIGINAL_FILE = "original.json"
DENSE_FOLDER = "dense"
DATA_FOLDER = "data"
TRAINING_FILE = "training.json"
DENSE_EPOCHS = 3
"""Rounds through the training examples for a model whose head is new."""

OnStage = Callable[[str], None]


@dataclass(frozen=True)
class Prepared:
    """A compression that can begin.

    Attributes:
        objective: The objective, with the prepared model.
        plan: Which layers are compressed.
        original: How good and how large the original is, on the validation examples.
        dense_steps: Steps of training that it took.
        examples: Number of examples by split.
    """

    objective: CompressionObjective
    plan: CompressionPlan
    original: CompressionResult
    dense_steps: int
    examples: dict[str, int]


def prepare(
    objective: CompressionObjective,
    out: Path,
    dense_steps: int | None = None,
    on_stage: OnStage | None = None,
    *,
    short: bool = False,
) -> Prepared:
    """Load the model, train it for the task if need be, and judge it; what is in the folder already is used.

    Args:
        objective: The objective without `folder` and `cache`.
        out: Folder of the compression, which is created.
        dense_steps: Steps of training before compression; None for none, or for three epochs if the head is new.
        on_stage: Called with a line before each thing that takes long, and as it goes on.
        short: Whether it is trained and judged without the padding that all texts of a batch have: the same but for
            rounding, and quicker.

    Raises:
        ValueError: The model, the task and the device do not go together, the folder has something else in it or was
            prepared with other settings, or the training diverged.
    """
    say = (lambda _: None) if on_stage is None else on_stage
    objective.outline()
    _check_folder(out)
    objective = replace(objective, cache=str(out / DATA_FOLDER))
    dense, figures = out / DENSE_FOLDER, out / ORIGINAL_FILE
    source, training = _source(objective), _training(objective, dense_steps)
    say("loading the model and the data")
    judged = _read(figures, ("source", "trained", "original"))
    if judged is not None:
        _check_same(out, judged["source"], source)
    elif not dense.is_dir():
        out.mkdir(parents=True, exist_ok=True)
        _train(objective, dense, dense_steps, {"source": source, "training": training}, say, short=short)
    trained = _read(dense / TRAINING_FILE, ("source", "training", "steps"))
    if trained is not None:
        _check_same(out, {**trained["source"], **trained["training"]}, {**source, **training})
        objective = replace(objective, folder=str(dense))
    elif judged is not None and (judged["trained"] or dense_steps):
        raise ValueError(
            f"{dense} is missing, with the trained original; delete {figures} to start again, or choose another folder."
        )
    problem = objective.problem()
    if judged is None:
        say("judging the original")
        original = problem.judged_original(short=short)
        judged = {"source": source, "trained": trained is not None, "original": original.to_json()}
        write_json(figures, judged)
    prepared = Prepared(
        objective,
        problem.plan,
        CompressionResult(**judged["original"]),
        0 if trained is None else trained["steps"],
        {name: len(split) for name, split in problem.data.splits.items()},
    )
    del problem
    free_memory()  # the workers need it now
    return prepared


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file, all of it or nothing."""
    write_text(path, json.dumps(content, indent=1) + "\n")


def _train(
    objective: CompressionObjective,
    dense: Path,
    asked: int | None,
    about: dict[str, Any],
    say: OnStage,
    *,
    short: bool,
) -> None:
    """Train the original and store it, or do nothing if it needs no training."""
    loaded, task, data = objective.load()
    batch = objective.training.batch
    steps = (
        asked if asked is not None else math.ceil(DENSE_EPOCHS * len(data.train) / batch) if loaded.head_is_new else 0
    )
    if not steps and not loaded.head_is_new:
        return
    if steps:
        why = "its head is new" if loaded.head_is_new else "as was asked for"
        say(f"training the original first ({why}): {steps} steps of {batch} examples")
        training, device = replace(objective.training, steps=steps), torch_device(objective.device)
        try:
            finetune(
                loaded.model,
                task,
                data.train,
                training,
                seed=objective.seed,
                device=device,
                progress=training_progress(say, steps),
                short=short,
            )
        except (RuntimeError, MemoryError) as error:
            reason = why_failed(error)
            if reason is None:
                raise
            raise ValueError(f"the original could not be trained: {reason}.") from error
    _store(loaded.model.cpu(), task, Path(objective.model), dense, {**about, "steps": steps})


def training_progress(say: OnStage, steps: int) -> Callable[[int, float], None]:
    """Says how far a training is, about ten times."""
    said = 0

    def progress(done: int, loss: float) -> None:
        nonlocal said
        if done * 10 // steps > said:
            said = done * 10 // steps
            say(f"  {done} of {steps} steps, loss {loss:.3f}")

    return progress


def _store(model: nn.Module, task: Task, source: Path, folder: Path, about: dict[str, Any]) -> None:
    """Write a Hugging Face model with its tokenizer into a new folder, all of it or nothing."""
    try:
        with whole_folder(folder) as temporary:
            with _no_progress_bar():
                model.save_pretrained(temporary)  # type: ignore[operator]
            if getattr(task, "tokenizer", None) is not None:
                task.tokenizer.save_pretrained(temporary)  # type: ignore[attr-defined]
            for name in PROCESSOR_FILES:
                if (source / name).is_file() and not (temporary / name).exists():
                    shutil.copyfile(source / name, temporary / name)
            write_json(temporary / TRAINING_FILE, about)
    except OSError:
        if not folder.is_dir():  # otherwise the same command elsewhere was quicker
            raise


@contextmanager
def _no_progress_bar() -> Iterator[None]:
    logging: Any = import_module("transformers.utils.logging")
    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def _source(objective: CompressionObjective) -> dict[str, Any]:
    """What the figures of the original depend on, if it is not trained."""
    return {
        name: getattr(objective, name)
        for name in ("model", "task", "data", "max_train", "max_validation", "max_length", "seed")
    }


def _training(objective: CompressionObjective, dense_steps: int | None) -> dict[str, Any]:
    return {"dense_steps": dense_steps, "batch": objective.training.batch, "rate": objective.training.rate}


def _check_folder(out: Path) -> None:
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; expected a folder, new or of an earlier run.")
    mine = (ORIGINAL_FILE, DENSE_FOLDER, DATA_FOLDER)
    if out.is_dir() and any(out.iterdir()) and not any((out / name).exists() for name in mine):
        raise ValueError(f"{out} has files that are not of a compression; choose another folder.")


def _check_same(out: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    for name, value in now.items():
        if before.get(name) != value:
            raise ValueError(
                f"{out} was prepared with {name} {before.get(name)!r}, which is {value!r} now; "
                "use the old one, or another folder and study."
            )


def _read(path: Path, keys: tuple[str, ...]) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        about = json.loads(path.read_text(encoding="utf-8"))
        return {name: about[name] for name in keys}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged ({error}); delete it to start again.") from error

"""The end of a search: the best compression made once more, judged on the test examples, measured and stored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from betabo.compress.counting import LATENCY_REPEATS, SizeComparison, compare
from betabo.compress.objective import CompressionObjective
from betabo.compress.preparation import write_json
from betabo.compress.problem import CompressionResult
from betabo.compress.store import STRUCTURE_FILE, CompressedModel, Processor, save_compressed
from betabo.files import added_files

SUMMARY_FILE = "summary.json"


@dataclass(frozen=True)
class CompressionSummary:
    """A compressed model and what it was made from, compared.

    Attributes:
        original: The original on the validation examples.
        compressed: The compressed model on the same.
        comparison: Their parameters, FLOPs and latency.
        test: Their metrics on the test examples, original and compressed; None without such examples.
        device: Where the latency was measured.
    """

    original: CompressionResult
    compressed: CompressionResult
    comparison: SizeComparison
    test: tuple[dict[str, float], dict[str, float]] | None
    device: str

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "original": self.original.to_json(),
            "compressed": self.compressed.to_json(),
            "sizes": {"before": asdict(self.comparison.before), "after": asdict(self.comparison.after)},
            "test": None if self.test is None else {"before": self.test[0], "after": self.test[1]},
            "device": self.device,
        }


def finish(
    objective: CompressionObjective, ratios: Mapping[str, float], seed: int, out: Path, about: Mapping[str, Any]
) -> CompressionSummary:
    """Compress with the ratios and the seed of a trial, as the trial did, and store the model.

    The model's files are put into `out` beside what is there; `compression.json` is the last of them, so that a
    folder that has it is whole. `summary.json` has the figures.

    Args:
        objective: The objective of the study.
        ratios: The ratio of each coordinate.
        seed: Seed of the training.
        out: Folder for the model.
        about: What else the summary says, of plain JSON types.
    """
    problem = objective.problem()
    model, evaluation = problem.compress(dict(ratios), seed=seed)
    test = None
    if problem.data.test is not None:
        test = (problem.judge(problem.model), problem.judge(model))
    comparison = compare(
        problem.model, model, problem.plan, problem.task.example(problem.data), repeats=LATENCY_REPEATS
    )
    finished = CompressionSummary(problem.original, evaluation, comparison, test, str(problem.device))
    write_model(model, out, {**about, **finished.to_json()}, getattr(problem.task, "tokenizer", None))
    return finished


def write_model(model: CompressedModel, out: Path, summary: Mapping[str, Any], tokenizer: Processor | None) -> None:
    """Put a model's files and `summary.json` into a folder, beside what is there; `compression.json` comes last."""
    with added_files(out, last=STRUCTURE_FILE) as temporary:
        save_compressed(model, temporary, tokenizer=tokenizer)
        write_json(temporary / SUMMARY_FILE, summary)

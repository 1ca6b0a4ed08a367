"""The end of a search: the best compression made once more, judged on the test examples, measured and stored."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from betabo.compress.card import CARD_FILE, model_card
from betabo.compress.counting import LATENCY_REPEATS, SizeComparison, compare
from betabo.compress.figures import only_guesses
from betabo.compress.objective import CompressionObjective
from betabo.compress.preparation import write_json
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.store import STRUCTURE_FILE, CompressedModel, save_compressed
from betabo.files import added_files, write_text

SUMMARY_FILE = "summary.json"
PAGE_FILE = "report.html"


@dataclass(frozen=True)
class CompressionSummary:
    """A compressed model and what it was made from, compared.

    Attributes:
        original: The original on the validation examples.
        compressed: The compressed model on the same.
        comparison: Their parameters, FLOPs and latency.
        test: Their metrics on the test examples, original and compressed; None without such examples.
        device: Where the latency was measured.
        only_guesses: Whether the compressed model is no better than the most frequent answer.
    """

    original: CompressionResult
    compressed: CompressionResult
    comparison: SizeComparison
    test: tuple[dict[str, float], dict[str, float]] | None
    device: str
    only_guesses: bool = False

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            "original": self.original.to_json(),
            "compressed": self.compressed.to_json(),
            "sizes": {"before": asdict(self.comparison.before), "after": asdict(self.comparison.after)},
            "test": None if self.test is None else {"before": self.test[0], "after": self.test[1]},
            "device": self.device,
            "only_guesses": self.only_guesses,
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
    guesses = only_guesses(problem.task, problem.data.validation, evaluation.metrics)
    finished = CompressionSummary(problem.original, evaluation, comparison, test, str(problem.device), guesses)
    write_model(problem, model, out, {**about, **finished.to_json()}, _card_rows(finished))
    return finished


def write_model(
    problem: CompressionProblem,
    model: CompressedModel,
    out: Path,
    summary: Mapping[str, Any],
    rows: Sequence[Sequence[str]],
    page: str | None = None,
) -> None:
    """Put a model's files, its card and `summary.json` into a folder, beside what is there.

    `compression.json` comes last. Numbers are stored in the problem's precision.

    Args:
        problem: What it was compressed for.
        model: The model.
        out: The folder.
        summary: What `summary.json` says, of plain JSON types.
        rows: The table of the card, its heads first.
        page: `report.html`, if there is one.
    """
    with added_files(out, last=STRUCTURE_FILE) as temporary:
        stored = copy.deepcopy(model).to(problem.precision)
        save_compressed(stored, temporary, tokenizer=getattr(problem.task, "tokenizer", None))
        write_json(temporary / SUMMARY_FILE, summary)
        write_text(temporary / CARD_FILE, model_card(model, problem.task, rows))
        if page is not None:
            write_text(temporary / PAGE_FILE, page)


def _card_rows(summary: CompressionSummary) -> list[list[str]]:
    """The table of a search's model and the original."""
    rows = [["", "original", "compressed"]]
    for what, before, after, _ in summary.comparison.rows():
        if what != "latency":
            rows.append([what, f"{before:,.0f}", f"{after:,.0f}"])
    splits = {"validation": (summary.original.metrics, summary.compressed.metrics)}
    if summary.test is not None:
        splits["test"] = summary.test
    for split, (before_metrics, after_metrics) in splits.items():
        rows += [
            [f"{name}, {split}", f"{value:.4f}", f"{after_metrics[name]:.4f}"] for name, value in before_metrics.items()
        ]
    return rows

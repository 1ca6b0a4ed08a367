"""What `betabo compress` says: its presets, what is compressed, the front, and the result beside the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from betabo.cli.tables import number, print_table, table
from betabo.compress.presets import PRESETS

if TYPE_CHECKING:
    from rich.console import Console

    from betabo.compress.finish import CompressionSummary
    from betabo.compress.preparation import Prepared
    from betabo.compress.session import CompressionTrial


def print_presets(screen: Console) -> None:
    """The presets, one a line."""
    listing = table()
    for head in ("name", "from", "model", "steps", "batch", "what it is"):
        listing.add_column(head, no_wrap=head == "name", justify="right" if head in ("steps", "batch") else "left")
    for preset in PRESETS.values():
        figures = (f"{preset.training.steps:,}", str(preset.training.batch))
        listing.add_row(preset.name, preset.source, preset.model, *figures, f"{preset.description}. {preset.note}")
    print_table(screen, listing)


def print_prepared(screen: Console, prepared: Prepared) -> None:
    """Say what is compressed, what is not and why, and how good the original is."""
    plan, original = prepared.plan, prepared.original
    lines = [
        f"{plan.dims} coordinates, one a {plan.group}: {len(plan.layers)} linear layers with "
        f"{plan.parameters:,} of the {original.parameters:,} parameters",
    ]
    reasons: dict[str, list[int]] = {}
    for part in plan.left_out:
        reasons.setdefault(part.why, []).append(part.parameters)
    for why, counts in reasons.items():
        modules = f"{len(counts)} module{'s' if len(counts) > 1 else ''}"
        lines.append(f"left out: {sum(counts):,} parameters in {modules}: {why}")
    lines.append("examples: " + ", ".join(f"{count:,} {name}" for name, count in prepared.examples.items()))
    trained = f" after {prepared.dense_steps} steps of training" if prepared.dense_steps else ""
    lines.append(f"original{trained}: {_metrics(original.metrics)} on the validation examples")
    for line in lines:
        screen.print(line, soft_wrap=True)


def print_front(screen: Console, front: Sequence[CompressionTrial], chosen: CompressionTrial) -> None:
    """The trials of a front, with the chosen one in bold."""
    heads = ["size", "error", *(name for name in front[0].notes if name.startswith("metric_"))]
    listing = table()
    for head in ("trial", *heads):
        listing.add_column(Text(head.removeprefix("metric_")), justify="right", no_wrap=True)
    for trial in front:
        style = "bold green" if trial.number == chosen.number else ""
        cells = [str(trial.number), *(number(trial.notes.get(head, "")) for head in heads)]
        listing.add_row(*(Text(cell, style=style) for cell in cells))
    print_table(screen, listing)


def print_summary(screen: Console, summary: CompressionSummary) -> None:
    """The table of the original and the compressed model."""
    listing = table()
    listing.add_column("", no_wrap=True)
    for head in ("original", "compressed", "left"):
        listing.add_column(head, justify="right", no_wrap=True)
    for what, before, after, left in summary.comparison.rows():
        if what == "latency":
            shown = (f"{what} ({summary.device})", f"{before * 1e3:.2f} ms", f"{after * 1e3:.2f} ms")
        else:
            shown = (what, f"{before:,.0f}", f"{after:,.0f}")
        listing.add_row(*shown, f"{left:.1%}")
    pairs = {"validation": (summary.original.metrics, summary.compressed.metrics)}
    if summary.test is not None:
        pairs["test"] = summary.test
    for split, (before_metrics, after_metrics) in pairs.items():
        for name, value in before_metrics.items():
            listing.add_row(f"{name}, {split}", f"{value:.4f}", f"{after_metrics[name]:.4f}", "")
    print_table(screen, listing)


def _metrics(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())

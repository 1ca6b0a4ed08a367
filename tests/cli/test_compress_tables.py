"""What `betabo compress` prints of settings, models and trials."""

from __future__ import annotations

import io
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from rich.console import Console

from betabo.cli.compress_tables import print_front, print_prepared, print_presets, print_summary
from betabo.compress.counting import Latency, SizeComparison, Sizes
from betabo.compress.presets import PRESETS


def printed(show: Callable[..., None], *arguments: Any) -> list[str]:
    screen = Console(file=io.StringIO(), width=60, color_system=None)
    show(screen, *arguments)
    return screen.file.getvalue().splitlines()  # type: ignore[attr-defined]


def words_of(line: str) -> list[str]:
    return line.split()


def test_presets_are_one_a_line_whatever_the_width() -> None:
    head, _, *lines = printed(print_presets)
    assert words_of(head)[:4] == ["name", "from", "model", "steps"]
    assert [words_of(line)[0] for line in lines] == list(PRESETS)


def test_what_is_left_out_is_counted_by_its_reason() -> None:
    parts = [SimpleNamespace(why="an embedding", parameters=1000), SimpleNamespace(why="a head", parameters=5)]
    plan = SimpleNamespace(dims=2, group="layer", layers=("a", "b"), parameters=12_345, left_out=[*parts, parts[0]])
    original = SimpleNamespace(parameters=20_000, metrics={"accuracy": 0.75})
    prepared = SimpleNamespace(plan=plan, original=original, examples={"train": 1200, "test": 3}, dense_steps=40)
    assert printed(print_prepared, prepared) == [
        "2 coordinates, one a layer: 2 linear layers with 12,345 of the 20,000 parameters",
        "left out: 2,000 parameters in 2 modules: an embedding",
        "left out: 5 parameters in 1 module: a head",
        "examples: 1,200 train, 3 test",
        "original after 40 steps of training: accuracy 0.7500 on the validation examples",
    ]


def test_a_front_has_the_metrics_that_its_trials_noted() -> None:
    trials = [
        SimpleNamespace(number=number, notes={"size": size, "error": 0.1, "metric_f1": 0.9, "seed": 3})
        for number, size in ((4, 0.25), (7, 0.5))
    ]
    head, _, *lines = printed(print_front, trials, trials[1])
    assert words_of(head) == ["trial", "size", "error", "f1"]
    assert [words_of(line) for line in lines] == [["4", "0.25", "0.1", "0.9"], ["7", "0.5", "0.1", "0.9"]]


def test_the_result_stands_beside_the_original() -> None:
    before = Sizes(900, 1000, 4000, Latency(0.004, 0.003, 0.005))
    after = Sizes(450, 600, 1000, Latency(0.003, 0.002, 0.004))
    summary = SimpleNamespace(
        comparison=SizeComparison(before, after),
        device="cpu",
        original=SimpleNamespace(metrics={"f1": 0.9}),
        compressed=SimpleNamespace(metrics={"f1": 0.8}),
        test=({"f1": 0.7}, {"f1": 0.6}),
    )
    lines = [" ".join(words_of(line)) for line in printed(print_summary, summary)]
    assert "latency (cpu) 4.00 ms 3.00 ms 75.0%" in lines
    assert any(line.endswith("4,000 1,000 25.0%") for line in lines)
    assert lines[-2:] == ["f1, validation 0.9000 0.8000", "f1, test 0.7000 0.6000"]

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from betabo.compress import by_size
from betabo.compress.by_size import (
    SENSITIVITIES_FILE,
    CompressionBySize,
    SizedModel,
    largest_within,
    read_front,
    write_front,
)
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.store import load_compressed
from compress.size_case import trained_problem


@pytest.fixture
def problem() -> CompressionProblem:
    return trained_problem()


@pytest.fixture
def sized(problem: CompressionProblem) -> CompressionBySize:
    return CompressionBySize(problem, examples=64)


@pytest.mark.parametrize("size", [0.2, 0.4])
def test_a_model_has_the_size_that_was_asked_for(sized: CompressionBySize, size: float) -> None:
    small = sized.at(size)
    assert size - 0.05 < small.result.size <= size
    assert small.model is not None
    assert small.model.compression.parameters == small.result.size * sized.problem.plan.parameters
    assert small.result.error == pytest.approx(1 - small.result.metrics["accuracy"])


def test_it_loses_less_than_one_ratio_for_all(sized: CompressionBySize) -> None:
    problem = sized.problem
    assert 1 - problem.original.error > 0.8  # it has learned something, so that there is something to lose

    def loss(small: SizedModel) -> float:
        assert small.model is not None
        with torch.no_grad():
            return float(problem.task.loss(small.model, problem.data.train.tensors))

    assert loss(sized.at(0.25)) < loss(sized.uniform(0.25))


def test_of_several_designs_the_best_on_other_examples_is_taken(
    problem: CompressionProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized = CompressionBySize(problem, examples=64)
    judged: list[float] = []
    mean_loss = by_size.mean_loss

    def noted(model: Any, task: Any, batches: Any) -> float:
        seen = {tuple(row) for batch in sized._batches for row in batch["input_ids"].tolist()}
        assert not seen & {tuple(row) for batch in batches for row in batch["input_ids"].tolist()}
        judged.append(mean_loss(model, task, batches))
        return judged[-1]

    monkeypatch.setattr(by_size, "mean_loss", noted)
    found = sized.at(0.25)
    assert len(judged) == 5
    assert mean_loss(found.model, problem.task, sized._other_batches) == min(judged)
    monkeypatch.setattr(by_size, "mean_loss", lambda *_: next(losses))
    losses = iter([5.0, 4.0, 3.0, 2.0, 1.0])  # the last is one ratio for all
    assert sized.at(0.25).ratios == sized.uniform(0.25).ratios


def test_sensitivities_are_kept_until_something_changes(
    problem: CompressionProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    measure = by_size.measure_sensitivities

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        return measure(*arguments, **options)

    monkeypatch.setattr(by_size, "measure_sensitivities", counted)
    first = CompressionBySize(problem, tmp_path, examples=32)
    found = first.sensitivities
    assert CompressionBySize(problem, tmp_path, examples=32).sensitivities == found
    assert len(calls) == 1
    assert CompressionBySize(problem, tmp_path, examples=48).sensitivities != found
    assert len(calls) == 2
    assert json.loads((tmp_path / SENSITIVITIES_FILE).read_text())["base"] > 0


def test_training_afterwards_changes_the_weights_and_not_the_size(problem: CompressionProblem) -> None:
    untrained, trained = (CompressionBySize(problem, examples=32, steps=steps).uniform(0.3) for steps in (0, 3))
    assert untrained.result.size == trained.result.size
    assert untrained.model is not None
    assert trained.model is not None
    weights = [dict(small.model.named_parameters()) for small in (untrained, trained)]
    assert all(not torch.equal(value, weights[1][name]) for name, value in weights[0].items() if name.endswith("left"))


def test_the_smallest_within_a_drop_is_good_enough_and_hardly_larger_than_one_that_is_not(
    sized: CompressionBySize, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = sized.problem.original.error

    def at(_: CompressionBySize, size: float) -> SizedModel:  # an error that falls to the original's at 0.37
        error = original + max(0.0, 0.37 - size)
        return SizedModel(size, {}, CompressionResult(0.0, size, error, 1, 1, {}, 0.0))

    monkeypatch.setattr(CompressionBySize, "at", at)
    found = sized.within(0.05)
    assert found.result.error <= original + 0.05
    assert found.target == pytest.approx(0.32, abs=0.016)
    assert sized.within(0.0).target == pytest.approx(0.37, abs=0.016)
    with pytest.raises(ValueError, match=r"the largest drop is -0\.1"):
        sized.within(-0.1)


def test_a_model_and_its_alternatives_are_stored(problem: CompressionProblem, tmp_path: Path) -> None:
    sized = CompressionBySize(problem, tmp_path, examples=32)
    small = sized.at(0.3)
    table = sized.store(small, about={"who": "me"})
    assert list(table) == ["original", "compressed", "one ratio", "int8"]
    assert table["compressed"].size == small.result.size >= table["one ratio"].size
    assert table["compressed"].validation == small.result.metrics
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["who"], summary["target"]) == ("me", 0.3)
    assert summary["table"]["original"]["size"] == 1.0
    loaded: Any = load_compressed(tmp_path)
    tokens = problem.data.train.tensors["input_ids"][:4]
    assert small.model is not None
    with torch.no_grad():
        torch.testing.assert_close(loaded(tokens).logits, small.model(tokens).logits)
    with pytest.raises(ValueError, match="there is no folder to store the model in"):
        CompressionBySize(problem).store(small)


def test_a_point_of_a_stored_front_can_be_made_again(sized: CompressionBySize, tmp_path: Path) -> None:
    front = sized.front([0.5, 0.001, 0.25])
    assert [point.target for point in front] == [0.25, 0.5]  # what cannot be reached is left out
    assert all(point.model is None for point in front)
    write_front(tmp_path / "front.json", front, {"model": "m"})
    again, about = read_front(tmp_path / "front.json")
    assert (again, about) == (front, {"model": "m"})
    made = sized.made(again[0].target, again[0].ratios)
    assert (made.result.size, made.result.metrics) == (front[0].result.size, front[0].result.metrics)
    assert largest_within(again, 0.4) == again[0]
    with pytest.raises(ValueError, match=r"the size is 0\.1, but the smallest point of the front has 0\.2"):
        largest_within(again, 0.1)


def test_a_front_that_is_not_there_or_damaged_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"front\.json is missing; expected the folder of `betabo compress --front`"):
        read_front(tmp_path / "front.json")
    (tmp_path / "front.json").write_text('{"points": [{}]}')
    with pytest.raises(ValueError, match=r"front\.json is damaged"):
        read_front(tmp_path / "front.json")


@pytest.mark.parametrize(("settings", "message"), [({"examples": 0}, "examples is 0"), ({"steps": -1}, "steps is -1")])
def test_bad_settings_are_named(problem: CompressionProblem, settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CompressionBySize(problem, **settings)  # type: ignore[arg-type]

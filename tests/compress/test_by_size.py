from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from betabo.compress import by_size
from betabo.compress.by_size import SENSITIVITIES_FILE, CompressionBySize
from betabo.compress.front import SizedModel
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
    assert mean_loss(found.model, sized.goal, sized._other_batches) == min(judged)
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
    stored = json.loads((tmp_path / SENSITIVITIES_FILE).read_text())
    assert stored["base"] == pytest.approx(0.0, abs=1e-6)  # the original answers as itself


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
        return SizedModel(size, {}, CompressionResult(0.0, size, error, 1, 1, {"accuracy": 1 - error}, 0.0))

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


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"examples": 0}, "examples is 0"), ({"steps": -1}, "steps is -1"), ({"keep": 1}, "keep is 1")],
)
def test_bad_settings_are_named(problem: CompressionProblem, settings: dict[str, int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CompressionBySize(problem, **settings)  # type: ignore[arg-type]


def test_a_front_has_a_point_for_each_size_that_can_be_reached(sized: CompressionBySize) -> None:
    seen: list[SizedModel] = []
    front = sized.front([0.5, 0.001, 0.25], on_point=seen.append)
    assert [point.target for point in front] == [0.25, 0.5]
    assert all(point.model is None for point in front)
    assert seen == front
    made = sized.made(front[0].target, front[0].ratios)
    assert (made.result.size, made.result.metrics) == (front[0].result.size, front[0].result.metrics)


@pytest.mark.parametrize("steps", [0, 4])
def test_rows_stand_beside_the_low_rank_part(problem: CompressionProblem, steps: int) -> None:
    sized = CompressionBySize(problem, examples=32, steps=steps, keep=0.1)
    small = sized.uniform(0.4)
    assert small.result.size <= 0.4
    assert small.model is not None
    forms = small.model.compression.layers.values()
    assert {form.rows for form in forms if form.form == "compact"} == {3, 6}  # a tenth of 32 and of 64 outputs
    assert len(small.losses) == steps
    assert sized.at(0.4).result.size <= 0.4


def test_rows_that_are_not_trained_are_those_with_the_largest_outputs(problem: CompressionProblem) -> None:
    sized = CompressionBySize(problem, examples=32, keep=0.1)
    made, plain = sized.uniform(0.4).model, CompressionBySize(problem, examples=32).factors
    assert made is not None
    name = sized.problem.plan.layers[0].name
    layer: Any = made.get_submodule(name)
    original: Any = problem.model.get_submodule(name)
    root = plain[name].root
    assert root is not None
    error = ((original.weight - layer.left @ layer.right) @ root).norm(dim=1)
    assert set(layer.index.tolist()) == set(error.topk(layer.rows).indices.tolist())


def test_eight_bits_come_last(problem: CompressionProblem, tmp_path: Path) -> None:
    sized = CompressionBySize(problem, tmp_path, examples=32, int8=True)
    small, whole = sized.uniform(0.4), CompressionBySize(problem, examples=32).uniform(0.4)
    assert small.result.size == whole.result.size
    assert small.result.flops == whole.result.flops
    assert small.model is not None
    assert small.model.compression.bits == 8
    table = sized.store(small)
    assert list(table) == ["original", "compressed, int8", "one ratio, int8", "int8"]
    assert table["compressed, int8"].megabytes < 0.9 * table["original"].megabytes
    loaded: Any = load_compressed(tmp_path)
    tokens = problem.data.train.tensors["input_ids"][:4]
    with torch.no_grad():
        torch.testing.assert_close(loaded(tokens).logits, small.model(tokens).logits)


def test_a_search_begins_with_the_sensitivities_and_ends_with_the_lowest_loss(
    problem: CompressionProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fixed, searched = (CompressionBySize(problem, examples=64, search=count) for count in (0, 6))
    losses = [sized._loss(sized.at(0.25).ratios) for sized in (fixed, searched)]
    assert losses[1] <= losses[0]
    brief = CompressionBySize(problem, examples=64, search=3, steps=8)
    trained: list[int] = []
    finetune = by_size.finetune

    def noted(*arguments: Any, **options: Any) -> Any:
        trained.append(arguments[3].steps)
        return finetune(*arguments, **options)

    monkeypatch.setattr(by_size, "finetune", noted)
    assert len(brief.at(0.25).losses) == 8
    assert trained == [2] * by_size.FINALISTS + [8]


def test_a_latency_is_reached_by_the_largest_model_that_is_quick_enough(
    problem: CompressionProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized = CompressionBySize(problem, examples=64)
    plan = problem.plan
    monkeypatch.setattr(
        by_size, "layer_costs", lambda *_, **__: lambda layer, ratio: layer.weights(ratio, 0) + layer.outputs
    )
    monkeypatch.setattr(
        by_size,
        "measure_latencies",
        lambda models, _: [
            SimpleNamespace(
                median=sum(p.numel() for layer in plan.layers for p in model.get_submodule(layer.name).parameters())
            )
            for model in models
        ],
    )
    small = sized.at_latency(0.6)
    assert 0.5 < small.result.size <= 0.6
    with pytest.raises(ValueError, match=r"to be 0\.01 of the original's, but the least that was measured is 0\.\d"):
        sized.at_latency(0.01)
    with pytest.raises(ValueError, match="the latency is 2 of the original's, expected a share"):
        sized.at_latency(2)


def test_layers_that_are_slower_as_two_products_stay_as_they_are(
    problem: CompressionProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    sized = CompressionBySize(problem, examples=64)

    def cost(layer: Any, ratio: float) -> float:
        return 2.0 if ratio < 1 and layer.outputs == layer.inputs else 1.0 * ratio

    def seconds(model: Any) -> float:
        forms = model.compression.layers.values() if hasattr(model, "compression") else ()
        return 1.0 if not forms else sum(cost(form, form.ratio) for form in forms) / len(forms)

    monkeypatch.setattr(by_size, "layer_costs", lambda *_, **__: cost)
    monkeypatch.setattr(
        by_size, "measure_latencies", lambda models, _: [SimpleNamespace(median=seconds(model)) for model in models]
    )
    found = sized.at_latency(0.9).ratios
    square = {layer.group for layer in problem.plan.layers if layer.outputs == layer.inputs}
    assert {found[name] for name in square} == {1.0}
    assert min(found.values()) < 1.0

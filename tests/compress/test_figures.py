from __future__ import annotations

import json

import pytest
import torch

from betabo.compress.counting import count_flops
from betabo.compress.figures import figures_of, int8_model, only_guesses
from betabo.compress.without_training import compress_model
from compress.size_case import trained_problem


def test_figures_are_those_of_the_model() -> None:
    problem = trained_problem()
    original = figures_of(problem, problem.model)
    small = compress_model(problem.model, 0.2, keep=0.0, plan=problem.plan).eval()
    compressed = figures_of(problem, small)
    assert original.size == 1.0
    assert compressed.size == problem.plan.size(0.2, 0.0) / problem.plan.parameters
    assert original.flops == count_flops(problem.model, problem.task.example(problem.data)) > compressed.flops
    weights = 4 * sum(parameter.numel() for parameter in problem.model.parameters()) / 1e6
    assert weights < original.megabytes < 1.5 * weights
    assert compressed.megabytes < original.megabytes
    assert original.validation == problem.original.metrics
    assert original.test == problem.judge(problem.model)
    assert min(original.latency, compressed.latency) > 0
    assert json.dumps(compressed.to_json())


def test_eight_bits_are_smaller_and_nearly_the_same() -> None:
    problem = trained_problem()
    quantized = int8_model(problem.model)
    figures = figures_of(problem, quantized, like=problem.model)
    assert figures.size == 1.0
    assert figures.megabytes < figures_of(problem, problem.model).megabytes
    tokens = problem.data.test.tensors["input_ids"] if problem.data.test else torch.zeros(0)
    with torch.no_grad():
        change = quantized(tokens).logits - problem.model(tokens).logits
    assert 0 < change.abs().max() < 1.0
    assert all(type(module).__module__ != "quantized" for module in problem.model.modules())
    assert problem.model.classifier.weight.dtype == torch.float32  # type: ignore[union-attr]


@pytest.mark.parametrize(("accuracy", "guesses"), [(0.6, True), (0.59, True), (0.7, False)])
def test_a_model_that_only_guesses_is_known(accuracy: float, guesses: bool) -> None:
    labels = torch.tensor([1, 1, 1, 0, 0])
    assert only_guesses({"accuracy": accuracy}, "accuracy", labels) is guesses
    assert not only_guesses({"accuracy": accuracy}, "accuracy", None)
    assert not only_guesses({"f1": 0.0}, "f1", labels)

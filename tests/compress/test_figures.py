from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from betabo.compress.counting import count_flops
from betabo.compress.figures import ModelFigures, figures_of, int8_model, only_guesses, table_rows
from betabo.compress.problem import CompressionProblem
from betabo.compress.tasks import ImageClassification, LanguageModelling, QuestionAnswering, Split, TextClassification
from betabo.compress.without_training import compress_model
from compress.size_case import trained_problem


def test_figures_are_those_of_the_models() -> None:
    problem = trained_problem()
    small = compress_model(problem.model, 0.2, keep=0.0, plan=problem.plan).eval()
    original, compressed = figures_of(problem, {"a": problem.model, "b": small}).values()
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


def test_megabytes_are_those_of_the_precision_that_is_stored() -> None:
    problem = trained_problem()
    half = CompressionProblem(problem.model, problem.task, problem.data, problem.method, precision=torch.bfloat16)
    megabytes = [figures_of(p, {"a": p.model})["a"].megabytes for p in (problem, half)]
    saved = 2 * sum(p.numel() for p in problem.model.parameters()) / 1e6
    assert megabytes[0] - megabytes[1] == pytest.approx(saved, rel=0.02)


def test_eight_bits_are_smaller_and_nearly_the_same() -> None:
    problem = trained_problem()
    quantized = int8_model(problem.model)
    found = figures_of(problem, {"whole": problem.model, "int8": quantized}, {"int8": problem.model})
    assert found["int8"].size == 1.0
    assert found["int8"].megabytes < found["whole"].megabytes
    tokens = problem.data.test.tensors["input_ids"] if problem.data.test else torch.zeros(0)
    with torch.no_grad():
        change = quantized(tokens).logits - problem.model(tokens).logits
    assert 0 < change.abs().max() < 1.0
    assert all(type(module).__module__ != "quantized" for module in problem.model.modules())
    assert problem.model.classifier.weight.dtype == torch.float32  # type: ignore[union-attr]


def test_the_table_has_all_metrics_of_both_splits() -> None:
    figures = ModelFigures(0.5, 1.25, 2_000_000, 0.003, {"accuracy": 0.5, "f1": 0.25}, {"accuracy": 0.75, "f1": 1.0})
    rows = table_rows({"one": figures, "two": figures}, "cpu")
    assert rows[0] == ["", "one", "two"]
    assert rows[4] == ["latency (cpu), ms", "3.00", "3.00"]
    assert [row[:2] for row in rows[5:]] == [
        ["accuracy, validation", "0.5000"],
        ["f1, validation", "0.2500"],
        ["accuracy, test", "0.7500"],
        ["f1, test", "1.0000"],
    ]
    untested: Any = SimpleNamespace(**{**figures.to_json(), "test": None})
    assert len(table_rows({"one": untested}, "cpu")) == 7


@pytest.mark.parametrize(("accuracy", "guesses"), [(0.6, True), (0.59, True), (0.7, False)])
@pytest.mark.parametrize("task", [TextClassification(), ImageClassification()])
def test_a_model_that_only_guesses_is_known(task: Any, accuracy: float, guesses: bool) -> None:
    split = Split({"label": torch.tensor([1, 1, 1, 0, 0])})
    assert only_guesses(task, split, {"accuracy": accuracy}) is guesses


def test_a_language_model_that_only_guesses_says_the_most_frequent_token() -> None:
    split = Split({"input_ids": torch.tensor([[9, 1, 1, 2], [9, 1, 3, 3]])})  # the first of a block is not predicted
    assert only_guesses(LanguageModelling(), split, {"accuracy": 0.5})
    assert not only_guesses(LanguageModelling(), split, {"accuracy": 0.51})


def test_answers_to_questions_cannot_be_guessed() -> None:
    assert not only_guesses(QuestionAnswering(), Split({"start": torch.zeros(2)}), {"f1": 0.0})

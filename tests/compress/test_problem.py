"""Compression as a problem, on tiny models of four architectures: replace, train, prune, materialise, store, load."""

import json

import numpy as np
import pytest
import torch

import betabo
from betabo.compress import (
    CompactLinear,
    CompressionMethod,
    CompressionProblem,
    LoSparseLinear,
    Pruning,
    Training,
    count_flops,
    count_parameters,
    load_compressed,
)
from betabo.compress.problem import split_layers, uniform_levels
from betabo.compress.tasks import ImageClassification, LanguageModelling, Split, TaskData, TextClassification

TRAINING = Training(steps=12, batch=8, rate=1e-3)


def data_of(tensors, details=None):
    splits = [Split({name: tensor[part] for name, tensor in tensors.items()}, details) for part in _parts(tensors)]
    return TaskData(*splits)


def _parts(tensors):
    count = len(next(iter(tensors.values())))
    return slice(0, count // 2), slice(count // 2, 3 * count // 4), slice(3 * count // 4, count)


def text_data():
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(4, 90, (64, 12), generator=generator)
    label = (tokens[:, 1] > tokens[:, 2]).long()
    return data_of({"input_ids": tokens, "attention_mask": torch.ones_like(tokens), "label": label}, {"classes": 2})


def image_data():
    generator = torch.Generator().manual_seed(0)
    label = torch.arange(64) % 4
    noise = torch.randint(0, 120, (64, 3, 16, 16), generator=generator)
    return data_of({"image": (noise + 30 * label.view(-1, 1, 1, 1)).to(torch.uint8), "label": label})


def language_data():
    generator = torch.Generator().manual_seed(0)
    return data_of({"input_ids": torch.randint(0, 20, (64, 16), generator=generator)})


CASES = {
    "tiny_bert": (TextClassification(), text_data, "layer"),
    "tiny_vit": (ImageClassification(size=16), image_data, "layer"),
    "tiny_gpt2": (LanguageModelling(block_size=16), language_data, "layer"),
    "tiny_deberta": (TextClassification(), text_data, "block"),
}


@pytest.fixture(params=list(CASES))
def problem(request):
    task, data, group = CASES[request.param]
    model = request.getfixturevalue(request.param)
    return CompressionProblem(
        model,
        task,
        data(),
        CompressionMethod(group=group, training=TRAINING, pruning=Pruning(keep=0.125), device="cpu"),
    )


def inputs(problem):
    return problem.task.inputs(problem.data.test.tensors)


def test_compressed_model_is_small_and_survives_the_disk(problem, tmp_path):
    x = np.linspace(0.05, 0.6, problem.dims).tolist()
    model, evaluation = problem.compress(x)
    kinds = {type(module) for module in model.modules()}
    assert CompactLinear in kinds
    assert LoSparseLinear not in kinds
    assert evaluation.parameters == count_parameters(model) < count_parameters(problem.model)
    assert evaluation.size == problem.plan.size(x, 0.125) / problem.plan.parameters
    assert evaluation.flops == count_flops(model, problem.task.example(problem.data))
    assert evaluation.objective == pytest.approx(evaluation.size + evaluation.error)
    assert evaluation.error == pytest.approx(1 - evaluation.metrics["accuracy"])
    model.save_pretrained(tmp_path / "small")
    again = load_compressed(tmp_path / "small")
    with torch.no_grad():
        assert torch.allclose(again(**inputs(problem)).logits, model(**inputs(problem)).logits, atol=1e-5)


def test_evaluation_is_a_function_of_the_point_and_the_seed(problem):
    first, again = problem.evaluate(0.3), problem.evaluate(0.3)
    assert first.metrics == again.metrics
    assert first.objective == again.objective == problem([0.3] * problem.dims)


def test_the_model_that_was_given_is_not_changed(problem):
    before = {name: value.clone() for name, value in problem.model.state_dict().items()}
    problem.evaluate(0.2)
    assert all(torch.equal(value, before[name]) for name, value in problem.model.state_dict().items())


def test_ratio_one_without_training_is_the_original(request):
    task, data, _ = CASES["tiny_bert"]
    model = request.getfixturevalue("tiny_bert")
    problem = CompressionProblem(
        model, task, data(), CompressionMethod(training=Training(steps=0), device="cpu", bounds=(0.05, 1.0))
    )
    same, evaluation = problem.compress(1.0)
    assert evaluation.size == 1.0
    assert evaluation.metrics == problem.original.metrics
    with torch.no_grad():
        assert torch.equal(same(**inputs(problem)).logits, model(**inputs(problem)).logits)


def test_keeping_all_rows_reproduces_the_outputs_at_any_rank(request):
    task, data, _ = CASES["tiny_bert"]
    model = request.getfixturevalue("tiny_bert")
    problem = CompressionProblem(
        model, task, data(), CompressionMethod(training=Training(steps=0), pruning=Pruning(keep=1.0), device="cpu")
    )
    split = split_layers(problem.model, problem.plan, problem.plan.ratios(0.3), 1.0, problem._factors)
    with torch.no_grad():
        assert torch.allclose(split(**inputs(problem)).logits, model(**inputs(problem)).logits, atol=1e-5)


def test_it_can_be_minimized(request):
    task, data, group = CASES["tiny_deberta"]
    model = request.getfixturevalue("tiny_deberta")
    problem = CompressionProblem(
        model,
        task,
        data(),
        CompressionMethod(group=group, training=Training(steps=1, batch=4), weight=2.0, device="cpu"),
    )
    result = betabo.minimize(problem, problem.bounds, budget=6, seed=0, starting_points=4)
    assert len(result.x) == problem.dims == 4
    assert all(0.05 <= ratio <= 0.95 for ratio in result.x)
    evaluation = problem.evaluate(result.x.tolist())
    assert result.fun == pytest.approx(2 * evaluation.size + evaluation.error)


def test_space_has_the_coordinates_by_name(problem):
    assert tuple(problem.space.names) == problem.plan.coordinates
    assert json.dumps(problem.original.to_json())


def test_levels_reach_both_bounds():
    assert uniform_levels(3) == pytest.approx([0.05, 0.5, 0.95])

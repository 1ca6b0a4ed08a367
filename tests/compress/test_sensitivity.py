from __future__ import annotations

import json

import pytest
import torch

from betabo.compress.batches import short_batches, whole_batches
from betabo.compress.sensitivity import Sensitivities, mean_loss, measure_sensitivities
from betabo.compress.whitening import factors_of
from betabo.compress.without_training import compress_model
from compress.size_case import trained_problem


@pytest.mark.parametrize("group", ["layer", "block"])
def test_a_loss_is_that_of_the_model_with_one_coordinate_compressed(group: str) -> None:
    problem = trained_problem(group)
    plan, model, task = problem.plan, problem.model, problem.task
    batches = list(short_batches(problem.data.train, 64)[1])
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    seen: list[tuple[int, ...]] = []
    found = measure_sensitivities(
        model,
        task,
        plan,
        factors_of(model, plan, map(task.inputs, batches)),
        batches,
        ratios=(0.1, 0.4),
        progress=lambda *counts: seen.append(counts),
    )
    assert {name: list(row) for name, row in found.losses.items()} == {name: [0.1, 0.4] for name in plan.coordinates}
    assert seen == [(number, plan.dims) for number in range(1, plan.dims + 1)]
    with torch.no_grad():
        whole = task.loss(model, problem.data.train.tensors)
    assert found.base == pytest.approx(float(whole), rel=1e-5)
    chosen = plan.coordinates[1]
    small = compress_model(model, {chosen: 0.1}, keep=0.0, plan=plan, calibration=map(task.inputs, batches))
    assert found.losses[chosen][0.1] == pytest.approx(mean_loss(small.eval(), task, batches), rel=1e-5)
    after = model.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], before[name]) for name in before)


def test_the_mean_is_over_examples_not_over_batches() -> None:
    problem = trained_problem()
    split = problem.data.train.subset(range(70))
    whole = list(whole_batches(split, 70)[1])
    assert mean_loss(problem.model, problem.task, list(whole_batches(split, 64)[1])) == pytest.approx(
        mean_loss(problem.model, problem.task, whole), rel=1e-5
    )


def test_a_rise_never_falls_below_zero_nor_grows_with_the_ratio() -> None:
    found = Sensitivities(1.0, {"a": {0.6: 0.98, 0.1: 3.0, 0.3: 1.1, 0.4: 1.2}})
    assert found.rises("a") == [(0.1, 2.0), (0.3, pytest.approx(0.1)), (0.4, pytest.approx(0.1)), (0.6, 0.0)]
    assert Sensitivities.from_json(json.loads(json.dumps(found.to_json()))) == found

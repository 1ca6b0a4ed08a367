"""The cubic schedule, the scores, and who is kept."""

import pytest
import torch

from betabo.compress.layers import LoSparseLinear
from betabo.compress.pruning import RowPruner
from betabo.compress.settings import Pruning


def layer(outputs, inputs=4, seed=0):
    torch.manual_seed(seed)
    return LoSparseLinear.from_linear(torch.nn.Linear(inputs, outputs), 0.3)


def test_schedule_falls_from_one_to_its_share_by_a_cube():
    pruning = Pruning(keep=0.2, start=0.1, end=0.3)
    assert pruning.share(0, 100) == pruning.share(9, 100) == 1.0
    assert pruning.share(40, 100) == pytest.approx(0.2 + 0.8 * (1 - 30 / 60) ** 3)
    assert pruning.share(70, 100) == pruning.share(100, 100) == 0.2
    shares = [pruning.share(t, 100) for t in range(101)]
    assert shares == sorted(shares, reverse=True)


def test_masks_are_renewed_every_interval_and_always_at_the_end():
    pruning = Pruning(interval=10, end=0.2)
    assert [t for t in range(1, 101) if pruning.looks(t, 100)] == [10, 20, 30, 40, 50, 60, 70, *range(80, 101)]


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"keep": 1.5}, "keep"),
        ({"start": 0.6, "end": 0.5}, "start"),
        ({"interval": 0}, "interval"),
        ({"scope": "x"}, "scope"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(ValueError, match=word):
        Pruning(**settings)


def step(layers, gradients):
    for one, gradient in zip(layers, gradients, strict=True):
        one.sparse.grad = gradient


def test_score_is_the_smoothed_mean_of_weight_times_gradient():
    one = layer(3)
    weight = one.sparse.detach().clone()
    first, second = torch.randn(3, 4), torch.randn(3, 4)
    pruner = RowPruner([one], Pruning(keep=1.0, smoothing=0.75), 10)
    for gradient in (first, second):
        step([one], [gradient])
        pruner.observe()
    pruner.renew(5)
    expected = 0.25 * ((weight * first).abs() + (weight * second).abs()).mean(1) / 2
    assert torch.allclose(pruner._families[0].score[0], expected)
    step([one], [first])
    pruner.observe()
    pruner.renew(6)
    expected = 0.75 * expected + 0.25 * (weight * first).abs().mean(1)
    assert torch.allclose(pruner._families[0].score[0], expected)


def test_rows_of_least_sensitivity_go_in_each_layer():
    layers = [layer(10, seed=1), layer(10, 6, seed=2), layer(20, seed=3)]
    pruner = RowPruner(layers, Pruning(keep=0.3, start=0, end=1), 1)
    gradients = [torch.randn_like(one.sparse) for one in layers]
    scores = [(one.sparse.detach() * gradient).abs().mean(1) for one, gradient in zip(layers, gradients, strict=True)]
    step(layers, gradients)
    pruner.observe()
    pruner.renew(1)
    pruner.finish()
    for one, score in zip(layers, scores, strict=True):
        best = set(score.argsort(descending=True)[: round(0.3 * len(score))].tolist())
        assert set(one.kept.nonzero().squeeze(-1).tolist()) == best
        assert (one.sparse[~one.kept] == 0).all()
        assert (one.sparse[one.kept] != 0).any(dim=1).all()


def test_globally_the_rows_of_all_layers_compete():
    weak, strong = layer(10, seed=1), layer(10, seed=2)
    pruner = RowPruner([weak, strong], Pruning(keep=0.5, start=0, end=1, scope="global"), 1)
    step([weak, strong], [torch.full_like(weak.sparse, 1e-3), torch.full_like(strong.sparse, 1e3)])
    pruner.observe()
    pruner.renew(1)
    pruner.finish()
    assert strong.kept.all()
    assert not weak.kept.any()


def test_pruned_row_may_come_back():
    one = layer(4)
    pruner = RowPruner([one], Pruning(keep=0.25, start=0, end=1, smoothing=0.0), 10)
    first = torch.zeros(4, 4)
    first[0] = 1.0
    step([one], [first])
    pruner.observe()
    pruner.renew(1)
    pruner.observe()
    assert (one.sparse[1:] == 0).all()
    with torch.no_grad():
        one.sparse[2] = 5.0  # what the optimizer does to a row that is zero but has a gradient
    back = torch.zeros(4, 4)
    back[2] = 10.0
    step([one], [back])
    pruner._families[0].window.zero_()
    pruner.observe()
    pruner.renew(2)
    pruner.finish()
    assert one.kept.tolist() == [False, False, True, False]

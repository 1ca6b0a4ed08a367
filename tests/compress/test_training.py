"""Training: it learns, it prunes on the way, the seed decides, and a loss that is not finite ends it."""

import pytest
import torch
from torch import nn

from betabo.compress.layers import LoSparseLinear
from betabo.compress.settings import Pruning, Training
from betabo.compress.tasks.split import Split
from betabo.compress.training import DivergedError, _order, evaluate, finetune, learning_rates


class Sign:
    """Tell whether the sum of the inputs is positive."""

    metric = "accuracy"

    def augment(self, batch):
        return batch

    def loss(self, model, batch):
        return nn.functional.cross_entropy(model(batch["x"]), batch["y"])

    def predictions(self, model, batch):
        return {"logits": model(batch["x"])}

    def metrics(self, split, predictions):
        right = predictions["logits"].argmax(1) == split.tensors["y"]
        return {"accuracy": right.float().mean().item()}


@pytest.fixture
def split():
    x = torch.randn(256, 10, generator=torch.Generator().manual_seed(0))
    return Split({"x": x, "y": (x.sum(1) > 0).long()})


@pytest.fixture
def model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Dropout(0.1), nn.Linear(20, 2))


def test_rate_rises_then_falls_to_nearly_nothing():
    rates = learning_rates(Training(steps=100, rate=1.0, warmup=0.1))
    assert torch.allclose(rates[:10], torch.arange(1, 11) / 10)
    assert rates.argmax() in (9, 10)
    assert rates[-1] == pytest.approx(1 / 90)
    assert torch.allclose(rates[10:].diff(), torch.tensor(-1 / 90), atol=1e-6)


def test_cosine_is_half_way_down_in_the_middle():
    rates = learning_rates(Training(steps=100, rate=2.0, warmup=0.0, schedule="cosine"))
    assert rates[0] == pytest.approx(2.0)
    assert rates[50] == pytest.approx(1.0)
    assert rates[-1] < 0.001


def test_every_example_is_seen_once_an_epoch():
    order = _order(24, Training(steps=6, batch=8), seed=3).flatten()
    assert sorted(order[:24].tolist()) == sorted(order[24:].tolist()) == list(range(24))
    assert order[:24].tolist() != order[24:].tolist()


def test_model_learns(model, split):
    before = evaluate(model, Sign(), split)
    losses = finetune(model, Sign(), split, Training(steps=150, batch=32, rate=1e-2))
    assert len(losses) == 150
    assert sum(losses[-20:]) < 0.4 * sum(losses[:20])
    assert evaluate(model, Sign(), split)["accuracy"] > max(0.95, before["accuracy"])


def test_seed_decides_everything(model, split):
    def trained(seed):
        copy = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Dropout(0.1), nn.Linear(20, 2))
        copy.load_state_dict(model.state_dict())
        return finetune(copy, Sign(), split, Training(steps=10, rate=1e-2), seed=seed)

    assert trained(1) == trained(1)
    assert trained(1) != trained(2)


def test_random_numbers_of_the_caller_are_left_alone(model, split):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    finetune(model, Sign(), split, Training(steps=3))
    assert torch.equal(torch.rand(3), expected)


def test_rows_are_pruned_to_their_share_while_it_learns(model, split):
    model[0] = LoSparseLinear.from_linear(model[0], 0.2)
    finetune(model, Sign(), split, Training(steps=200, batch=32, rate=1e-2), Pruning(keep=0.25))
    assert int(model[0].kept.sum()) == 5
    assert (model[0].sparse[~model[0].kept] == 0).all()
    small = nn.Sequential(model[0].materialise(), *model[1:])
    assert evaluate(small, Sign(), split) == evaluate(model, Sign(), split)
    assert evaluate(small, Sign(), split)["accuracy"] > 0.9


def test_without_training_rows_go_by_their_norm(model, split):
    first = LoSparseLinear.from_linear(model[0], 0.2)
    best = set(first.sparse.detach().norm(dim=1).topk(5).indices.tolist())
    model[0] = first
    assert finetune(model, Sign(), split, Training(steps=0), Pruning(keep=0.25)) == []
    assert set(first.kept.nonzero().squeeze(-1).tolist()) == best


def test_without_training_all_layers_compete_globally(model, split):
    model[0] = LoSparseLinear.from_linear(model[0], 0.2)
    model[3] = LoSparseLinear.from_linear(nn.Linear(20, 10), 0.2)
    with torch.no_grad():
        model[3].sparse.mul_(1e-6)
    finetune(model, Sign(), split, Training(steps=0), Pruning(keep=0.5, scope="global"))
    assert int(model[0].kept.sum()) == 15
    assert not model[3].kept.any()


def test_divergence_is_an_error_that_says_what_to_do(model, split):
    split.tensors["x"][0] = float("nan")
    with pytest.raises(DivergedError, match="smaller rate"):
        finetune(model, Sign(), split, Training(steps=20, batch=256))


def test_progress_is_told_and_the_mode_comes_back(model, split):
    told = []
    model.eval()
    finetune(model, Sign(), split, Training(steps=120), progress=lambda steps, loss: told.append((steps, loss)))
    assert [steps for steps, _ in told] == [50, 100, 120]
    assert not model.training
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"steps": -1}, "steps"), ({"batch": 0}, "batch"), ({"rate": 0.0}, "rate"), ({"schedule": "x"}, "schedule")],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(ValueError, match=word):
        Training(**settings)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_recorded_steps_are_the_same_as_eager_ones(split):
    def trained(graph):
        torch.manual_seed(1)
        model = nn.Sequential(nn.Linear(10, 20), nn.Tanh(), nn.Linear(20, 2)).cuda()
        model[0] = LoSparseLinear.from_linear(model[0], 0.2)
        losses = finetune(model, Sign(), split, Training(steps=60, rate=1e-2, graph=graph), Pruning(keep=0.25))
        return losses, model[0].kept.cpu()

    eager, recorded = trained(False), trained(True)
    assert eager[0] == pytest.approx(recorded[0], rel=2e-2)
    assert torch.equal(eager[1], recorded[1])


class Waits(nn.Module):
    """A model whose forward pass reads a value back from the device."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(10, 2)
        self.dropout = nn.Dropout(0.01)

    def forward(self, x):
        return self.linear(self.dropout(x)) if x.sum().item() > -1e9 else x


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_model_that_waits_for_the_device_is_trained_step_by_step(split):
    torch.manual_seed(1)
    plain = nn.Sequential(nn.Dropout(0.01), nn.Linear(10, 2))
    for model in (Waits(), plain, Waits()):  # those that can be recorded are not disturbed
        losses = finetune(model.cuda(), Sign(), split, Training(steps=100, rate=1e-2))
        assert sum(losses[-20:]) < 0.8 * sum(losses[:20])


def test_texts_are_trained_on_without_the_padding_that_all_of_a_batch_have():
    lengths, losses = [], {}

    class Counting(Sign):
        def loss(self, model, batch):
            lengths.append(batch["x"].shape[1])
            return nn.functional.cross_entropy(
                model((batch["x"] * batch["attention_mask"]).sum(1, keepdim=True)), batch["y"]
            )

    x, mask = torch.ones(6, 8), (torch.arange(8) < torch.tensor([[3], [5], [2], [5], [1], [4]])).long()
    padded = Split({"x": x, "attention_mask": mask, "y": torch.tensor([0, 1, 0, 1, 0, 1])})
    for short in (False, True):
        torch.manual_seed(0)
        losses[short] = finetune(nn.Linear(1, 2), Counting(), padded, Training(steps=3, batch=6), short=short)
    assert lengths == [8, 8, 8, 5, 5, 5]
    assert losses[True] == pytest.approx(losses[False])

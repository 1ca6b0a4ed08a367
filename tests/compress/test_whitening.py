from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from betabo.compress.layers import Factors, weight_of
from betabo.compress.plan import CompressionPlan
from betabo.compress.whitening import factors_of, gradient_moments, input_moments, whitened_factors
from betabo.compress.without_training import compress_model


def inputs_of_unequal_size(count: int = 400, inputs: int = 12) -> Tensor:
    """Vectors that vary a lot in some directions and hardly in others."""
    generator = torch.Generator().manual_seed(0)
    mixing = torch.randn(inputs, inputs, generator=generator, dtype=torch.float64)
    scales = torch.logspace(1, -2, inputs, dtype=torch.float64)
    return torch.randn(count, inputs, generator=generator, dtype=torch.float64) * scales @ mixing


def output_error(weight: Tensor, factors: Factors, rank: int, x: Tensor) -> float:
    rest = weight - factors.left[:, :rank] @ factors.right[:rank]
    return float((x @ rest.T).square().mean())


@pytest.mark.parametrize("shape", [(20, 12), (8, 12)])
def test_outputs_are_the_best_of_their_rank(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(shape, dtype=torch.float64), inputs_of_unequal_size()
    factors = whitened_factors(weight, x.T @ x / len(x), damping=1e-12)
    torch.testing.assert_close(factors.left @ factors.right, weight, rtol=1e-6, atol=1e-6)
    for rank in (1, 3, 6):
        # by Eckart and Young for the outputs themselves: the best matrix of this rank, of any kind
        tail = torch.linalg.svdvals(x @ weight.T)[rank:].square().sum() / (len(x) * shape[0])
        assert output_error(weight, factors, rank, x) == pytest.approx(float(tail), rel=1e-4)
        assert output_error(weight, factors, rank, x) < 0.9 * output_error(weight, Factors.of(weight), rank, x)


def test_of_the_outputs_those_that_gradients_point_to_are_kept() -> None:
    torch.manual_seed(0)
    weight, x = torch.randn(9, 12, dtype=torch.float64), inputs_of_unequal_size()
    gradients = inputs_of_unequal_size(inputs=9)
    moments = x.T @ x / len(x), gradients.T @ gradients / len(gradients)
    factors = whitened_factors(weight, *moments, damping=1e-12, gradient_damping=1e-12)
    torch.testing.assert_close(factors.left @ factors.right, weight, rtol=1e-5, atol=1e-5)
    changes = gradients @ weight @ x.T  # what the loss changes by, to first order, for each pair of vectors
    for rank in (1, 3, 6):
        rest = weight - factors.left[:, :rank] @ factors.right[:rank]
        best = torch.linalg.svdvals(changes)[rank:].square().sum()  # Eckart and Young
        assert float((gradients @ rest @ x.T).square().sum()) == pytest.approx(float(best), rel=1e-3)
    assert factors.left.norm(dim=0).tolist() == pytest.approx(factors.right.norm(dim=1).tolist())


def test_moments_of_gradients_are_those_of_each_vector_that_comes_out(tiny_bert: Any) -> None:
    plan = CompressionPlan.of(tiny_bert)
    tokens = torch.arange(4, 28).view(4, 6)
    mask = torch.ones_like(tokens)
    mask[0, 4:] = mask[3, 2:] = 0
    batches = [{"input_ids": tokens[part], "attention_mask": mask[part]} for part in (slice(0, 1), slice(1, 4))]

    def loss(batch: Any) -> Tensor:
        return tiny_bert(**batch).logits.square().sum()

    found = gradient_moments(tiny_bert, plan, batches, loss)
    name = plan.layers[-1].name
    layer, bias = tiny_bert.get_submodule(name), tiny_bert.get_submodule(name).bias
    total = torch.zeros_like(found[name])
    for example in range(4):  # a shift of one vector that comes out, and what the loss of its example changes by
        batch = {"input_ids": tokens[example : example + 1], "attention_mask": mask[example : example + 1]}
        shift = torch.zeros(1, 6, len(bias), requires_grad=True)
        hook = layer.register_forward_hook(lambda _module, _inputs, output, shift=shift: output + shift)
        (gradient,) = torch.autograd.grad(loss(batch), shift)
        hook.remove()
        vectors = gradient[0][mask[example].bool()].double()
        total += vectors.T @ vectors
    torch.testing.assert_close(found[name], total / int(mask.sum()), rtol=1e-4, atol=1e-7)
    assert not any(module._forward_hooks for module in tiny_bert.modules())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in tiny_bert.parameters())


def test_moments_of_gradients_need_no_parameter_with_a_gradient() -> None:
    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(5, 5, bias=False), nn.ReLU(inplace=True)) for _ in range(3)]
    model = nn.Sequential(*layers).requires_grad_(False)
    x, plan = torch.randn(7, 5), CompressionPlan.of(model)
    found = gradient_moments(model, plan, [{"input": x}], lambda batch: model(**batch).sum())
    last = (x := model[:2](x)) @ model[2][0].weight.T > 0  # what the sum falls by, for each output
    torch.testing.assert_close(found["2.0"], (last.double().T @ last.double()) / 7)
    assert set(found) == {"0.0", "1.0", "2.0"}
    assert not any(parameter.requires_grad for parameter in model.parameters())


def test_white_inputs_give_the_plain_decomposition() -> None:
    torch.manual_seed(0)
    weight = torch.randn(6, 5, dtype=torch.float64)
    white, plain = whitened_factors(weight, 3 * torch.eye(5, dtype=torch.float64)), Factors.of(weight)
    torch.testing.assert_close(white.left[:, :2] @ white.right[:2], plain.left[:, :2] @ plain.right[:2])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_directions_without_any_input_do_no_harm(dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    weight = torch.randn(6, 5).to(dtype)
    moment = torch.diag(torch.tensor([1.0, 2.0, 0.0, 0.0, 0.0], dtype=torch.float64))
    factors = whitened_factors(weight, moment)
    assert factors.left.dtype == factors.right.dtype == dtype
    torch.testing.assert_close(factors.left @ factors.right, weight, rtol=0.05, atol=0.05)
    nothing = whitened_factors(weight, torch.zeros(5, 5, dtype=torch.float64))
    assert torch.equal(nothing.left, Factors.of(weight).left)


def test_moments_are_those_of_all_vectors_that_are_no_padding(tiny_bert: Any) -> None:
    plan = CompressionPlan.of(tiny_bert)
    tokens = torch.arange(4, 28).view(4, 6)
    mask = torch.ones_like(tokens)
    mask[0, 4:] = mask[3, 2:] = 0
    seen: list[Tensor] = []
    name = plan.layers[0].name  # a query: its inputs are the embeddings
    hook = tiny_bert.get_submodule(name).register_forward_pre_hook(lambda _, x: seen.append(x[0].detach()))
    batches = [{"input_ids": tokens[part], "attention_mask": mask[part]} for part in (slice(0, 1), slice(1, 4))]
    moments = input_moments(tiny_bert, plan, batches)
    hook.remove()
    x = torch.cat(seen)[mask.bool()].double()
    assert len(x) == mask.sum() == 18
    torch.testing.assert_close(moments[name], x.T @ x / len(x), rtol=1e-5, atol=1e-6)
    assert {name: len(moment) for name, moment in moments.items()} == {
        layer.name: layer.inputs for layer in plan.layers
    }
    assert not any(module._forward_pre_hooks for module in tiny_bert.modules())


@pytest.mark.parametrize("architecture", ["tiny_bert", "tiny_gpt2", "tiny_vit"])
def test_a_calibrated_model_is_closer_to_the_original(architecture: str, request: pytest.FixtureRequest) -> None:
    model = request.getfixturevalue(architecture)
    torch.manual_seed(0)
    if architecture == "tiny_vit":
        batches = [{"pixel_values": torch.randn(1, 3, 1, 1).expand(1, 3, 16, 16) * scale} for scale in range(1, 9)]
    else:
        batches = [{"input_ids": torch.randint(4, 12, (4, 8))} for _ in range(8)]

    def change(small: nn.Module) -> float:
        with torch.no_grad():
            return sum(float((small(**batch).logits - model(**batch).logits).square().mean()) for batch in batches)

    plain = change(compress_model(model, 0.3, keep=0.0))
    assert change(compress_model(model, 0.3, keep=0.0, calibration=batches)) < 0.8 * plain


def test_layers_that_are_not_reached_have_plain_factors(tiny_bert: Any) -> None:
    plan = CompressionPlan.of(tiny_bert)
    factors = factors_of(tiny_bert, plan, [])
    weight = weight_of(tiny_bert.get_submodule(plan.layers[0].name))
    assert torch.equal(factors[plan.layers[0].name].left, Factors.of(weight).left)

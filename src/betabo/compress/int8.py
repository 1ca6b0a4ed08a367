"""Linear layers with weights of eight bits, on top of a compression: a quarter of the bytes, and less time on a CPU.

A weight is stored as whole numbers from -127 to 127, with a scale for each output. On a CPU what comes in is rounded to
eight bits as it runs, as in torch's dynamic quantization; elsewhere the weight is multiplied out.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from betabo.compress.layers import CompactLinear, LazyWeight, Linear, bias_of, weight_of

_LARGEST = 127

Model = TypeVar("Model", bound=nn.Module)


class Int8Linear(nn.Module):
    """A linear layer with a weight of eight bits.

    Args:
        inputs: Length of a vector that goes in.
        outputs: Length of a vector that comes out.
        bias: Whether there is a bias.

    Attributes:
        whole: The weight in whole numbers, outputs x inputs, int8.
        scale: What each row of it is multiplied with, outputs.
    """

    whole: Tensor
    scale: Tensor

    def __init__(self, inputs: int, outputs: int, *, bias: bool = True) -> None:
        super().__init__()
        self.register_buffer("whole", torch.zeros(outputs, inputs, dtype=torch.int8))
        self.register_buffer("scale", torch.ones(outputs))
        self.bias = nn.Parameter(torch.zeros(outputs), requires_grad=False) if bias else None
        self._packed: tuple[Tensor, Any] | None = None

    @classmethod
    @torch.no_grad()
    def of(cls, weight: Tensor, bias: Tensor | None = None) -> Int8Linear:
        """The layer whose weight is the nearest to this one, outputs x inputs."""
        outputs, inputs = weight.shape
        made = cls(inputs, outputs, bias=bias is not None)
        scale = (weight.detach().float().abs().amax(1) / _LARGEST).clamp(min=torch.finfo(torch.float32).tiny)
        made.whole = (weight.detach().float() / scale.unsqueeze(-1)).round().clamp(-_LARGEST, _LARGEST).to(torch.int8)
        made.scale = scale.to(weight.dtype)
        if bias is not None:
            made.bias = nn.Parameter(bias.detach().clone(), requires_grad=False)
        return made

    @property
    def weight(self) -> Tensor:
        """The weight, outputs x inputs, see `CompactLinear.weight`."""
        return LazyWeight.of(self.scale, tuple(self.whole.shape), self._multiplied)

    def forward(self, x: Tensor) -> Tensor:
        """Apply to the last dimension of `x`."""
        if x.device.type == "cpu" and x.dtype == torch.float32 and torch.backends.quantized.engine != "none":
            y: Tensor = torch.ops.quantized.linear_dynamic(x, self._for_cpu(), True)
            return y
        return linear(x, self._multiplied().to(x.dtype), None if self.bias is None else self.bias.to(x.dtype))

    def __getstate__(self) -> dict[str, Any]:
        """Without the form for a CPU, which is made anew."""
        return {**self.__dict__, "_packed": None}

    def extra_repr(self) -> str:
        """Shapes, for printing a model."""
        outputs, inputs = self.whole.shape
        return f"in_features={inputs}, out_features={outputs}, bits=8"

    def _multiplied(self) -> Tensor:
        return self.whole.to(self.scale.dtype) * self.scale.unsqueeze(-1)

    def _for_cpu(self) -> Any:
        """The weight in the order that the products of a CPU want, made when it is first used."""
        if self._packed is None or self._packed[0] is not self.whole:
            zeros = torch.zeros(len(self.scale), dtype=torch.int64)
            scales = self.scale.double()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch says that this will move to another package
                weight = torch._make_per_channel_quantized_tensor(self.whole, scales, zeros, 0)
            bias = None if self.bias is None else self.bias.detach().float()
            self._packed = self.whole, torch.ops.quantized.linear_prepack(weight, bias)
        return self._packed[1]


class Int8CompactLinear(nn.Module):
    """A `CompactLinear` whose three matrices have eight bits.

    Args:
        inputs: Length of a vector that goes in.
        outputs: Length of a vector that comes out.
        rank: Rank of the low-rank part.
        rows: Number of rows that have entries of their own.
        bias: Whether there is a bias.
    """

    index: Tensor

    def __init__(self, inputs: int, outputs: int, rank: int, rows: int, *, bias: bool = True) -> None:
        super().__init__()
        self.right = Int8Linear(inputs, rank, bias=False)
        self.left = Int8Linear(rank, outputs, bias=bias)
        self.block = Int8Linear(inputs, rows, bias=False) if rows else None
        self.register_buffer("index", torch.arange(rows))

    @classmethod
    def of(cls, layer: CompactLinear) -> Int8CompactLinear:
        """The layer nearest to a compact one."""
        with torch.device("meta"):
            made = cls(layer.right.shape[1], len(layer.left), layer.rank, layer.rows, bias=layer.bias is not None)
        made.right, made.left = Int8Linear.of(layer.right), Int8Linear.of(layer.left, layer.bias)
        if layer.rows:
            made.block = Int8Linear.of(layer.block)
        made.index = layer.index.clone()
        return made

    @property
    def weight(self) -> Tensor:
        """The weight that the parts make up, outputs x inputs, see `CompactLinear.weight`."""
        return LazyWeight.of(self.left.scale, (len(self.left.scale), self.right.whole.shape[1]), self._multiplied)

    def forward(self, x: Tensor) -> Tensor:
        """Apply to the last dimension of `x`."""
        y: Tensor = self.left(self.right(x))
        return y if self.block is None else y.index_add(-1, self.index, self.block(x).to(y.dtype))

    def _multiplied(self) -> Tensor:
        whole = self.left._multiplied() @ self.right._multiplied()
        return whole if self.block is None else whole.index_add(0, self.index, self.block._multiplied())


@torch.no_grad()
def evened(model: Model, batches: Iterable[Mapping[str, Tensor]]) -> Model:
    """A copy of a model that does the same, whose compact layers are better rounded to eight bits.

    Between the two products of a layer, numbers of very different size are rounded with one scale for all. Here each
    is divided by the largest that it has for some examples, and the second matrix multiplied by it.

    Args:
        model: The model.
        batches: Arguments of its `forward`, where the model is.
    """
    made = copy.deepcopy(model)
    layers = [module for module in made.modules() if isinstance(module, CompactLinear)]
    largest = {layer: torch.zeros_like(layer.right[:, 0]) for layer in layers}

    def look(layer: CompactLinear, arguments: tuple[Tensor, ...]) -> None:
        found = linear(arguments[0].to(layer.right.dtype), layer.right).flatten(0, -2).abs().amax(0)
        torch.maximum(largest[layer], found, out=largest[layer])

    hooks = [layer.register_forward_pre_hook(look) for layer in layers]
    for batch in batches:
        made(**batch)
    for hook in hooks:
        hook.remove()
    for layer, sizes in largest.items():
        scale = torch.where(sizes > 0, sizes, torch.ones_like(sizes))
        layer.right.div_(scale.unsqueeze(1))
        layer.left.mul_(scale)
    return made


def int8_layer(module: Linear | CompactLinear) -> Int8Linear | Int8CompactLinear:
    """The layer of eight bits that is nearest to a compact or plain one."""
    made = (
        Int8CompactLinear.of(module)
        if isinstance(module, CompactLinear)
        else Int8Linear.of(weight_of(module), bias_of(module))
    )
    return made.train(module.training)

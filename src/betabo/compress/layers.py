r"""Linear layers of low rank plus sparse rows.

A linear layer $y = W x + b$ with $H$ outputs and $I$ inputs becomes

$$ y = L (R x) + S x + b, \qquad L \in \mathbb{R}^{H \times r},\; R \in \mathbb{R}^{r \times I}, $$

where $L R$ is the best approximation of $W$ of rank $r$ and $S = W - L R$ is what it leaves out. The two layers here
are the two lives of it: `LoSparseLinear` has a dense $S$ and is trained while rows of $S$ are pruned; `CompactLinear`
has the rows that were kept, as a small dense matrix, and nothing that is masked.

The method is LoSparse (Li et al., 2023).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

Linear: TypeAlias = nn.Module
"""An `nn.Linear`, or the `Conv1D` of Transformers, which is one with its weight transposed."""


def is_linear(module: nn.Module) -> bool:
    """Whether this is an `nn.Linear` or a `Conv1D` of Transformers.

    Subclasses do not count: what they add would be lost, and `nn.MultiheadAttention` reads the weight of its own
    rather than calling it.
    """
    return type(module) is nn.Linear or _is_conv1d(module)


def _is_conv1d(module: nn.Module) -> bool:
    kind = type(module)
    return kind.__name__ == "Conv1D" and kind.__module__.startswith("transformers.")


def weight_of(module: Linear) -> Tensor:
    """The weight as outputs x inputs, detached."""
    weight: Tensor = module.weight.detach()  # type: ignore[operator]
    return weight.T if _is_conv1d(module) else weight


def bias_of(module: Linear) -> Tensor | None:
    """The bias, detached."""
    bias = module.bias
    return bias.detach() if isinstance(bias, Tensor) else None


def rank_of(ratio: float, outputs: int, inputs: int) -> int:
    r"""The rank for which $L$ and $R$ together have the share `ratio` of the parameters of $W$.

    It is $\lceil \mathrm{ratio} \cdot H I / (H + I) \rceil$, at least 1 and at most the smaller side.
    """
    exact = ratio * outputs * inputs / (outputs + inputs)
    return min(max(1, math.ceil(round(exact, 9))), outputs, inputs)


def rows_of(keep: float, outputs: int) -> int:
    """How many rows of $S$ are kept for the share `keep`, to the nearest."""
    return math.floor(keep * outputs + 0.5)


@dataclass(frozen=True)
class Factors:
    r"""The singular value decomposition of a weight with the roots of the singular values in both factors.

    Attributes:
        left: $U \sqrt\Sigma$, outputs x min(outputs, inputs).
        right: $\sqrt\Sigma V^\top$, min(outputs, inputs) x inputs.
        root: A root of the second moment of the inputs, inputs x inputs, if the factors are the best for the outputs.
    """

    left: Tensor
    right: Tensor
    root: Tensor | None = None

    @classmethod
    def of(cls, weight: Tensor) -> Factors:
        """The factors of a weight, computed in at least single precision."""
        exact = weight.detach()
        exact = exact if exact.dtype == torch.float64 else exact.float()
        u, s, vh = torch.linalg.svd(exact, full_matrices=False)
        root = s.sqrt()
        return cls((u * root).to(weight.dtype), (root.unsqueeze(-1) * vh).to(weight.dtype))


class LazyWeight(Tensor):
    """A weight that is computed when something is computed with it; what is known without is answered at once."""

    _make: Callable[[], Tensor]

    @classmethod
    def of(cls, like: Tensor, shape: tuple[int, ...], make: Callable[[], Tensor]) -> Tensor:
        """The weight that `make` computes.

        Args:
            like: A tensor of its dtype, on its device.
            shape: Its shape.
            make: Computes it.
        """
        lazy = torch.empty(1, dtype=like.dtype, device=like.device).expand(shape).as_subclass(cls)
        lazy._make = make
        return lazy

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Answer what the placeholder knows, and compute everything else with the weight itself."""
        if func in _KNOWN:
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[no-untyped-call]
        return func(*_computed(args), **{name: _computed(value) for name, value in (kwargs or {}).items()})


_KNOWN = {
    *(getattr(Tensor, name).__get__ for name in ("dtype", "device", "shape", "ndim", "layout", "is_cuda", "is_meta")),
    *(Tensor.size, Tensor.dim, Tensor.numel, Tensor.is_floating_point, Tensor.__len__),
}
"""What does not depend on the entries of a tensor."""


def _computed(value: Any) -> Any:
    """Arguments of a function with their weights computed."""
    if isinstance(value, LazyWeight):
        return value._make()
    return type(value)(map(_computed, value)) if type(value) in (tuple, list) else value


class LoSparseLinear(nn.Module):
    """A linear layer in training: low rank plus a matrix whose rows are being pruned.

    Args:
        left: outputs x rank.
        right: rank x inputs.
        sparse: outputs x inputs.
        bias: outputs, or None.

    Attributes:
        kept: Which rows of `sparse` are left, outputs. The others are zero once a pruner has ended.

    Example:
        >>> layer = LoSparseLinear.from_linear(torch.nn.Linear(6, 4), ratio=0.5)
        >>> layer.rank
        2
    """

    kept: Tensor

    def __init__(self, left: Tensor, right: Tensor, sparse: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.left = nn.Parameter(left)
        self.right = nn.Parameter(right)
        self.sparse = nn.Parameter(sparse)
        self.bias = None if bias is None else nn.Parameter(bias)
        self.register_buffer("kept", torch.ones(len(sparse), dtype=torch.bool, device=sparse.device))

    @classmethod
    def from_linear(cls, module: Linear, ratio: float, factors: Factors | None = None) -> LoSparseLinear:
        """The same function as `module`, split at the rank for `ratio`.

        Args:
            module: An `nn.Linear` or `Conv1D`.
            ratio: Parameters of the low-rank part as a share of those of the weight, above 0.
            factors: The factors of its weight if they are known.
        """
        weight, bias = weight_of(module), bias_of(module)
        factors = Factors.of(weight) if factors is None else factors
        rank = rank_of(ratio, *weight.shape)
        left, right = factors.left[:, :rank].clone(), factors.right[:rank].clone()
        return cls(left, right, weight - left @ right, None if bias is None else bias.clone())

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return len(self.right)

    @property
    def weight(self) -> Tensor:
        """The weight that the parts make up, outputs x inputs, see `CompactLinear.weight`."""
        return LazyWeight.of(self.left, tuple(self.sparse.shape), self._whole)

    def forward(self, x: Tensor) -> Tensor:
        """Apply to the last dimension of `x`.

        The parts are put together first: a batch has many more vectors than the weight has rows, so that one product
        with it takes less than three with its parts.
        """
        return linear(x, self._whole(), self.bias)

    def _whole(self) -> Tensor:
        return self.left @ self.right + self.sparse

    @torch.no_grad()
    def keep_largest(self, rows: int, root: Tensor | None = None) -> None:
        """Keep the rows of `sparse` that matter most and set the others to zero.

        Args:
            rows: How many.
            root: A root of the second moment of the inputs, for the rows that give the largest outputs; None for those
                of the largest norm.
        """
        outputs = self.sparse if root is None else self.sparse @ root
        self.kept.zero_()
        self.kept[outputs.norm(dim=1).topk(rows).indices] = True
        self.sparse[~self.kept] = 0

    @torch.no_grad()
    def materialise(self) -> CompactLinear | nn.Linear:
        """The layer without what was pruned: compact, or a plain linear layer where that is smaller."""
        outputs, inputs = self.sparse.shape
        index = self.kept.nonzero().squeeze(-1)
        has_bias = self.bias is not None
        made: CompactLinear | nn.Linear
        if self.rank * (outputs + inputs) + len(index) * inputs < outputs * inputs:
            made = CompactLinear(inputs, outputs, self.rank, len(index), bias=has_bias).to(self.sparse)
            made.left.copy_(self.left)
            made.right.copy_(self.right)
            made.block.copy_(self.sparse[index])
            made.index.copy_(index)
        else:
            made = nn.Linear(inputs, outputs, bias=has_bias).to(self.sparse)
            made.weight.copy_(self.weight)
        if self.bias is not None and made.bias is not None:
            made.bias.copy_(self.bias)
        return made.train(self.training)

    def extra_repr(self) -> str:
        """Shapes, for printing a model."""
        outputs, inputs = self.sparse.shape
        return f"in_features={inputs}, out_features={outputs}, rank={self.rank}, rows={int(self.kept.sum())}"


class CompactLinear(nn.Module):
    """A compressed linear layer: two thin matrices, and some rows of a third one.

    Args:
        inputs: Length of a vector that goes in.
        outputs: Length of a vector that comes out.
        rank: Rank of the low-rank part.
        rows: Number of rows that have entries of their own.
        bias: Whether there is a bias.

    Attributes:
        left: outputs x rank.
        right: rank x inputs.
        block: The rows, rows x inputs.
        index: Which outputs the rows belong to, rows, int64.
    """

    index: Tensor

    def __init__(self, inputs: int, outputs: int, rank: int, rows: int, *, bias: bool = True) -> None:
        super().__init__()
        self.left = nn.Parameter(torch.zeros(outputs, rank))
        self.right = nn.Parameter(torch.zeros(rank, inputs))
        self.block = nn.Parameter(torch.zeros(rows, inputs))
        self.bias = nn.Parameter(torch.zeros(outputs)) if bias else None
        self.register_buffer("index", torch.arange(rows))

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return len(self.right)

    @property
    def rows(self) -> int:
        """Number of rows that have entries of their own."""
        return len(self.block)

    @property
    def weight(self) -> Tensor:
        """The weight that the parts make up, outputs x inputs, not computed before somebody computes with it.

        Many models of Transformers ask a layer's weight for its dtype or its device in each pass.
        """
        shape = (len(self.left), self.right.shape[1])
        return LazyWeight.of(self.left, shape, lambda: (self.left @ self.right).index_add(0, self.index, self.block))

    def forward(self, x: Tensor) -> Tensor:
        """Apply to the last dimension of `x`."""
        y = linear(linear(x, self.right), self.left, self.bias)
        if self.rows == 0:
            return y
        return y.index_add(-1, self.index, linear(x, self.block).to(y.dtype))

    def extra_repr(self) -> str:
        """Shapes, for printing a model."""
        outputs, inputs = len(self.left), self.right.shape[1]
        return f"in_features={inputs}, out_features={outputs}, rank={self.rank}, rows={self.rows}"

"""A function of few coordinates as a problem of many."""

from __future__ import annotations

from botorch.test_functions.synthetic import SyntheticTestFunction
from torch import Tensor

from betabo.lab.problems.optima import listed_optima


class Repeated(SyntheticTestFunction):
    r"""The mean of a function over consecutive blocks of coordinates.

    With a function :math:`g` of :math:`m` coordinates and :math:`b = \lfloor d/m \rfloor` blocks,

    .. math:: f(x) = \frac1b \sum_{j=0}^{b-1} g(x_{jm+1}, \dots, x_{jm+m}).

    Coordinates that are left over have no influence. Every mix of optima of the blocks is an optimum; listed are those
    with the same optimum in each block, in the order of :math:`g`, and the left-over coordinates in the middle.

    Args:
        block: The function of one block, with optima and optimal value.
        dim: Number of coordinates, at least those of one block.
    """

    def __init__(self, block: SyntheticTestFunction, dim: int) -> None:
        if dim < block.dim:
            raise ValueError(f"dim is {dim}, expected at least {block.dim}, the coordinates of {type(block).__name__}.")
        blocks, left_over = divmod(dim, block.dim)
        pairs = [(float(low), float(high)) for low, high in block._bounds]
        self.dim = dim
        self.continuous_inds = list(range(dim))
        self._bounds = pairs * blocks + pairs[:left_over]
        middle = tuple((low + high) / 2 for low, high in pairs[:left_over])
        self._optimizers = [optimum * blocks + middle for optimum in listed_optima(block)]
        self._optimal_value = block._optimal_value
        self._check_grad_at_opt = block._check_grad_at_opt
        super().__init__()
        self.block = block

    def _evaluate_true(self, X: Tensor) -> Tensor:  # noqa: N803
        used = X[..., : self.dim - self.dim % self.block.dim]
        blocks: Tensor = used.unflatten(-1, (-1, self.block.dim))  # ... x blocks x m
        return self.block._evaluate_true(blocks).mean(dim=-1)

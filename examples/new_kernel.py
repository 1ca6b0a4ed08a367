"""A kernel of your own in a search: first without a closed form, then with one, which takes less time.

python examples/new_kernel.py
"""

import time
from functools import partial
from typing import Any

from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel
from torch import Tensor

from betabo import minimize
from betabo.kernels.closed_form import declares
from betabo.kernels.factory import SHORTEST_LENGTHSCALE, dimension_scaled_prior, with_output_scale
from betabo.kernels.radial_form import RadialForm


def cauchy(sq_distance: Any) -> tuple[Any, Any]:
    """The formula, 1 / (1 + r^2), and its derivative by r^2; of tensors and of arrays alike."""
    values = 1 / (1 + sq_distance)
    return values, -values * values


class CauchyKernel(Kernel):
    """Correlations that fade slowly with the distance: a GPyTorch kernel, which is all that a search needs."""

    has_lengthscale = True

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        """Covariances of the points `x1`, `... x n x d`, with the points `x2`, `... x m x d`."""
        x1, x2 = x1 / self.lengthscale, x2 / self.lengthscale
        return cauchy(self.covar_dist(x1, x2, diag=diag, square_dist=True, **params))[0]


class DeclaredCauchyKernel(CauchyKernel):
    """The same kernel with a closed form. It is declared for this class, and for none derived from it."""


@declares(DeclaredCauchyKernel)
def cauchy_form(kernel: DeclaredCauchyKernel) -> RadialForm:
    """The formula again, of the coordinates over the length scales."""
    return RadialForm(kernel, cauchy)


def with_priors(kind: type[Kernel], dims: int) -> Kernel:
    """The kernel of so many coordinates as a search takes it: for values of mean 0 and variance 1."""
    prior = dimension_scaled_prior(dims)
    constraint = GreaterThan(SHORTEST_LENGTHSCALE, transform=None, initial_value=prior.mode)
    return with_output_scale(kind(ard_num_dims=dims, lengthscale_prior=prior, lengthscale_constraint=constraint))


def valley(x: Any) -> float:
    """Lowest at (1, 1)."""
    return (x[0] - 1) ** 2 + (x[1] - x[0] ** 2) ** 2


def main(budget: int = 30) -> None:
    """Minimize the same function with either kernel."""
    for kind in (CauchyKernel, DeclaredCauchyKernel):
        began = time.perf_counter()
        result = minimize(valley, [(-5, 5), (-5, 5)], budget=budget, seed=0, kernel=partial(with_priors, kind))
        print(f"{kind.__name__}: {result.fun:.2g} at {result.x.round(3)}, {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()

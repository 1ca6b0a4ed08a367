"""A Gaussian process with fixed hyperparameters, as a BoTorch model."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import torch
from botorch.acquisition.objective import PosteriorTransform
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.posteriors.posterior import Posterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel
from gpytorch.settings import lazily_evaluate_kernels
from linear_operator import to_linear_operator
from torch import Size, Tensor


def covariance_matrix(kernel: Kernel, x1: Tensor, x2: Tensor | None = None) -> Tensor:
    """Covariance of two sets of points at once, without GPyTorch's lazy tensors in between."""
    with lazily_evaluate_kernels(False):
        dense: Tensor = kernel(x1, x2).to_dense()
    return dense


JITTER = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""What is added to the diagonal, relative to its mean, until a covariance matrix has a Cholesky factor."""


_BELIEVED = 1e-6  # noise variance, of standardized values, of a value that is taken for granted


def cholesky(covariance: Tensor) -> Tensor:
    """Lower Cholesky factor, with as little jitter as it takes.

    Raises:
        ValueError: If the matrix is not positive definite even with the largest jitter, or not finite.
    """
    scale = covariance.diagonal(dim1=-2, dim2=-1).mean(dim=-1)
    for jitter in JITTER:
        shifted = covariance
        if jitter:
            shifted = covariance + (jitter * scale)[..., None, None] * torch.eye(
                covariance.shape[-1], dtype=covariance.dtype, device=covariance.device
            )
        factor: Tensor
        factor, info = torch.linalg.cholesky_ex(shifted)
        if not bool(info.any()) and bool(factor.diagonal(dim1=-2, dim2=-1).isfinite().all()):
            return factor
    raise ValueError(f"covariance matrix of {covariance.shape[-1]} points is not positive definite")


class GaussianProcess(Model):
    r"""Posterior of a Gaussian process with a constant mean, for any GPyTorch kernel.

    BoTorch's `SingleTaskGP` joins the training points to every batch of queries before it asks the kernel. Here they
    stay apart: all queries of all t-batches make one kernel matrix with the training points, and what depends on the
    training points alone is computed once. Everything that acquisition functions ask of a model works as in BoTorch.

    Args:
        x: Points of the unit cube, `... x n x d`.
        y: Values, `... x n`.
        kernel: Covariance function, with its output scale; it is copied.
        noise: Noise variance, a number or `... x n`.
        mean: Constant mean; None estimates it by generalized least squares.
        factor: Lower Cholesky factor of the covariance of the values, noise included, where it is known already.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        kernel: Kernel,
        noise: Tensor | float,
        mean: Tensor | None = None,
        factor: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.kernel = deepcopy(kernel).requires_grad_(False)
        self.x, self.y = x, y
        self.noise = torch.as_tensor(noise, dtype=x.dtype, device=x.device)
        with torch.no_grad():
            if factor is None:
                covariance = covariance_matrix(self.kernel, x)
                factor = cholesky(covariance + torch.diag_embed(self.noise.expand(y.shape)))
            self.factor = factor
            if mean is None:
                ones = torch.ones_like(y).unsqueeze(-1)
                weights = torch.cholesky_solve(ones, self.factor).squeeze(-1)
                mean = (weights * y).sum(dim=-1) / weights.sum(dim=-1)
            self.mean = mean
            residual = (y - mean.unsqueeze(-1)).unsqueeze(-1)
            self.weights = torch.cholesky_solve(residual, self.factor)  # ... x n x 1

    @property
    def num_outputs(self) -> int:
        """One output."""
        return 1

    @property
    def batch_shape(self) -> Size:
        """Leading dimensions of independent problems."""
        return self.x.shape[:-2]

    @property
    def train_inputs(self) -> tuple[Tensor]:
        """The points, as GPyTorch's models name them."""
        return (self.x,)

    @property
    def train_targets(self) -> Tensor:
        """The values, as GPyTorch's models name them."""
        return self.y

    def posterior(
        self,
        X: Tensor,  # noqa: N803
        output_indices: list[int] | None = None,
        observation_noise: bool | Tensor = False,
        posterior_transform: PosteriorTransform | None = None,
        **_: Any,
    ) -> Posterior:
        """Joint posterior of the `q` points of each t-batch.

        Args:
            X: Query points, `t-batch x q x d`.
            output_indices: Not used: there is one output.
            observation_noise: Whether to add the noise variance.
            posterior_transform: Applied to the posterior.
        """
        del output_indices
        if self.batch_shape:
            cross = covariance_matrix(self.kernel, X, self.x)  # t-batch x q x n
            solved = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False)  # t-batch x n x q
        else:  # all queries at once: a batch of small triangular systems would be many times slower
            flat = covariance_matrix(self.kernel, X.reshape(-1, X.shape[-1]), self.x)
            cross = flat.unflatten(0, X.shape[:-1])
            solved = torch.linalg.solve_triangular(self.factor, flat.mT, upper=False)
            solved = solved.mT.unflatten(0, X.shape[:-1]).mT
        mean = self.mean.unsqueeze(-1) + (cross @ self.weights).squeeze(-1)
        if X.shape[-2] == 1:
            prior = self.kernel(X, diag=True).unsqueeze(-1)
            covariance = (prior - solved.square().sum(dim=-2, keepdim=True)).clamp_min(1e-12)
        else:
            covariance = covariance_matrix(self.kernel, X) - solved.mT @ solved
            floor = 1e-10 * covariance.detach().diagonal(dim1=-2, dim2=-1).amax(dim=-1).clamp_min(1e-6)
            covariance = covariance + floor[..., None, None] * torch.eye(X.shape[-2], dtype=X.dtype, device=X.device)
        if observation_noise is not False:
            noise = self.noise.mean() if observation_noise is True else torch.as_tensor(observation_noise)
            covariance = covariance + noise * torch.eye(X.shape[-2], dtype=X.dtype, device=X.device)
        # Lazily, as a factor is seldom needed, and GPyTorch's own adds jitter where points lie close together.
        posterior = GPyTorchPosterior(MultivariateNormal(mean, to_linear_operator(covariance)))
        return posterior if posterior_transform is None else posterior_transform(posterior)

    def condition(self, x: Tensor, y: Tensor | None = None) -> GaussianProcess:
        """The same process with further data and the same hyperparameters, mean included.

        Args:
            x: Further points, `... x m x d`.
            y: Their values, `... x m`; None takes the posterior mean, as if the points had turned out as expected, and
                without noise, so that nothing more is to be learned there.
        """
        noise = self.noise.expand(self.y.shape)
        further = noise.mean(dim=-1, keepdim=True)
        with torch.no_grad():
            cross = covariance_matrix(self.kernel, x, self.x)  # ... x m x n
            if y is None:
                further = further.clamp_max(_BELIEVED)
                y = self.mean.unsqueeze(-1) + (cross @ self.weights).squeeze(-1)
            noise, further = noise.expand(self.y.shape), further.expand(y.shape)
            factor = self._extended_factor(x, further, cross)
        return GaussianProcess(
            torch.cat([self.x, x], dim=-2),
            torch.cat([self.y, y], dim=-1),
            self.kernel,
            torch.cat([noise, further], dim=-1),
            self.mean,
            factor,
        )

    def _extended_factor(self, x: Tensor, noise: Tensor, cross: Tensor) -> Tensor | None:
        """The Cholesky factor with further points, of which that of the data is a part; None where rounding forbids."""
        below = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False).mT
        try:
            corner = cholesky(covariance_matrix(self.kernel, x) + torch.diag_embed(noise) - below @ below.mT)
        except ValueError:
            return None
        upper = torch.cat([self.factor, torch.zeros_like(below.mT)], dim=-1)
        return torch.cat([upper, torch.cat([below, corner], dim=-1)], dim=-2)

    def leave_one_out(self) -> tuple[Tensor, Tensor]:
        """What the process would expect of each of its values, noise included, if it did not know that one.

        Hyperparameters and mean stay those of all data.

        Returns:
            Means and variances, each `... x n`.
        """
        with torch.no_grad():
            precision = torch.cholesky_inverse(self.factor).diagonal(dim1=-2, dim2=-1)
            return self.y - self.weights.squeeze(-1) / precision, 1 / precision

    def draw(self, x: Tensor, count: int, generator: torch.Generator) -> Tensor:
        """Functions that agree with the data, as the process believes in them, at points `n x d`.

        Returns:
            Their values there, `count x n`.
        """
        with torch.no_grad():
            cross = covariance_matrix(self.kernel, x, self.x)
            solved = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False)
            covariance = covariance_matrix(self.kernel, x) - solved.mT @ solved
            covariance = (covariance + covariance.mT) / 2
            covariance.diagonal().add_(1e-9 * covariance.diagonal().amax().clamp_min(1e-6))
            normals = torch.randn(count, len(x), dtype=x.dtype, generator=generator)
            return self.mean + (cross @ self.weights).squeeze(-1) + normals @ cholesky(covariance).mT

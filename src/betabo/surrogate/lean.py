"""The posterior at single points in closed form, with its gradient: no autograd, no lazy tensors, few operations.

Where an acquisition function is maximized, a dozen points are looked at some sixty times, and the time goes into the
layers around the arithmetic. With the covariances and their slopes from the kernel's closed form
(`betabo.kernels.closed_form`), a look at `b` points takes two triangular systems besides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from gpytorch.settings import min_variance
from torch import Tensor

from betabo.kernels.closed_form import AtPoints, ByPoints, by_points
from betabo.surrogate.gp import GaussianProcess


class LeanPosterior:
    """Mean and standard deviation of a `GaussianProcess` at single points, and their gradients.

    Both are those of `GaussianProcess.posterior`, with GPyTorch's lower bound of the variance, up to the rounding of
    squared distances.

    Args:
        process: A process without batch dimensions, in float64, on the CPU.
        kernel: Its kernel as a function of points.
    """

    def __init__(self, process: GaussianProcess, kernel: ByPoints) -> None:
        self.kernel = kernel
        self.mean, self.weights, self.factor = process.mean, process.weights.squeeze(-1), process.factor

    @classmethod
    def of(cls, process: GaussianProcess) -> LeanPosterior | None:
        """The lean form of a process, or None where its kernel has no closed form."""
        kernel = by_points(process.kernel, process.x)
        return None if kernel is None else cls(process, kernel)

    @torch.no_grad()
    def predict(self, points: Tensor) -> Prediction:
        """The posterior at points of the unit cube, `b x d`."""
        prior = self.kernel(points.numpy())
        cross, variance = torch.from_numpy(prior.covariance), torch.from_numpy(prior.variance)
        solved = torch.linalg.solve_triangular(self.factor, cross.mT, upper=False)  # n x b
        variance = (variance - solved.square().sum(dim=0)).clamp_min(min_variance.value(torch.float64))
        mean = self.mean + cross @ self.weights
        return Prediction(mean, variance.sqrt(), self, prior, solved)


@dataclass(frozen=True)
class Prediction:
    """The posterior at `b` points, each by itself.

    Attributes:
        mean: Posterior means, `b`.
        sigma: Posterior standard deviations, without noise, `b`.
        posterior: What made the prediction.
        prior: The kernel at the points.
        solved: Covariances with the data through the Cholesky factor of the data's covariance, `n x b`.
    """

    mean: Tensor
    sigma: Tensor
    posterior: LeanPosterior
    prior: AtPoints
    solved: Tensor

    @torch.no_grad()
    def gradient(self, by_mean: Tensor, by_sigma: Tensor) -> Tensor:
        """Gradient, `b x d`, of a function of mean and standard deviation with the given derivatives, each `b`."""
        lean = self.posterior
        # Where the variance is at its lower bound it does not change.
        free = self.sigma > math.sqrt(min_variance.value(torch.float64))
        by_variance = torch.where(free, 0.5 * by_sigma / self.sigma, 0.0)
        inverse = torch.linalg.solve_triangular(lean.factor.mT, self.solved, upper=True).mT  # b x n
        by_cross = by_mean.unsqueeze(-1) * lean.weights - 2 * by_variance.unsqueeze(-1) * inverse
        return torch.from_numpy(self.prior.gradient(by_cross.numpy(), by_variance.numpy()))

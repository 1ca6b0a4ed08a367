r"""The knowledge gradient: by how much an evaluation is expected to improve the answer.

With noise the lowest value is no answer, since it is often a lucky one. The answer is the evaluated point with the
lowest posterior mean, and an evaluation is worth what it does to that mean: it may show a new point to be better, or
one of the old ones. So a point that has been evaluated may be worth another look, and EI, which asks for a low value,
cannot say so. For minimization, with answers :math:`x_1, \dots, x_m` and a candidate :math:`x`,

.. math::
    \min_i \mu(x_i) - \mathbb E \min_{i \le m + 1} \mu'(x_i), \qquad
    \mu'(x_i) = \mu(x_i) + \frac{\sigma(x_i, x)}{\sqrt{\sigma(x, x) + \nu}}\, Z, \qquad x_{m + 1} = x,

where :math:`\mu` and :math:`\sigma` are the posterior mean and covariance, :math:`\nu` is the variance of the noise and
:math:`Z` is standard normal. Without noise this is the expected improvement. The minimum is that of straight lines in
:math:`Z`, so the expectation is a sum over the corners of their envelope (Frazier, Powell and Dayanik, 2009): a corner
at :math:`c` where the slope changes by :math:`\delta` contributes :math:`\delta\, h(-|c|)`, with
:math:`h(u) = \phi(u) + u \Phi(u)`.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from betabo.acquisition.improvement import log_standard_improvement
from betabo.surrogate.gp import GaussianProcess, covariance_matrix
from betabo.surrogate.lean import LeanPosterior

_MOST_ANSWERS = 16
_LOWEST_VARIANCE = 1e-12


class LogKnowledgeGradient(AcquisitionFunction):
    """Logarithm of the expected improvement of the answer, for minimization.

    Args:
        model: A fitted model with one output and a Gaussian posterior.
        X_observed: Points that may be the answer, `n x d`. Those with the lowest means are taken, less a deviation.
        noise: Variance of the noise of the next value.
    """

    def __init__(self, model: Model, X_observed: Tensor, noise: float) -> None:  # noqa: N803
        super().__init__(model=model)
        self.noise = noise
        with torch.no_grad():
            X_observed = torch.unique(X_observed, dim=0)  # noqa: N806
            posterior = cast("GPyTorchPosterior", model.posterior(X_observed.unsqueeze(-2)))
            mean, deviation = posterior.mean.flatten(), posterior.variance.flatten().sqrt()
            bound = mean - deviation
            bound[mean.argmin()] = -torch.inf  # the answer of now is one of them
            chosen = bound.argsort()[:_MOST_ANSWERS]
        self.answers = X_observed[chosen]
        self.means = mean[chosen]

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        """Values at `b x 1 x d`, of shape `b`."""
        joint = torch.cat([X, self.answers.expand(*X.shape[:-2], -1, -1)], dim=-2)
        posterior = cast("GPyTorchPosterior", self.model.posterior(joint))
        row = posterior.distribution.covariance_matrix[..., 0, :]
        return log_gain(posterior.mean[..., 0, 0], row[..., 0], row[..., 1:], self.means, self.noise)


class LeanKnowledgeGradient(AcquisitionFunction):
    """The same of a process whose kernel has a closed form, from its covariances with the data alone.

    Args:
        function: The function, of a process.
        posterior: The posterior of the process.
        places: Where the answers stand among the data.
    """

    def __init__(self, function: LogKnowledgeGradient, posterior: LeanPosterior, places: Tensor) -> None:
        super().__init__(model=function.model)
        self._posterior, self._means, self._noise, self._places = posterior, function.means, function.noise, places
        process = cast("GaussianProcess", function.model)
        with torch.no_grad():
            cross = covariance_matrix(process.kernel, process.x, process.x[places])
            self._solved = torch.cholesky_solve(cross, process.factor)  # n x m

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        """Values at points of the unit cube, `... x 1 x d`, of shape `...`."""
        lean = self._posterior
        cross, prior = _Covariances.apply(X.reshape(-1, X.shape[-1]), lean)  # type: ignore[no-untyped-call]
        mean = lean.mean + cross @ lean.weights
        white = torch.linalg.solve_triangular(lean.factor, cross.mT, upper=False)
        variance = (prior - white.square().sum(dim=0)).clamp_min(_LOWEST_VARIANCE)
        covariance = cross[:, self._places] - cross @ self._solved
        return log_gain(mean, variance, covariance, self._means, self._noise).view(X.shape[:-2])


def lean_knowledge(function: LogKnowledgeGradient) -> AcquisitionFunction:
    """The lean form, or the function itself where there is none."""
    process = function.model
    posterior = LeanPosterior.of(process) if type(process) is GaussianProcess else None
    if posterior is None or not isinstance(process, GaussianProcess):
        return function
    same = (function.answers.unsqueeze(1) == process.x).all(dim=-1)  # m x n
    if not bool(same.any(dim=1).all()):
        return function
    return LeanKnowledgeGradient(function, posterior, same.int().argmax(dim=1))


def log_gain(mean: Tensor, variance: Tensor, covariance: Tensor, means: Tensor, noise: float) -> Tensor:
    """Logarithm of the expected improvement of the lowest mean by an evaluation at each of `b` points.

    Args:
        mean: Posterior means at the points, `b`.
        variance: Posterior variances there, `b`.
        covariance: Posterior covariances with the answers, `b x m`.
        means: Posterior means of the answers, `m`.
        noise: Variance of the noise.

    Returns:
        Logarithms, `b`; differentiable by the first three.
    """
    scale = (variance + noise).sqrt().unsqueeze(-1)
    heights = torch.cat([-means.expand(*mean.shape, -1), mean.neg().unsqueeze(-1)], dim=-1)  # b x (m + 1)
    slopes = torch.cat([covariance, variance.unsqueeze(-1)], dim=-1) / scale
    is_corner, following = _envelope(heights.detach(), slopes.detach())
    rise = (slopes.gather(-1, following) - slopes).where(is_corner, torch.ones_like(slopes))
    corner = ((heights - heights.gather(-1, following)) / rise).where(is_corner, torch.zeros_like(slopes))
    terms = (rise.log() + log_standard_improvement(-corner.abs())).masked_fill(~is_corner, -torch.inf)
    step = heights[..., -1:] + means.min()  # by which the point itself is better than the answer of now
    ahead = step > 0
    first = step.where(ahead, torch.ones_like(step)).log().masked_fill(~ahead, -torch.inf)
    gains: Tensor = torch.cat([terms, first], dim=-1)
    nothing = gains.amax(dim=-1) == -torch.inf
    lowest = torch.finfo(gains.dtype).min
    found = gains.masked_fill(nothing.unsqueeze(-1), 0.0).logsumexp(dim=-1)
    return found.masked_fill(nothing, lowest)


@torch.no_grad()
def _envelope(heights: Tensor, slopes: Tensor) -> tuple[Tensor, Tensor]:
    """Which of the lines `height + slope z` end at a corner of their upper envelope, and which line follows there.

    Args:
        heights: `b x k`.
        slopes: `b x k`.

    Returns:
        Truth values and indices, each `b x k`.
    """
    rise = slopes.unsqueeze(-2) - slopes.unsqueeze(-1)  # from line i to line j, b x k x k
    drop = heights.unsqueeze(-1) - heights.unsqueeze(-2)
    meeting = drop / rise
    ends, following = meeting.masked_fill(rise <= 0, torch.inf).min(dim=-1)
    begins = meeting.masked_fill(rise >= 0, -torch.inf).amax(dim=-1)
    place = torch.arange(heights.shape[-1], device=heights.device)
    earlier = place.unsqueeze(0) < place.unsqueeze(1)  # of equal lines the first one counts
    covered = ((rise == 0) & ((drop < 0) | ((drop == 0) & earlier))).any(dim=-1)
    return (begins < ends) & ends.isfinite() & ~covered, following


class _Covariances(Function):
    """Covariances of points with the data, `b x n`, and prior variances, `b`, with gradients in closed form."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, posterior: LeanPosterior) -> tuple[Tensor, Tensor]:
        ctx.prior = posterior.kernel(points.detach().numpy())
        return torch.from_numpy(ctx.prior.covariance), torch.from_numpy(ctx.prior.variance)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(ctx.prior.gradient(*(grad.contiguous().numpy() for grad in grads))), None

r"""Corrected expected improvement and probability of improvement.

The usual forms compare the uncertain :math:`f(\mathbf x)` with a number, the best value observed, as if the value of
the best point were known. With noise it is not. The corrected forms (Zhou et al., arXiv 2310.05166; for the probability
of improvement Ma et al., ICCV 2019) compare it with :math:`f(\mathbf x^+)` itself, whose uncertainty and whose
correlation with :math:`f(\mathbf x)` the model knows. Notation used here, for a problem of minimization:

====================  ==========================================================================================
:math:`\mathbf x^+`   the *incumbent*: the observed point with the lowest posterior mean
:math:`\mu, \sigma`   posterior mean and covariance of the noise-free function
:math:`s^2`           :math:`\sigma(\mathbf x, \mathbf x) + \sigma(\mathbf x^+, \mathbf x^+)
                      - 2 \sigma(\mathbf x, \mathbf x^+)`, the variance of the difference
:math:`u`             :math:`(\mu(\mathbf x^+) - \mu(\mathbf x)) / s`; the sign is flipped for maximization
:math:`h(u)`          :math:`\phi(u) + u \Phi(u)`, the expected improvement in units of :math:`s`
====================  ==========================================================================================
"""

from __future__ import annotations

from abc import abstractmethod

import torch
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.acquisition.objective import PosteriorTransform
from botorch.exceptions.errors import UnsupportedError
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.utils.probability.utils import log_ndtr, ndtr
from botorch.utils.transforms import average_over_ensemble_models, is_ensemble, t_batch_mode_transform
from torch import Tensor

from betabo.acquisition.improvement import log_standard_improvement

# s^2 is a difference, rounded by some machine epsilons of the prior variance: up to 12 were seen for points that nearly
# coincide, with RBF, Beta and Beta-Matern kernels in 2 to 20 dimensions in both precisions. Less than this is noise.
_ROUNDINGS = 100


class CorrectedAcquisitionFunction(AnalyticAcquisitionFunction):
    r"""Base class of acquisition functions of :math:`f(\mathbf x^+) - f(\mathbf x)`.

    It finds the incumbent :math:`\mathbf x^+` once, at construction, and gives mean and standard deviation of the
    difference under the joint posterior to `_value` of a subclass.

    With a batch model each member has an incumbent of its own. With an ensemble (fully Bayesian) model the incumbent
    has the best mean over the ensemble, and values are averaged over the ensemble as in BoTorch.

    The functions are not smooth at :math:`\mathbf x^+` itself, where :math:`s = 0`. Values and gradients are finite
    there, because :math:`s^2` is kept above its rounding error, but no optimizer should start at that point.

    Args:
        model: A fitted model with one output, or several and a `posterior_transform`; its posterior must be Gaussian.
        X_observed: The observed points, `n x d` or `batch_shape x n x d`.
        posterior_transform: Makes one output of several.
        maximize: Whether larger outputs are better.

    Attributes:
        incumbent: :math:`\mathbf x^+`, `1 x d` (`batch_shape x 1 x d` for a batch model).
        maximize: Whether larger outputs are better.
    """

    incumbent: Tensor
    _smallest_variance: Tensor

    def __init__(
        self,
        model: Model,
        X_observed: Tensor,  # noqa: N803 (BoTorch's name)
        posterior_transform: PosteriorTransform | None = None,
        maximize: bool = True,
    ) -> None:
        super().__init__(model=model, posterior_transform=posterior_transform)
        if X_observed.dim() < 2 or X_observed.shape[-2] == 0:
            raise ValueError(
                f"X_observed has shape {tuple(X_observed.shape)}, expected n x d with at least one observed point."
            )
        self.maximize = maximize
        incumbent, smallest_variance = self._find_incumbent(X_observed)
        self.register_buffer("incumbent", incumbent)
        self.register_buffer("_smallest_variance", smallest_variance)

    @torch.no_grad()
    def _find_incumbent(self, observed: Tensor) -> tuple[Tensor, Tensor]:
        """The incumbent, `batch_shape x 1 x d`, and the smallest meaningful variance of a difference, `batch_shape`."""
        mean, covariance = self._joint_moments(observed)  # b x n, b x n x n
        # The mean and the variance of the function over the observed points set the scale, whatever the units of the
        # outputs: together they amount to the prior variance.
        variance = covariance.diagonal(dim1=-2, dim2=-1).clamp_min(0).mean(dim=-1) + mean.var(dim=-1, correction=0)
        limits = torch.finfo(variance.dtype)
        smallest_variance = (_ROUNDINGS * limits.eps * variance).clamp_min(limits.tiny)

        if is_ensemble(self.model):
            mean = mean.mean(dim=-2)
        best = mean.argmax(dim=-1) if self.maximize else mean.argmin(dim=-1)  # b
        index = best[..., None, None].expand(*best.shape, 1, observed.shape[-1])
        return observed.expand(*best.shape, *observed.shape[-2:]).take_along_dim(index, dim=-2), smallest_variance

    def _joint_moments(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean, `b x q`, and covariance, `b x q x q`, of the noise-free function at `b x q x d` points."""
        posterior = self.model.posterior(points, posterior_transform=self.posterior_transform)
        if not isinstance(posterior, GPyTorchPosterior):
            raise UnsupportedError(
                f"{type(self).__name__} needs the joint Gaussian posterior of two points, but the posterior of "
                f"{type(self.model).__name__} is a {type(posterior).__name__}. Use a model without an outcome "
                "transform that is not affine."
            )
        return posterior.mean.squeeze(-1), posterior.distribution.covariance_matrix

    @t_batch_mode_transform(expected_q=1)
    @average_over_ensemble_models  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        """Evaluate the acquisition function.

        Args:
            X: Candidates, `b x 1 x d` with any number of batch dimensions.

        Returns:
            Values, of shape `b`.
        """
        incumbent = self.incumbent.to(X)
        batch_shape = torch.broadcast_shapes(X.shape[:-2], incumbent.shape[:-2])
        pair = torch.cat([X.expand(*batch_shape, -1, -1), incumbent.expand(*batch_shape, -1, -1)], dim=-2)
        mean, covariance = self._joint_moments(pair)  # b x 2, b x 2 x 2

        variance = covariance[..., 0, 0] + covariance[..., 1, 1] - 2 * covariance[..., 0, 1]
        s = torch.maximum(variance, self._smallest_variance.to(variance)).sqrt()
        gain = mean[..., 0] - mean[..., 1] if self.maximize else mean[..., 1] - mean[..., 0]
        return self._value(gain / s, s)

    @abstractmethod
    def _value(self, u: Tensor, s: Tensor) -> Tensor:
        """The acquisition function of the scaled gain `u` and the standard deviation `s`, elementwise."""


class CorrectedExpectedImprovement(CorrectedAcquisitionFunction):
    r"""Expected improvement over the uncertain value of the best point.

    .. math:: \mathrm{EI}_c(\mathbf x) = \mathbb E \max\bigl(f(\mathbf x^+) - f(\mathbf x), 0\bigr)
        = s \, (\phi(u) + u \, \Phi(u))

    This is for minimization; for maximization the difference has the other sign. The symbols are those of
    `betabo.acquisition.corrected`. `LogCorrectedExpectedImprovement` has the same maximizers and is easier to maximize.

    The arguments are those of `CorrectedAcquisitionFunction`.

    Example:
        >>> x = torch.rand(10, 3, dtype=torch.float64)
        >>> model = SingleTaskGP(x, x.sum(dim=-1, keepdim=True))
        >>> acquisition = CorrectedExpectedImprovement(model, X_observed=x, maximize=False)
        >>> values = acquisition(torch.rand(5, 1, 3, dtype=torch.float64))  # 5
    """

    def _value(self, u: Tensor, s: Tensor) -> Tensor:
        return s * log_standard_improvement(u).exp()


class LogCorrectedExpectedImprovement(CorrectedAcquisitionFunction):
    r"""Logarithm of `CorrectedExpectedImprovement`, useful where the improvement itself underflows.

    .. math:: \ln \mathrm{EI}_c(\mathbf x) = \ln s + \ln h(u)

    The arguments are those of `CorrectedAcquisitionFunction`.

    Example:
        >>> x = torch.rand(10, 3, dtype=torch.float64)
        >>> model = SingleTaskGP(x, x.sum(dim=-1, keepdim=True))
        >>> acquisition = LogCorrectedExpectedImprovement(model, X_observed=x, maximize=False)
        >>> values = acquisition(torch.rand(5, 1, 3, dtype=torch.float64))  # 5
    """

    _log = True  # BoTorch averages exponentials over an ensemble

    def _value(self, u: Tensor, s: Tensor) -> Tensor:
        return s.log() + log_standard_improvement(u)


class CorrectedProbabilityOfImprovement(CorrectedAcquisitionFunction):
    r"""Probability that a point is better than the best one, whose value is uncertain too.

    .. math:: \mathrm{PI}_c(\mathbf x) = \mathbb P\bigl(f(\mathbf x) < f(\mathbf x^+)\bigr) = \Phi(u)

    This is for minimization; for maximization the inequality is turned round. The symbols are those of
    `betabo.acquisition.corrected`. `LogCorrectedProbabilityOfImprovement` has the same maximizers and is easier to
    maximize.

    Like every probability of improvement without a margin it favours small steps, and here nothing stops them: gain and
    :math:`s` vanish together at :math:`\mathbf x^+`, their ratio tends to a limit that depends on the direction only,
    and downhill the largest value is often approached in that limit. Expect maximizers very close to the incumbent.

    The arguments are those of `CorrectedAcquisitionFunction`.

    Example:
        >>> x = torch.rand(10, 3, dtype=torch.float64)
        >>> model = SingleTaskGP(x, x.sum(dim=-1, keepdim=True))
        >>> acquisition = CorrectedProbabilityOfImprovement(model, X_observed=x, maximize=False)
        >>> values = acquisition(torch.rand(5, 1, 3, dtype=torch.float64))  # 5
    """

    def _value(self, u: Tensor, s: Tensor) -> Tensor:  # noqa: ARG002
        return ndtr(u)


class LogCorrectedProbabilityOfImprovement(CorrectedAcquisitionFunction):
    r"""Logarithm of `CorrectedProbabilityOfImprovement`, useful where the probability itself underflows.

    .. math:: \ln \mathrm{PI}_c(\mathbf x) = \ln \Phi(u)

    The arguments are those of `CorrectedAcquisitionFunction`.

    Example:
        >>> x = torch.rand(10, 3, dtype=torch.float64)
        >>> model = SingleTaskGP(x, x.sum(dim=-1, keepdim=True))
        >>> acquisition = LogCorrectedProbabilityOfImprovement(model, X_observed=x, maximize=False)
        >>> values = acquisition(torch.rand(5, 1, 3, dtype=torch.float64))  # 5
    """

    _log = True  # BoTorch averages exponentials over an ensemble

    def _value(self, u: Tensor, s: Tensor) -> Tensor:  # noqa: ARG002
        return log_ndtr(u)  # BoTorch's: the gradient of torch.special.log_ndtr is off by 4% at u = -1000 in float32

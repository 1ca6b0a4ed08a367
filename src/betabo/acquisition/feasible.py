r"""Acquisition functions under constraints that are as expensive as the objective: each has a model of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.models.model import Model
from botorch.posteriors.gpytorch import GPyTorchPosterior
from botorch.utils.probability.utils import log_ndtr
from botorch.utils.safe_math import logplusexp
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

Scale = Literal["log", "positive", "real"]
"""What the values of an acquisition function are: logarithms, numbers >= 0, or any numbers."""


class FeasibleAcquisition(AcquisitionFunction):
    r"""Logarithm of an acquisition function times the probability that every constraint holds.

    .. math::
        \log a(x) + \sum_j \log \Phi\Bigl(\frac{t_j - \mu_j(x)}{\sigma_j(x)}\Bigr)

    An acquisition function that may be negative, such as a confidence bound, is first made positive:
    :math:`a = \operatorname{softplus}(f - r)` with a value :math:`r` that any sensible point exceeds. Without an
    acquisition function, which is the case until a feasible point is known, only the probability counts.

    Args:
        acquisition: Acquisition function, or None.
        constraints: A model with one output for each constraint.
        thresholds: A constraint holds where its value is at most this, one number for each.
        scale: What the values of the acquisition function are.
        reference: The value :math:`r`, for `scale="real"`.
    """

    def __init__(
        self,
        acquisition: AcquisitionFunction | None,
        constraints: Sequence[Model],
        thresholds: Sequence[float],
        scale: Scale = "log",
        reference: float = 0.0,
    ) -> None:
        if len(constraints) != len(thresholds) or not constraints:
            raise ValueError(
                f"there are {len(constraints)} constraints and {len(thresholds)} thresholds, expected one each."
            )
        super().__init__(model=constraints[0] if acquisition is None else acquisition.model)
        self.acquisition = acquisition
        self.constraints: Sequence[Model] = torch.nn.ModuleList(constraints)  # type: ignore[assignment]
        self.thresholds = list(thresholds)
        self.scale = scale
        self.reference = reference

    @t_batch_mode_transform(expected_q=1)  # type: ignore[arg-type]
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        """Values at `b x 1 x d`, of shape `b`."""
        total = torch.zeros(X.shape[:-2], dtype=X.dtype, device=X.device)
        for model, threshold in zip(self.constraints, self.thresholds, strict=True):
            posterior = cast("GPyTorchPosterior", model.posterior(X))
            deviation = posterior.variance.clamp_min(1e-12).sqrt()
            total = total + log_ndtr((threshold - posterior.mean) / deviation).squeeze(-1).squeeze(-1)
        if self.acquisition is None:
            return total
        value: Tensor = self.acquisition(X)
        if self.scale == "positive":
            value = value.clamp_min(torch.finfo(X.dtype).tiny).log()
        elif self.scale == "real":
            excess = value - self.reference
            value = logplusexp(excess, torch.zeros_like(excess)).clamp_min(torch.finfo(X.dtype).tiny).log()
        return value + total

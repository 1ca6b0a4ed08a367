"""Expected hypervolume improvement, in log form, for several objectives of which less is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import botorch.acquisition.multi_objective.logei as botorch_logei
from botorch.acquisition.acquisition import AcquisitionFunction
from botorch.acquisition.multi_objective.logei import qLogExpectedHypervolumeImprovement
from botorch.acquisition.multi_objective.objective import WeightedMCMultiOutputObjective
from botorch.acquisition.multi_objective.utils import get_default_partitioning_alpha
from botorch.models.model import Model, ModelList
from botorch.posteriors.posterior import Posterior
from botorch.sampling.list_sampler import ListSampler
from botorch.sampling.normal import NormalMCSampler
from botorch.utils.multi_objective.box_decompositions.box_decomposition import BoxDecomposition
from botorch.utils.multi_objective.box_decompositions.non_dominated import (
    FastNondominatedPartitioning,
    NondominatedPartitioning,
)
from botorch.utils.multi_objective.pareto import is_non_dominated
from botorch.utils.sampling import draw_sobol_normal_samples
from torch import Tensor

SAMPLES = 128
"""Quasi-random samples of the posterior over which the improvement is averaged."""

# Else BoTorch compiles C++ when the first function is made, silently: 18 s on a quiet machine, a minute on a busy one.
botorch_logei._load_attempted = True

_MARGIN = 0.1  # share of the values' range by which the reference point is worse, as BoTorch infers it


def log_hypervolume_improvement(models: Sequence[Model], values: Tensor, *, seed: int = 0) -> AcquisitionFunction:
    """Logarithm of the expected growth of the dominated hypervolume.

    The reference point lies a tenth of the values' range beyond the worst of them all. One just beyond the front, while
    that is small, would make its ends worthless, and the search would never spread it. The integral over the posterior
    is an average over quasi-random samples; the volume beyond the front is split exactly for up to four objectives,
    approximately for more.

    Args:
        models: One model with one output for each objective; they are independent.
        values: Values that improve upon, `n x m`, in the units of the models' outputs.
        seed: Seed of the samples.

    Returns:
        The acquisition function, to be maximized.
    """
    count = values.shape[-1]
    if len(models) != count or count < 2:
        raise ValueError(f"there are {len(models)} models and {count} objectives, expected one each and at least 2.")
    larger_is_better = -values
    front = larger_is_better[is_non_dominated(larger_is_better)]
    worst, best = larger_is_better.amin(dim=0), larger_is_better.amax(dim=0)
    reference = worst - _MARGIN * (best - worst).clamp_min(1e-6)
    alpha = get_default_partitioning_alpha(count)
    partitioning: BoxDecomposition = (
        NondominatedPartitioning(ref_point=reference, Y=front, alpha=alpha)
        if alpha > 0
        else FastNondominatedPartitioning(ref_point=reference, Y=front)
    )
    samples = draw_sobol_normal_samples(count, SAMPLES, dtype=values.dtype, device=values.device, seed=seed)
    return qLogExpectedHypervolumeImprovement(
        model=ModelList(*models),
        ref_point=reference,
        partitioning=cast("NondominatedPartitioning", partitioning),  # which is what BoTorch's annotation says
        sampler=ListSampler(*(_Samples(column) for column in samples.T)),
        objective=WeightedMCMultiOutputObjective(weights=values.new_full((count,), -1.0)),
    )


class _Samples(NormalMCSampler):
    """Given samples of one output at one point.

    Each output needs a column of one quasi-random sequence: two sequences, even with different seeds, depend on each
    other.
    """

    def __init__(self, samples: Tensor) -> None:
        super().__init__(samples.shape)
        self._samples = samples

    def _construct_base_samples(self, posterior: Posterior) -> None:
        self.register_buffer("base_samples", self._samples.view(self._get_collapsed_shape(posterior)))

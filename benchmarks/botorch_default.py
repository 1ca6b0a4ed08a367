"""One step of BoTorch's default loop, for comparison."""

from __future__ import annotations

from torch import Tensor

from betabo.lab.bench.optimizers.botorch_search import fitted_model, maximize_improvement


def next_point(x: Tensor, y: Tensor) -> Tensor:
    """Where to evaluate next: `SingleTaskGP`, log expected improvement, 4 restarts and 256 raw samples.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Their values, to be minimized, `n`.

    Returns:
        The next point, `d`.
    """
    return maximize_improvement(fitted_model(x, y), -y.min(), restarts=4, raw_samples=256, around_best=False)

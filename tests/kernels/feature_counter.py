"""What the matmul form builds, counted."""

from __future__ import annotations

import pytest
from torch import Tensor

import betabo.kernels.matmul as matmul_module


class FeatureCounter:
    """Counts the points for which features are built, and the quadratic forms that are built."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.points = 0
        self.forms = 0
        features, matrices = matmul_module.chebyshev_features, matmul_module.chebyshev_matrix

        def counted_features(x: Tensor, degree: int) -> Tensor:
            self.points += x.shape[:-1].numel()
            return features(x, degree)

        def counted_matrices(bandwidth: Tensor, degree: int) -> Tensor:
            self.forms += 1
            return matrices(bandwidth, degree)

        monkeypatch.setattr(matmul_module, "chebyshev_features", counted_features)
        monkeypatch.setattr(matmul_module, "chebyshev_matrix", counted_matrices)

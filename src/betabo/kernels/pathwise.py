r"""Explicit features of the kernels, for pathwise samples of a GP with BoTorch.

The Beta distance is a Euclidean distance after an embedding of each coordinate (`chebyshev_embedding`). In that space
`BetaKernel` is an RBF and `BetaMaternKernel` a Matern kernel, apart from the factor that the boundary weight gives each
point, so random Fourier features apply in any number of dimensions. Main effects are Matern kernels of arc lengths, one
a coordinate. The features of a sum are those of its summands side by side. Importing this module teaches
`botorch.sampling.pathwise.gen_kernel_features` about these kernels, and about sums of any kernels that it knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from botorch.sampling.pathwise.features.generators import GenKernelFeatures, gen_kernel_features
from botorch.sampling.pathwise.features.maps import FeatureMap
from botorch.sampling.pathwise.utils import FeatureSelector
from botorch.utils.sampling import draw_sobol_normal_samples
from gpytorch.kernels import AdditiveKernel
from scipy.special import stdtrit
from torch import Size, Tensor

from betabo.kernels.beta import BetaKernel
from betabo.kernels.beta_matern import BetaMaternKernel
from betabo.kernels.box import BoxKernel
from betabo.kernels.chebyshev import chebyshev_embedding, chebyshev_features, choose_degrees
from betabo.kernels.effects import MainEffectsKernel, arc_length

_EMBEDDING_TOLERANCE = 1e-3  # of the squared distance; random features are good to about 1e-2


class BoxFeatureMap(FeatureMap):
    r"""Random Fourier features of a kernel on the unit cube: :math:`k(x, x') \approx \phi(x)^\top\phi(x')`.

    Args:
        kernel: The kernel; its current parameters are taken over.
        num_inputs: Number of coordinates of the points.
        num_outputs: Number of features, even.
    """

    embedding: Tensor
    frequencies: Tensor

    def __init__(self, kernel: BoxKernel, num_inputs: int, num_outputs: int) -> None:
        if num_outputs % 2:
            raise ValueError(f"num_outputs is {num_outputs}, expected an even number (pairs of sine and cosine).")
        super().__init__()
        self.kernel = kernel
        self.num_outputs = num_outputs
        self.batch_shape = kernel.batch_shape
        self.input_transform = None if kernel.active_dims is None else FeatureSelector(kernel.active_dims)
        self.output_transform = torch.nn.Identity()
        dims = num_inputs if kernel.active_dims is None else len(kernel.active_dims)

        bandwidth, weight = (t.detach().double() for t in kernel.geometry())
        bandwidth, weight = (t.expand(*kernel.batch_shape, 1, dims).squeeze(-2) for t in (bandwidth, weight))
        degrees = choose_degrees(bandwidth, weight, _EMBEDDING_TOLERANCE)
        if degrees is None:
            raise ValueError(f"the bandwidth {bandwidth.min().item():g} is too small for pathwise features.")
        self._degree = max(degrees)
        embedding = (
            chebyshev_embedding(bandwidth, self._degree) * weight.sqrt()[..., None, None]
        )  # ... x d x (P - 1) x R
        self.register_buffer("embedding", embedding.to(kernel.dtype))
        frequencies = draw_sobol_normal_samples(
            n=kernel.batch_shape.numel() * num_outputs // 2,
            d=dims * embedding.shape[-1],
            device=kernel.device,
            dtype=kernel.dtype,
        ).unflatten(0, (*kernel.batch_shape, num_outputs // 2))
        nu = kernel.nu if isinstance(kernel, BetaMaternKernel) else math.inf
        if nu != math.inf:  # the spectral density of a Matern kernel is that of a multivariate t
            concentration = torch.full((), nu, dtype=kernel.dtype, device=kernel.device)
            mixing = torch.distributions.Gamma(concentration, concentration)
            frequencies = frequencies * mixing.sample((*frequencies.shape[:-1], 1)).rsqrt()
        self.register_buffer("frequencies", frequencies)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the points `x`, `... x n x d`, as `... x n x num_outputs`."""
        x = self.kernel.check_points(x)
        polynomials = chebyshev_features(x, self._degree)
        points = (polynomials.transpose(-3, -2) @ self.embedding).transpose(-3, -2).flatten(-2)
        phase = points @ self.frequencies.mT
        features = math.sqrt(2 / self.num_outputs) * torch.cat([phase.sin(), phase.cos()], dim=-1)
        log_scale = self.kernel.log_scale(x)
        return features if log_scale is None else features * log_scale.exp()


class EffectsFeatureMap(FeatureMap):
    r"""Random Fourier features of main effects: :math:`k(x, x') \approx \phi(x)^\top\phi(x')`.

    The spectral density of a Matern-5/2 kernel in one coordinate is that of a t distribution with five degrees of
    freedom. Each coordinate has the same number of frequencies, one from each of as many parts of equal probability.

    Args:
        kernel: The kernel; its current parameters are taken over.
        num_inputs: Number of coordinates of the points.
        num_outputs: Number of features, rounded up to an even number for each coordinate.
    """

    frequencies: Tensor

    def __init__(self, kernel: MainEffectsKernel, num_inputs: int, num_outputs: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.batch_shape = kernel.batch_shape
        self.input_transform = None if kernel.active_dims is None else FeatureSelector(kernel.active_dims)
        self.output_transform = torch.nn.Identity()
        dims = num_inputs if kernel.active_dims is None else len(kernel.active_dims)

        parts = math.ceil(num_outputs / (2 * dims))
        self.num_outputs = 2 * dims * parts
        chance = 1 - torch.rand(*kernel.batch_shape, dims, parts, dtype=torch.float64)  # above 0
        # Sine and cosine together do not tell a frequency from its negative: half of the distribution will do.
        quantiles = torch.from_numpy(stdtrit(5, ((torch.arange(parts) + chance) / (2 * parts)).numpy()))
        frequencies = quantiles.to(kernel.lengthscale) / kernel.lengthscale.detach().mT  # ... x d x parts
        self.register_buffer("frequencies", frequencies)

    def forward(self, x: Tensor) -> Tensor:
        """Features of the points `x`, `... x n x d`, as `... x n x num_outputs`."""
        u = arc_length(self.kernel.check_points(x), self.kernel.bend)
        phase = (u.unsqueeze(-1) * self.frequencies.unsqueeze(-3)).flatten(-2)
        return math.sqrt(2 / self.num_outputs) * torch.cat([phase.sin(), phase.cos()], dim=-1)


class SumFeatureMap(FeatureMap):
    """Features of a sum of kernels: those of the summands, side by side.

    Args:
        summands: Feature maps of the summands.
        batch_shape: Batch shape of the sum.
    """

    def __init__(self, summands: Sequence[FeatureMap], batch_shape: Size) -> None:
        super().__init__()
        self.summands = torch.nn.ModuleList(summands)
        self.num_outputs = sum(summand.num_outputs for summand in summands)
        self.batch_shape = batch_shape
        self.input_transform = None
        self.output_transform = torch.nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Features of the points `x`, `... x n x d`, as `... x n x num_outputs`."""
        features = [summand(x) for summand in self.summands]
        shape = torch.broadcast_shapes(*(each.shape[:-1] for each in features))
        return torch.cat([each.expand(*shape, -1) for each in features], dim=-1)


@GenKernelFeatures.register(BetaKernel)  # type: ignore[untyped-decorator]
@GenKernelFeatures.register(BetaMaternKernel)  # type: ignore[untyped-decorator]
def _gen_kernel_features_box(kernel: BoxKernel, *, num_inputs: int, num_outputs: int) -> BoxFeatureMap:
    return BoxFeatureMap(kernel, num_inputs, num_outputs)


@GenKernelFeatures.register(MainEffectsKernel)  # type: ignore[untyped-decorator]
def _gen_kernel_features_effects(kernel: MainEffectsKernel, *, num_inputs: int, num_outputs: int) -> EffectsFeatureMap:
    return EffectsFeatureMap(kernel, num_inputs, num_outputs)


@GenKernelFeatures.register(AdditiveKernel)  # type: ignore[untyped-decorator]
def _gen_kernel_features_sum(kernel: AdditiveKernel, *, num_inputs: int, num_outputs: int) -> SumFeatureMap:
    """As many features for each summand as are asked for."""
    summands = [gen_kernel_features(each, num_inputs, num_outputs) for each in kernel.kernels]
    return SumFeatureMap(summands, kernel.batch_shape)

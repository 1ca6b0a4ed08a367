"""GP-UCB put together from BoTorch's parts, with every choice open that the paper leaves open.

Plain maximum likelihood from GPyTorch's starting values at every step, which is what "learned through maximum marginal
likelihood" says, or with priors. It is slow beside betabo's own optimizer, and is here to find out what the printed
numbers were made with.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from botorch.acquisition.analytic import UpperConfidenceBound
from botorch.exceptions.errors import ModelFittingError, OptimizationGradientError
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.transforms.outcome import Standardize
from botorch.optim.optimize import optimize_acqf
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from gpytorch.likelihoods import GaussianLikelihood
from gpytorch.mlls import ExactMarginalLogLikelihood
from gpytorch.priors import GammaPrior
from torch import Tensor

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import maximize
from betabo.kernels import BetaKernel
from betabo.kernels.catalogue import make_kernel
from betabo.lab.bench import OptimizerEntry, register_optimizer
from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.botorch_search import BotorchSearch
from betabo.surrogate.gp import GaussianProcess

Priors = Literal["none", "botorch", "betabo"]
Engine = Literal["botorch", "betabo"]

BASE_KERNELS: dict[str, Callable[[int], Kernel]] = {
    "rbf": lambda dims: RBFKernel(ard_num_dims=dims),
    "matern": lambda dims: MaternKernel(nu=2.5, ard_num_dims=dims),
    "beta-paper": lambda dims: BetaKernel(ard_num_dims=dims, boundary_weight=1.0),
}
"""The kernels as GPyTorch starts them: length scales of ln 2, without priors and without an output scale."""

RESTARTS, RAW_SAMPLES = 5, 20
"""Of BoTorch's maximization: those of the example on its first page, whose weight of UCB is 0.1."""

INCUMBENTS = 5
"""Best points around which betabo's engine looks, as `betabo.minimize` does."""


@dataclass(frozen=True)
class PlainSettings:
    """What the paper leaves open.

    Attributes:
        kernel: A name in `BASE_KERNELS`.
        scale: Whether the kernel has an output scale; BoTorch's own priors bring what they need.
        standardize: Whether values are standardized.
        weight: Weight of the variance in the confidence bound.
        priors: `"none"` is plain maximum likelihood; `"botorch"` is `SingleTaskGP` as it comes for RBF, and for others
            the Gamma priors of BoTorch's tutorials; `"betabo"` is the kernel of betabo's catalogue.
        engine: Who maximizes the confidence bound: `"botorch"` from the best of a few random points, or `"betabo"`,
            which starts at vertices and on faces too.
    """

    kernel: str
    scale: bool = True
    standardize: bool = True
    weight: float = 4.0
    priors: Priors = "none"
    engine: Engine = "botorch"

    def __post_init__(self) -> None:
        for name, value, known in (
            ("kernel", self.kernel, tuple(BASE_KERNELS)),
            ("priors", self.priors, get_args(Priors)),
            ("engine", self.engine, get_args(Engine)),
        ):
            if value not in known:
                raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(repr, known))}.")
        if not self.weight >= 0:
            raise ValueError(f"weight is {self.weight}, expected a number >= 0.")


class PlainSearch(BotorchSearch):
    """GP-UCB from BoTorch's parts.

    Args:
        settings: What the paper leaves open.
    """

    def __init__(self, settings: PlainSettings) -> None:
        super().__init__()
        self._plain = settings

    def propose(self) -> Point:
        """Where the confidence bound is best."""
        began = time.perf_counter()
        x, y = self._observed.tensors()
        model, fit = fit_model(x, y, self._plain)
        fitted = time.perf_counter()
        point = maximize_bound(model, x, y, self._plain)
        self._figures = {
            **_kernel_figures(model),
            "noise": float(model.likelihood.noise),
            "fit": fit,
            "fit_seconds": fitted - began,
            "acquisition_seconds": time.perf_counter() - fitted,
        }
        return self.from_unit(point.numpy())


def fit_model(x: Tensor, y: Tensor, settings: PlainSettings) -> tuple[SingleTaskGP, str]:
    """A model of `-y`, since BoTorch maximizes, and whether its fit succeeded: `"fitted"` or `"fallback"`.

    Args:
        x: Points of the unit cube, `n x d`.
        y: Their values, to be minimized, `n`.
        settings: Kernel, priors and transformation.
    """
    with warnings.catch_warnings():  # BoTorch advises to standardize
        warnings.simplefilter("ignore")
        model = SingleTaskGP(
            x,
            -y.unsqueeze(-1),
            likelihood=None if settings.priors == "botorch" else GaussianLikelihood().double(),
            covar_module=_covariance(x.shape[-1], settings),
            outcome_transform=Standardize(m=1) if settings.standardize else None,
        )
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:  # every attempt failed: the hyperparameters are those of the start
            model.eval()
            return model, "fallback"
    return model, "fitted"


def maximize_bound(model: SingleTaskGP, x: Tensor, y: Tensor, settings: PlainSettings) -> Tensor:
    """Where the upper confidence bound of `-y` is largest in the unit cube, `d`.

    Plain maximum likelihood can make length scales so short that gradients are not numbers. Then it is the best of as
    many random points as BoTorch looks at first.
    """
    try:
        if settings.engine == "botorch":
            return _by_botorch(model, settings.weight)
        return _by_betabo(model, x, y, settings.weight)
    except OptimizationGradientError:
        points = torch.rand(RAW_SAMPLES, x.shape[-1], dtype=x.dtype)
        with torch.no_grad():
            values = UpperConfidenceBound(model, beta=settings.weight)(points.unsqueeze(-2))
        return points[values.argmax()]


def _by_botorch(model: SingleTaskGP, weight: float) -> Tensor:
    dims = model.train_inputs[0].shape[-1]
    bounds = torch.stack([torch.zeros(dims, dtype=torch.float64), torch.ones(dims, dtype=torch.float64)])
    bound = UpperConfidenceBound(model, beta=weight)
    candidate, _ = optimize_acqf(bound, bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES)
    point: Tensor = candidate[0]
    return point


def _by_betabo(model: SingleTaskGP, x: Tensor, y: Tensor, weight: float) -> Tensor:
    process = GaussianProcess(
        x,
        -model.train_targets.detach(),
        model.covar_module,
        model.likelihood.noise.detach().squeeze(),
        -model.mean_module.constant.detach(),
    )
    ours = UpperConfidenceBound(process, beta=torch.tensor(weight, dtype=x.dtype), maximize=False)
    seed = int(torch.randint(2**31, ()))
    candidates, _ = maximize(lean_form(ours), x[y.argsort(stable=True)[:INCUMBENTS]], seed=seed)
    return candidates[0]


def _covariance(dims: int, settings: PlainSettings) -> Kernel | None:
    """The covariance function; None is that of `SingleTaskGP`."""
    if settings.priors == "betabo":
        return make_kernel(settings.kernel, dims).double()
    if settings.priors == "botorch" and settings.kernel == "rbf":
        return None
    kernel = BASE_KERNELS[settings.kernel](dims)
    if settings.priors == "botorch" and settings.kernel == "matern":
        kernel = MaternKernel(nu=2.5, ard_num_dims=dims, lengthscale_prior=GammaPrior(3.0, 6.0))
    if settings.priors == "botorch":
        return ScaleKernel(kernel, outputscale_prior=GammaPrior(2.0, 0.15)).double()
    return (ScaleKernel(kernel) if settings.scale else kernel).double()


def _kernel_figures(model: SingleTaskGP) -> dict[str, Any]:
    """Bandwidths or length scales."""
    for module in model.covar_module.modules():
        if isinstance(module, BetaKernel):
            return {"bandwidth": module.bandwidth.detach().flatten().tolist(), "boundary_weight": 1.0}
        if isinstance(module, Kernel) and module.has_lengthscale:
            return {"lengthscale": module.lengthscale.detach().flatten().tolist()}
    return {}


def _make(**settings: Any) -> PlainSearch:
    return PlainSearch(PlainSettings(**settings))


register_optimizer(
    OptimizerEntry(
        "plain",
        "GP-UCB from BoTorch's parts, with the paper's open choices as settings.",
        _make,
        tuple(PlainSettings.__dataclass_fields__),
    )
)

"""One step of a search: everything that is known in, points to evaluate out. Nothing is kept in between."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from gpytorch.kernels import Kernel
from torch.quasirandom import SobolEngine

from betabo.acquisition.catalogue import AcquisitionContext, make_acquisition
from betabo.acquisition.maximize import maximize
from betabo.kernels.box import BoxKernel
from betabo.kernels.catalogue import make_kernel
from betabo.optimizer.config import Config
from betabo.optimizer.history import Origin
from betabo.surrogate import FitState, GaussianProcess, OutputTransform, fit_gp

Points = npt.NDArray[np.float64]
Snap = Callable[[Points], Points]

_MOST_NOISE = 1e3  # standard deviation of the noise, in standard deviations of the values
_INCUMBENTS = 5  # best points around which the acquisition function is searched


@dataclass(frozen=True)
class Data:
    """What is known of the objective, in the unit cube.

    Attributes:
        points: Points with a value, `n x d`.
        values: Their values, finite, `n`.
        failed: Points whose evaluation failed, `m x d`.
        pending: Points that are being evaluated, `p x d`.
    """

    points: Points
    values: npt.NDArray[np.float64]
    failed: Points
    pending: Points

    @property
    def dims(self) -> int:
        """Number of coordinates."""
        return int(self.points.shape[1])

    @property
    def total(self) -> int:
        """Number of points that were ever proposed or told."""
        return len(self.points) + len(self.failed) + len(self.pending)

    def seen(self) -> Points:
        """All points, evaluated, failed or pending."""
        return np.concatenate([self.points, self.failed, self.pending])


@dataclass(frozen=True)
class Proposal:
    """Points to evaluate next, and how they were found.

    Attributes:
        points: `count x d`, admissible points of the unit cube.
        origins: Where each comes from: `"start"` for the starting design, `"model"` for the model.
        state: Hyperparameters to start the next fit from.
        diagnostics: Figures of the fit and of the points, JSON-able; empty for starting points.
    """

    points: Points
    origins: list[Origin]
    state: FitState | None
    diagnostics: dict[str, Any] = field(default_factory=dict)


def propose(
    data: Data,
    config: Config,
    *,
    count: int = 1,
    seed: int = 0,
    state: FitState | None = None,
    snap: Snap | None = None,
    neighbours: Snap | None = None,
) -> Proposal:
    """Choose the next points.

    The same arguments give the same points. Until the starting design is complete, and while fewer than two evaluations
    have a value, points come from a scrambled Sobol sequence. After that a Gaussian process is fitted and the
    acquisition function maximized; each further point of a batch, and every pending one, counts as evaluated with its
    expected value.

    Args:
        data: What is known.
        config: How to choose.
        count: Number of points.
        seed: Seed of the search.
        state: Hyperparameters of the last fit.
        snap: Maps points `n x d` to admissible ones, for discrete parameters.
        neighbours: Gives the admissible points next to one, `k x d`, for discrete parameters.
    """
    snap = (lambda points: points) if snap is None else snap
    points: list[Points] = []
    origins: list[Origin] = []
    diagnostics: dict[str, Any] = {}
    model = None
    with torch.random.fork_rng(devices=[]):
        for _ in range(count):
            total = data.total + len(points)
            torch.manual_seed(_mix(seed, total))
            if total < config.design_size(data.dims) or len(data.values) < 2:
                chosen = _design_point(data, points, config, seed, total, snap)
                origins.append("start")
            else:
                if model is None:
                    model = _Model.fit(data, config, _mix(seed, total), state)
                    state, diagnostics = model.state, model.diagnostics
                began = time.perf_counter()
                chosen = _search(model, data, points, config, _mix(seed, total), snap, neighbours)
                origins.append("model")
                diagnostics["acquisition_seconds"] = (
                    diagnostics.get("acquisition_seconds", 0.0) + time.perf_counter() - began
                )
            points.append(chosen)
    return Proposal(np.stack(points), origins, state, diagnostics)


@dataclass
class _Model:
    """The fitted process, before pending points."""

    process: GaussianProcess
    state: FitState
    diagnostics: dict[str, Any]
    kernel: Kernel

    @classmethod
    def fit(cls, data: Data, config: Config, seed: int, state: FitState | None) -> _Model:
        transform = OutputTransform.learn(data.values, power=config.power_transform)
        x = torch.from_numpy(data.points)
        y = torch.from_numpy(transform(data.values))
        kernel = make_kernel(config.kernel, data.dims).double()
        noise = config.noise
        if isinstance(noise, (int, float)):
            deviation = math.sqrt(noise) / transform.scale / transform.spread
            noise = min(deviation, _MOST_NOISE) ** 2
        generator = torch.Generator().manual_seed(seed)
        process, state, report = fit_gp(
            x, y, kernel, noise=noise, warm_start=state, restarts=1 if state is None else 0, generator=generator
        )
        if len(data.failed):  # as bad as the worst: the search keeps away
            worst = y.max().expand(len(data.failed))
            process = process.condition(torch.from_numpy(data.failed), worst)
        diagnostics = {
            "fit": report.status,
            "fit_seconds": report.seconds,
            "fit_evaluations": report.evaluations,
            "fit_messages": list(report.messages),
            "noise": state.noise,
            **_kernel_figures(kernel),
        }
        return cls(process, state, diagnostics, kernel)


def _search(
    model: _Model,
    data: Data,
    chosen: list[Points],
    config: Config,
    seed: int,
    snap: Snap,
    neighbours: Snap | None,
) -> Points:
    pending = torch.from_numpy(np.concatenate([data.pending, *(p[None] for p in chosen)]))
    process = model.process if not len(pending) else model.process.condition(pending)
    order = np.argsort(data.values, kind="stable")[:_INCUMBENTS]
    observed = torch.from_numpy(data.points)
    context = AcquisitionContext(
        model=process,
        best_f=process.y.min(),  # which may be expected of a pending point: the next one is to improve on that
        X_observed=torch.cat([observed, pending]),
        step=len(data.values) + len(pending),
        dims=data.dims,
        beta=config.beta,
    )
    acquisition = make_acquisition(config.acquisition, context)
    candidates, values = maximize(
        acquisition, observed[torch.from_numpy(order)], seed=seed, snap=lambda t: torch.from_numpy(snap(t.numpy()))
    )
    ranked = candidates.numpy()
    if neighbours is not None and len(near := neighbours(ranked[0])):
        scores = acquisition(torch.from_numpy(near).unsqueeze(-2)).detach()
        ranked = np.concatenate([near[(scores > values[0]).numpy()], ranked, near])
    seen = np.concatenate([data.seen(), *(p[None] for p in chosen)])
    return _first_new(ranked, seen, config, seed, snap)


def _first_new(ranked: Points, seen: Points, config: Config, seed: int, snap: Snap) -> Points:
    """The best candidate that has not been evaluated; any point not seen where there is none; else the best."""
    if isinstance(config.noise, (int, float)) and config.noise > 0:
        return np.asarray(ranked[0])  # with known noise it makes sense to look twice
    random = SobolEngine(ranked.shape[1], scramble=True, seed=seed + 1).draw(256, dtype=torch.float64).numpy()
    for candidates in (ranked, snap(random)):
        for start in range(0, len(candidates), 64):
            block = candidates[start : start + 64]
            distance = np.abs(block[:, None] - seen[None]).max(axis=-1).min(axis=-1)
            new = np.flatnonzero(distance > config.duplicate_tolerance)
            if len(new):
                return np.asarray(block[new[0]])
    return np.asarray(ranked[0])


def _design_point(data: Data, chosen: list[Points], config: Config, seed: int, index: int, snap: Snap) -> Points:
    """The next point of the starting design, new if the space has a new one."""
    engine = SobolEngine(data.dims, scramble=True, seed=_mix(seed, 0))
    engine.fast_forward(index)
    candidates = snap(engine.draw(64, dtype=torch.float64).numpy())
    seen = np.concatenate([data.seen(), *(p[None] for p in chosen)])
    if not len(seen):
        return np.asarray(candidates[0])
    return _first_new(candidates, seen, config, _mix(seed, index), snap)


def _kernel_figures(kernel: Kernel) -> dict[str, Any]:
    """Bandwidths, boundary weight and length scales, where the kernel has them."""
    figures: dict[str, Any] = {}
    for module in kernel.modules():
        if isinstance(module, BoxKernel):
            figures["bandwidth"] = module.bandwidth.detach().flatten().tolist()
            figures["boundary_weight"] = module.boundary_weight.detach().mean().item()
        if isinstance(module, Kernel) and module.has_lengthscale:
            figures["lengthscale"] = module.lengthscale.detach().flatten().tolist()
    return figures


def _mix(seed: int, number: int) -> int:
    """A seed for one purpose out of the seed of the search."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])

"""Recipes for the optimizer by name: settings, and changes of the optimizer itself.

What was kept is the default; what was not is here so that its result in docs/experiments.md can be had again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np


def recipes() -> dict[str, dict[str, Any]]:
    """Settings of `betabo.Config` by name of a recipe."""
    from gpytorch.constraints import GreaterThan
    from gpytorch.kernels import ScaleKernel
    from gpytorch.priors import LogNormalPrior

    from betabo.kernels.effects import MainEffectsKernel
    from betabo.kernels.factory import SumKernel, beta_additive_covariance, beta_matern_covariance

    def beta_matern(dims: int, prior: tuple[float, float] | None = None, **settings: Any) -> Any:
        kernel = beta_matern_covariance(dims, **settings)
        if prior is not None:
            kernel.base_kernel.bandwidth_prior = LogNormalPrior(*prior)
        return kernel

    def two_scales(dims: int) -> Any:
        """Also short effects, as long in all coordinates."""
        main, rest = beta_additive_covariance(dims).kernels
        short = MainEffectsKernel(
            lengthscale_prior=LogNormalPrior(math.log(0.15), 0.7),
            lengthscale_constraint=GreaterThan(0.025, transform=None, initial_value=0.15),
        )
        prior, constraint = LogNormalPrior(-2.0, 1.5), GreaterThan(1e-4, transform=None, initial_value=0.1)
        return SumKernel(main, ScaleKernel(short, outputscale_prior=prior, outputscale_constraint=constraint), rest)

    return {
        "default": {},
        "two-scales": {"kernel": two_scales},
        "bend-0.97": {"kernel": partial(beta_additive_covariance, bend=0.97)},
        "matern": {"kernel": "matern"},
        "rbf": {"kernel": "rbf"},
        "beta-correlation": {"kernel": "beta-correlation"},
        "beta-rbf": {"kernel": partial(beta_matern, nu=math.inf)},
        "beta-matern-3/2": {"kernel": partial(beta_matern, nu=1.5)},
        "weight-learned": {"kernel": partial(beta_matern, boundary_weight="learned")},
        "bandwidth-0.3": {"kernel": partial(beta_matern, prior=(math.log(0.3), 1.0))},
        "bandwidth-3": {"kernel": partial(beta_matern, prior=(math.log(3.0), 1.0))},
        "no-power": {"power_transform": False},
        "no-noise": {"noise": "none"},
        "ucb": {"acquisition": "ucb"},
        "beta-matern": {"kernel": "beta-matern"},
        "rough": {"kernel": partial(beta_additive_covariance, nu=1.5)},
        "smooth": {"kernel": partial(beta_additive_covariance, nu=math.inf)},
        "straight": {"kernel": partial(beta_additive_covariance, bend=0.0)},
    }


def again_from_the_start(every: int) -> None:
    """Fit anew from the kernel's initial values every so many steps, and take the better fit."""
    from betabo.optimizer import model

    fit = model.fit_gp

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        found = fit(x, y, kernel, **settings)
        if settings.get("warm_start") is not None and len(x) % every == 0:
            fresh = fit(x, y, deepcopy(kernel), **{**settings, "warm_start": None, "restarts": 1})
            if fresh[2].objective < found[2].objective:
                return fresh
        return found

    model.fit_gp = patched


def by_evidence(*kernels: str) -> None:
    """Fit several kernels and take the one with the higher posterior density."""
    from betabo.kernels.catalogue import make_kernel
    from betabo.optimizer import model

    fit = model.fit_gp
    states: dict[str, Any] = {}

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        del kernel
        found = []
        for name in kernels:
            warm = states.get(name)
            own = {**settings, "warm_start": warm, "restarts": 1 if warm is None else 0}
            result = fit(x, y, make_kernel(name, x.shape[-1]).double(), **own)
            states[name] = result[1]
            found.append(result)
        return min(found, key=lambda result: result[2].objective)

    model.fit_gp = patched


def take_turns(other: str) -> None:
    """Model with the kernel of another recipe in every other step."""
    from betabo.kernels.catalogue import make_kernel
    from betabo.optimizer import model

    fit, choice = model.fit_gp, recipes()[other]["kernel"]
    known: dict[str, Any] = {"ours": None, "other": None}

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        name, chosen = ("ours", kernel) if len(x) % 2 == 0 else ("other", make_kernel(choice, x.shape[-1]).double())
        warm = known[name]
        found = fit(x, y, chosen, **{**settings, "warm_start": warm, "restarts": 1 if warm is None else 0})
        known[name] = found[1]
        return found[0], known["ours"] or found[1], found[2]

    model.fit_gp = patched


def harder_search(starts: int, samples: int) -> None:
    """Maximize the acquisition function from more points."""
    from betabo.acquisition import maximize

    maximize.MaximizeOptions.__init__.__defaults__ = (2 * samples, samples, starts, 100)  # type: ignore[misc]


def believe_noise(location: float, scale: float, lowest: float = 1e-6) -> None:
    """Another log-normal prior of the noise variance, and another lower bound."""
    from betabo.surrogate import likelihood

    likelihood._NOISE_PRIOR, likelihood.LOWEST_NOISE = (location, scale), lowest


def fit_less_often(growth: float) -> None:
    """Keep the hyperparameters until the number of points has grown by a share."""
    from betabo.optimizer import model

    fit = model.fit_gp
    last = 0

    def patched(x: Any, y: Any, kernel: Any, **settings: Any) -> Any:
        nonlocal last
        if settings.get("warm_start") is not None and len(x) < last * (1 + growth):
            return fit(x, y, kernel, **{**settings, "restarts": 0, "max_iterations": 0})
        last = len(x)
        return fit(x, y, kernel, **settings)

    model.fit_gp = patched


def scan_lines(levels: int) -> None:
    """Start the maximization also where coordinates of the best point are at the lowest mean along their lines."""
    import torch

    from betabo.acquisition import maximize
    from betabo.optimizer import core

    points_before, maximize_before = maximize.starting_points, core.maximize
    grid = (1 - torch.cos(torch.linspace(0, math.pi, levels, dtype=torch.float64))) / 2

    def lines(acquisition: Any, incumbents: Any, seed: int) -> Any:
        generator = np.random.default_rng(seed)
        found = []
        for base in incumbents[:2]:
            dims = len(base)
            moved = base.expand(dims, levels, dims).clone()
            moved[torch.arange(dims), :, torch.arange(dims)] = grid
            points = torch.cat([moved.reshape(-1, dims), base[None]])
            with torch.no_grad():
                mean = acquisition.model.posterior(points.unsqueeze(-2)).mean.flatten()
            lowest = mean[:-1].view(dims, levels).min(dim=1)
            gain, target = (mean[-1] - lowest.values).clamp_min(0), grid[lowest.indices]
            order = gain.argsort(descending=True)
            for count in {1, 2, 4, 8, 16, 32, int((gain > 0).sum())}:
                point = base.clone()
                point[order[:count]] = torch.where(gain > 0, target, base)[order[:count]]
                found.append(point)
            for _ in range(16):
                chosen = torch.from_numpy(generator.random(dims) < generator.random()) & (gain > 0)
                found.append(torch.where(chosen, target, base))
        return torch.stack(found)

    def patched(acquisition: Any, incumbents: Any, **settings: Any) -> Any:
        maximize.starting_points = lambda *given: [*points_before(*given), lines(acquisition, incumbents, given[-1])]
        return maximize_before(acquisition, incumbents, **settings)

    core.maximize = patched


def look_farther(every: int, margin: float) -> None:
    """Ask for an improvement by a margin, in standard deviations of the values, in some of the steps."""
    from dataclasses import replace

    from betabo.optimizer import model

    make = model.make_acquisition

    def patched(acquisition: Any, context: Any) -> Any:
        if context.step % every == 0:
            context = replace(context, best_f=context.best_f - margin)
        return make(acquisition, context)

    model.make_acquisition = patched


def look_elsewhere(least: float, margin: float, every: int = 2) -> None:
    """Where little improvement is expected, ask for one by a margin in some of the steps."""
    from botorch.acquisition.analytic import LogExpectedImprovement

    from betabo.acquisition.lean import lean_form
    from betabo.optimizer import core

    maximize = core.maximize

    def patched(acquisition: Any, incumbents: Any, **settings: Any) -> Any:
        found = maximize(acquisition, incumbents, **settings)
        y = acquisition.model.y
        if float(found[1][0]) < math.log(least) and len(y) % every == 0:
            farther = LogExpectedImprovement(acquisition.model, best_f=y.min() - margin, maximize=False)
            found = maximize(lean_form(farther), incumbents, **settings)
        return found

    core.maximize = patched


def improve_on_the_mean() -> None:
    """Compare with the lowest mean at the points evaluated instead of the lowest value."""
    from dataclasses import replace

    import torch

    from betabo.optimizer import model

    make = model.make_acquisition

    def patched(acquisition: Any, context: Any) -> Any:
        with torch.no_grad():
            mean = context.model.posterior(context.X_observed.unsqueeze(-2)).mean
        return make(acquisition, replace(context, best_f=mean.min()))

    model.make_acquisition = patched


def take_values_for_independent() -> None:
    """Choose the power transform as if the values did not depend on each other."""
    from betabo.optimizer import model

    model.covariance_factor = lambda *_: None


PATCHES: dict[str, Callable[[], None]] = {
    "mean": improve_on_the_mean,
    "independent": take_values_for_independent,
    "elsewhere": partial(look_elsewhere, 1e-3, 0.1),
    "elsewhere-early": partial(look_elsewhere, 1e-2, 0.1),
    "elsewhere-far": partial(look_elsewhere, 1e-3, 0.5),
    "turns-beta-rbf": partial(take_turns, "beta-rbf"),
    "turns-rbf": partial(take_turns, "rbf"),
    "again-4": partial(again_from_the_start, 4),
    "evidence-beta": partial(by_evidence, "beta-matern", "beta"),
    "evidence-matern": partial(by_evidence, "beta-matern", "matern"),
    "evidence-three": partial(by_evidence, "beta-matern", "beta", "matern"),
    "search-4": partial(harder_search, 4, 256),
    "loud": partial(believe_noise, -4.0, 1.0),
    "middle": partial(believe_noise, -6.0, 2.0),
    "quieter": partial(believe_noise, -12.0, 4.0, 1e-8),
    "margin": partial(look_farther, 3, 0.1),
    "scan": partial(scan_lines, 17),
    "lazy": partial(fit_less_often, 0.04),
}
"""What is changed in the optimizer itself for a recipe; each run is a process of its own."""

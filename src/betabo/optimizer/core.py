"""One step of a search: everything that is known in, points to evaluate out. Nothing is kept in between."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.quasirandom import SobolEngine

from betabo.acquisition.lean import lean_form
from betabo.acquisition.maximize import MaximizeOptions, maximize
from betabo.optimizer.config import Config
from betabo.optimizer.data import Data, Points
from betabo.optimizer.earlier import best_earlier, weighed
from betabo.optimizer.history import Origin
from betabo.optimizer.local import local_step
from betabo.optimizer.many import Choice, choose, distance_to, near
from betabo.optimizer.model import Effort, Surrogate
from betabo.optimizer.noise import Repeats, is_seen
from betabo.optimizer.threads import few_threads
from betabo.optimizer.turns import SMALLEST_RADIUS, Step, next_turn, radius
from betabo.problem.region import Region
from betabo.surrogate import FitState

Snap = Callable[[Points], Points]

_APART = 1e-3  # in some coordinate, from points under way: their values will tell as much as another one so close
_ANEW = 4  # after so many fits one does not only follow the last one
_CLOSE_TO_BEST = 0.05  # of the logarithm of the gain: a point is measured again where a new one is hardly better
_INCUMBENTS = 5  # best points around which the acquisition function is searched
_REGIONS, _AROUND = 5, 20  # where a step with many data looks twice, and how many data it takes there
_SECOND_LOOKS = 3  # at different points, while they agree and the model sees noise all the same
_SAME = 1e-9  # in every coordinate, of two values of one point
_SAME_PLACE = 0.01  # in every coordinate
_AGAIN = MaximizeOptions(raw_samples=64, local_samples=64, starts=1)


@dataclass(frozen=True)
class Proposal:
    """Points to evaluate next, and how they were found.

    Attributes:
        points: `count x d`, admissible points of the unit cube.
        origins: Where each comes from: `"start"` for the starting design, `"model"` for the model, `"local"` for a step
            near the best point.
        states: Hyperparameters to start the next fits from, one for each objective and constraint.
        diagnostics: Figures of the fit and of the points, JSON-able; empty for starting points.
        surrogate: The fitted models of the whole cube; None where they were not asked.
    """

    points: Points
    origins: list[Origin]
    states: tuple[FitState, ...]
    diagnostics: dict[str, Any] = field(default_factory=dict)
    surrogate: Surrogate | None = None


def propose(
    data: Data,
    config: Config,
    *,
    count: int = 1,
    seed: int = 0,
    states: Sequence[FitState] = (),
    snap: Snap | None = None,
    neighbours: Snap | None = None,
    numeric: npt.NDArray[np.bool_] | None = None,
    index: int | None = None,
    region: Region | None = None,
    confirm: bool = False,
) -> Proposal:
    """Choose the next points.

    The same arguments give the same points. Until the starting design is complete, and while fewer than two evaluations
    have a value, points come from a scrambled Sobol sequence. After that a Gaussian process is fitted to each objective
    and each constraint and the acquisition function maximized, or, if that has gained more of late, a step is taken
    near the best point (`betabo.optimizer.local`). Each further point of a batch, and every pending one, counts as
    evaluated with its expected value. Several objectives are searched by the expected hypervolume improvement, whatever
    acquisition function is configured. Results of an earlier task count as far as they help
    (`betabo.optimizer.earlier`), and its best point comes first.

    Args:
        data: What is known.
        config: How to choose.
        count: Number of points.
        seed: Seed of the search.
        states: Hyperparameters of the last fits.
        snap: Maps points `n x d` to admissible ones, for discrete parameters.
        neighbours: Gives the admissible points next to one, `k x d`, for discrete parameters.
        numeric: Which coordinates are numbers, `d`; None where all are.
        index: Number of the first point within the search; None counts the points of `data`. Workers that ask at the
            same time with different numbers get different starting points.
        region: Where known constraints hold; no point lies elsewhere.
        confirm: Whether only evaluated points are measured again, where the model sees noise.
    """
    snap = (lambda points: points) if snap is None else snap
    anywhere = snap
    if region is not None:
        snap, neighbours = _inside(region, data, neighbours)
    first = data.total if index is None else index
    data = weighed(data, config, mix_seeds(seed, first)) if data.earlier.any() else data
    own = data.own
    outputs = data.objectives.shape[1] + data.constraints.shape[1]
    states = tuple(states[:outputs])
    points: list[Points] = []
    origins: list[Origin] = []
    diagnostics: dict[str, Any] = {}
    surrogate = choice = None
    with torch.random.fork_rng(devices=[]), few_threads(len(data.points)):
        for number in range(first, first + count):
            purpose = mix_seeds(seed, number)
            torch.manual_seed(purpose)
            if data.earlier.any() and not own.total + len(points):
                chosen = snap(best_earlier(data)[None])[0]
                origins.append("start")
            elif data.total + len(points) < config.design_size(data.dims) or len(data.points) < 2:
                chosen = _design_point(own, points, config, seed, number, snap, region)
                origins.append("start")
            elif not _sees_noise(states) and (
                local := _local(own, points, origins, config, purpose, numeric, anywhere, neighbours, region)
            ):
                chosen, figures = local
                diagnostics = diagnostics or figures
                origins.append("local")
            else:
                if surrogate is None or choice is None:
                    choice = choose(data)
                    fits = sum(step.origin == "model" for step in data.steps)
                    effort: Effort = "thorough" if fits % _ANEW == 0 else "usual"
                    surrogate = Surrogate.fit(choice.data, config, purpose, states, effort)
                    states, diagnostics = surrogate.states, {**diagnostics, **surrogate.diagnostics()}
                began = time.perf_counter()
                again = _second_look(surrogate, own, points, config)
                if again is None and confirm and surrogate.asks_for_knowledge(config):
                    again = _most_telling(surrogate, choice, own, points, config, purpose)
                if again is None:
                    chosen = _search(surrogate, choice, own, points, config, purpose, snap, neighbours, region)
                else:
                    chosen = again
                origins.append("model")
                diagnostics["acquisition_seconds"] = (
                    diagnostics.get("acquisition_seconds", 0.0) + time.perf_counter() - began
                )
            points.append(chosen if region is None else region.settle(chosen))
    return Proposal(np.stack(points), origins, states, diagnostics, surrogate)


def _inside(region: Region, data: Data, neighbours: Snap | None) -> tuple[Snap, Snap | None]:
    """What maps points into the region, and what gives the allowed neighbours of one."""
    near = data.points[region.holds(data.points)] if len(data.points) else data.points

    def snap(points: Points) -> Points:
        return region.repair(points, near)

    def allowed(point: Points) -> Points:
        assert neighbours is not None
        beside = neighbours(point)
        return beside[region.holds(beside)]

    return snap, None if neighbours is None else allowed


def _local(
    data: Data,
    chosen: list[Points],
    origins: list[Origin],
    config: Config,
    seed: int,
    numeric: npt.NDArray[np.bool_] | None,
    snap: Snap,
    neighbours: Snap | None,
    region: Region | None,
) -> tuple[Points, dict[str, Any]] | None:
    """A point near the best one, with the figures of its fit; None if that is not what is to be done."""
    if not config.takes_local_steps or data.values.ndim > 1 or data.constraints.shape[1]:
        return None
    steps = [*data.steps, *(Step(origin, None, under_way=True) for origin in origins)]
    if next_turn(steps, data.dims) == "model" or (reach := radius(steps, data.dims)) < SMALLEST_RADIUS:
        return None
    began = time.perf_counter()
    pending = np.concatenate([data.pending, *(p[None] for p in chosen)])
    found = local_step(
        data,
        pending,
        reach,
        seed=seed,
        noise=config.noise_model,
        numeric=numeric,
        snap=snap,
        neighbours=neighbours,
        region=region,
    )
    if found is None:
        return None
    new = _new(_apart_first(found.ranked, pending), np.concatenate([data.seen(), *(p[None] for p in chosen)]), config)
    if new is None:
        return None
    seconds = time.perf_counter() - began - found.diagnostics["fit_seconds"]
    return new, {**found.diagnostics, "acquisition_seconds": seconds}


def _sees_noise(states: Sequence[FitState]) -> bool:
    """Whether the last fit saw noise, which the steps near the best point would take for gains."""
    return len(states) == 1 and is_seen(states[0])


def _second_look(surrogate: Surrogate, data: Data, chosen: list[Points], config: Config) -> Points | None:
    """The point with the lowest value, where only a second value of a point can tell whether there is noise.

    Where earlier second values were the same and the model sees noise all the same, it is another point.
    """
    if config.noise != "unknown" or not surrogate.asks_for_knowledge(config) or data.constraints.shape[1]:
        return None
    under_way = np.concatenate([data.pending, *(p[None] for p in chosen)])
    is_asked = distance_to(under_way, data.points).min(initial=np.inf) <= _SAME
    repeats = Repeats.of(data, data.values)
    is_shown = not repeats.agree or repeats.own.sum() >= _SECOND_LOOKS
    if is_asked or is_shown or not np.isnan(data.variances).any():
        return None
    open_to_it = ~np.isin(data.places, data.places[repeats.own])
    if not open_to_it.any():
        return None
    return np.asarray(data.points[open_to_it][np.argmin(data.values[open_to_it])])


def _most_telling(
    surrogate: Surrogate, choice: Choice, data: Data, chosen: list[Points], config: Config, seed: int
) -> Points:
    """The evaluated point of which another value is expected to improve the answer most."""
    pending = np.concatenate([data.pending, *(p[None] for p in chosen)])
    acquisition = lean_form(surrogate.acquisition(choice.data, torch.from_numpy(pending), config, seed))
    evaluated = np.unique(choice.data.points, axis=0)
    scores = acquisition(torch.from_numpy(evaluated).unsqueeze(-2)).detach().numpy()
    return np.asarray(_apart_first(evaluated[np.argsort(-scores, kind="stable")], pending)[0])


def _search(
    surrogate: Surrogate,
    choice: Choice,
    data: Data,
    chosen: list[Points],
    config: Config,
    seed: int,
    snap: Snap,
    neighbours: Snap | None,
    region: Region | None,
) -> Points:
    pending = torch.from_numpy(np.concatenate([data.pending, *(p[None] for p in chosen)]))
    look = partial(
        maximize,
        seed=seed,
        snap=lambda t: torch.from_numpy(snap(t.numpy())),
        ascend=None if region is None else region.ascend,
        more=None if region is None else torch.from_numpy(region.pool),
    )
    acquisition = lean_form(surrogate.acquisition(choice.data, pending, config, seed))
    candidates, values = look(acquisition, surrogate.incumbents(choice.data, _INCUMBENTS))
    if choice.others is not None:  # once more, with what was left out there
        regions = _apart(candidates.numpy(), _REGIONS)
        surrogate = surrogate.with_more(near(choice.others, regions, _AROUND))
        acquisition = lean_form(surrogate.acquisition(choice.data, pending, config, seed))
        candidates, values = look(acquisition, torch.from_numpy(regions), options=_AGAIN)
    ranked = candidates.numpy()
    if neighbours is not None and len(near_best := neighbours(ranked[0])):
        scores = acquisition(torch.from_numpy(near_best).unsqueeze(-2)).detach()
        ranked = np.concatenate([near_best[(scores > values[0]).numpy()], ranked, near_best])
    if surrogate.asks_for_knowledge(config):
        again = np.unique(choice.data.points, axis=0)
        scores = acquisition(torch.from_numpy(again).unsqueeze(-2)).detach()
        if float(scores.max()) > float(values[0]) - _CLOSE_TO_BEST:
            ranked = np.concatenate([again[[int(scores.argmax())]], ranked])
        return np.asarray(_apart_first(ranked, pending.numpy())[0])
    seen = np.concatenate([data.seen(), *(p[None] for p in chosen)])
    return _first_new(_apart_first(ranked, pending.numpy()), seen, config, seed, snap)


def _apart(ranked: Points, count: int) -> Points:
    """The best candidates that are not in the same place, at most `count`."""
    found = ranked[:1]
    for _ in range(count - 1):
        others = ranked[distance_to(ranked, found) > _SAME_PLACE]
        found = np.concatenate([found, others[:1]])
    return found


def _apart_first(ranked: Points, pending: Points) -> Points:
    """The candidates, those close to a point under way last."""
    apart = distance_to(ranked, pending) > _APART
    return np.concatenate([ranked[apart], ranked[~apart]])


def _first_new(ranked: Points, seen: Points, config: Config, seed: int, snap: Snap) -> Points:
    """The best candidate that has not been evaluated; any point not seen where there is none; else the best."""
    random = SobolEngine(ranked.shape[1], scramble=True, seed=seed + 1).draw(256, dtype=torch.float64).numpy()
    for candidates in (ranked, snap(random)):
        new = _new(candidates, seen, config)
        if new is not None:
            return new
    return np.asarray(ranked[0])


def _new(ranked: Points, seen: Points, config: Config) -> Points | None:
    """The best candidate that has not been evaluated; with known noise, where a second look makes sense, the best."""
    if isinstance(config.noise, (int, float)) and config.noise > 0:
        return np.asarray(ranked[0])
    for start in range(0, len(ranked), 64):
        block = ranked[start : start + 64]
        new = np.flatnonzero(distance_to(block, seen) > config.duplicate_tolerance)
        if len(new):
            return np.asarray(block[new[0]])
    return None


def _design_point(
    data: Data, chosen: list[Points], config: Config, seed: int, index: int, snap: Snap, region: Region | None
) -> Points:
    """The next point of the starting design, new if the space has a new one."""
    seen = np.concatenate([data.seen(), *(p[None] for p in chosen)])
    if region is None:
        engine = SobolEngine(data.dims, scramble=True, seed=mix_seeds(seed, 0))
        engine.fast_forward(index)
        candidates = snap(engine.draw(64, dtype=torch.float64).numpy())
    else:
        candidates = region.spread(seen, index)
    if not len(seen):
        return np.asarray(candidates[0])
    return _first_new(candidates, seen, config, mix_seeds(seed, index), snap)


def mix_seeds(seed: int, number: int) -> int:
    """A seed for one purpose out of the seed of the search."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0])

"""What lies beyond the bounds: an estimate of what a wider box would gain, from a model that reaches further."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from betabo.acquisition.maximize import MaximizeOptions, starting_points
from betabo.optimizer.config import Config
from betabo.optimizer.core import mix_seeds
from betabo.optimizer.data import Data, Points
from betabo.optimizer.many import choose
from betabo.optimizer.model import Surrogate
from betabo.optimizer.remaining import DRAWS
from betabo.optimizer.threads import few_threads
from betabo.space import Space
from betabo.space.boundary import SIDES, Side
from betabo.space.parameters import Number
from betabo.space.widening import widened, wider_bound

_INCUMBENTS = 5  # best points that are followed beyond a bound
_DEPTHS = 8  # how far beyond, in so many steps
_BESIDE = 48  # further points beyond each bound, around those

_INSIDE = MaximizeOptions(raw_samples=64, local_samples=96)


@dataclass(frozen=True)
class GainBeyond:
    """What may be gained beyond one bound.

    Attributes:
        parameter: Name of the parameter.
        side: Which bound.
        bound: The bound, in the user's units.
        until: How far beyond it was looked.
        gain: By how much the best value there is better than the best one in the box, the median of draws from the
            model; negative where it is worse.
        low: A tenth of the draws are below this.
        high: A tenth of the draws are above this.
    """

    parameter: str
    side: Side
    bound: float
    until: float
    gain: float
    low: float
    high: float


def describe_gain(gain: GainBeyond) -> str:
    """A gain in a sentence."""
    interval = f"80 % interval {gain.low:.3g} to {gain.high:.3g}"
    where = f"beyond {gain.parameter} = {gain.bound:g}, up to {gain.until:g}"
    if gain.gain > 0:
        return f"{where}, the best value would improve by about {gain.gain:.3g} ({interval})"
    return f"{where}, values would be worse by about {-gain.gain:.3g} (gain: {interval})"


def gains_beyond(
    data: Data,
    space: Space,
    config: Config,
    *,
    faces: Iterable[tuple[str, Side]] | None = None,
    seed: int = 0,
    allows: Callable[[Any], bool] | None = None,
) -> list[GainBeyond]:
    """Estimate what a wider box would gain, bound by bound.

    The values are modelled in a box that reaches a quarter of the range beyond each of the bounds in question. Of
    functions that agree with the data, drawn from that model, the lowest value in the box is compared with the lowest
    one beyond each bound, near the best points. Where a constraint does not hold, in a draw or as far as is known, a
    value counts as the worst.

    Args:
        data: What is known; one objective.
        space: The box in which it is known.
        config: How it is modelled.
        faces: The bounds in question, as pairs of a name and a side; None takes all.
        seed: Seed of the draws.
        allows: Says of a point in the user's units whether known constraints hold; None where there are none.

    Returns:
        An estimate for each bound beyond which there is something that is allowed.

    Raises:
        ValueError: There are several objectives, or fewer than two values.
    """
    if data.values.ndim > 1:
        raise ValueError(f"there are {data.values.shape[1]} objectives, expected one.")
    if len(data.values) < 2:
        raise ValueError(f"there are {len(data.values)} values, expected at least 2 for a model.")
    numbers = [name for name, parameter in space.parameters.items() if isinstance(parameter, Number)]
    asked = [(name, side) for name in numbers for side in SIDES] if faces is None else list(faces)
    # A parameter that exists only under a choice is at rest elsewhere, which is no place beyond its bounds.
    asked = [(name, side) for name, side in asked if not getattr(space.parameters[name], "when", ())]
    open_faces = [(name, side) for name, side in asked if wider_bound(space.parameters[name], side) is not None]
    if not open_faces:
        return []
    data = choose(data).data
    seed = mix_seeds(seed, len(data.values))
    wide = widened(space, open_faces)
    with torch.random.fork_rng(devices=[]), few_threads(len(data.points)):
        torch.manual_seed(seed)
        moved = replace(data, points=_moved(data.points, space, wide), failed=_moved(data.failed, space, wide))
        surrogate = Surrogate.fit(moved, config, seed)
        output = surrogate.objectives[0]
        best = surrogate.incumbents(moved, _INCUMBENTS)
        rows = [int((moved.points == point).all(axis=1).argmax()) for point in best.numpy()]
        around = torch.cat(starting_points(torch.from_numpy(data.points[rows]), _INSIDE, seed)).numpy()
        inside = np.concatenate([best.numpy(), _moved(space.snap(around), space, wide)])
        rng = np.random.default_rng(seed)
        slabs = [wide.snap(_beyond(best.numpy(), space, wide, name, side, rng)) for name, side in open_faces]
        places = torch.from_numpy(np.concatenate([inside, *slabs]))
        allowed = np.array([allows is None or allows(wide.from_unit(place)) for place in places.numpy()], dtype=bool)
        with torch.no_grad():
            drawn = output.draws(places, DRAWS, seed)
            holds = np.tile(allowed, (DRAWS, 1))
            for number, constraint in enumerate(surrogate.constraints, 1):
                holds &= constraint.draws(places, DRAWS, seed + number) <= 0
    drawn = np.where(holds, drawn, np.maximum(drawn, output.highest))
    ends = np.cumsum([len(inside), *map(len, slabs)])[:-1]
    lowest = [part.min(axis=1) for part in np.split(drawn, ends, axis=1)]
    somewhere = [part.any() for part in np.split(allowed, ends)[1:]]
    return [
        _estimate(space, wide, name, side, lowest[0] - there)
        for (name, side), there, is_allowed in zip(open_faces, lowest[1:], somewhere, strict=True)
        if is_allowed
    ]


def _moved(units: Points, before: Space, after: Space) -> Points:
    """Points of the unit cube of one space in that of another one."""
    return np.array([after.to_unit(before.from_unit(unit)) for unit in units]).reshape(len(units), before.dims)


def _beyond(best: Points, space: Space, wide: Space, name: str, side: Side, rng: np.random.Generator) -> Points:
    """Points of the wider cube beyond a bound: the best ones moved there, and some around them."""
    column = wide.coordinates.index(name)
    parameter = space.parameters[name]
    assert isinstance(parameter, Number)
    face = float(wide.parameters[name].to_unit(parameter.low if side == "lower" else parameter.high)[0])
    end = 0.0 if side == "lower" else 1.0
    depths = face + (end - face) * np.linspace(0, 1, _DEPTHS + 1)[1:]
    moved = np.repeat(best, _DEPTHS, axis=0)
    moved[:, column] = np.tile(depths, len(best))
    beside = best[rng.integers(len(best), size=_BESIDE)]
    beside = np.clip(beside + rng.normal(size=beside.shape) * 10 ** rng.uniform(-2, -0.7, (_BESIDE, 1)), 0, 1)
    beside[:, column] = rng.choice(depths, _BESIDE)
    return np.concatenate([moved, beside])


def _estimate(space: Space, wide: Space, name: str, side: Side, gains: Points) -> GainBeyond:
    before, after = space.parameters[name], wide.parameters[name]
    assert isinstance(before, Number)
    assert isinstance(after, Number)
    low, gain, high = np.quantile(gains, [0.1, 0.5, 0.9]).tolist()
    ends = (before.low, after.low) if side == "lower" else (before.high, after.high)
    return GainBeyond(name, side, *ends, gain=gain, low=low, high=high)

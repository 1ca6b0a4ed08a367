"""The part of the unit cube in which all known constraints hold: points in it, the way back into it, and along it.

Whatever is proposed goes through `Region.repair`, so that no rule of the search needs to know of constraints: a point
that violates one is moved along the constraints' slopes and, where that fails, towards a point that is known to be
allowed. The last word is always an exact look at the point as the user gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares
from scipy.optimize import minimize as scipy_minimize
from scipy.stats import qmc

from betabo.problem.columns import columns_of, duals_of
from betabo.problem.duals import Array
from betabo.problem.known import AtMost, KnownConstraint, Written
from betabo.space import Space

Truth = npt.NDArray[np.bool_]
ValueAndSlope = Callable[[Array], tuple[float, Array]]

_LOOKED_AT = 4096  # points all over the cube among which allowed ones are looked for
_POOL = 256  # allowed points that are kept
_STEPS = 24  # along the slopes, of points that are moved back
_HALVINGS = 30  # of the way to an allowed point
_MARGIN = 1e-9  # how far inside the steps along the slopes aim, as a share of the slope
_GREEDY = 32  # points whose integers and choices are changed one by one, at most
_SOLVED = 4  # points from which an allowed one is looked for by least squares
_MARGINS = (0.05, 0.01, 1e-3, 1e-6, 0.0)  # how far inside the first allowed points are looked for


class Region:
    """Where all known constraints hold.

    Args:
        space: The search space.
        known: The constraints.
        seed: Seed of the points in `pool`.
    """

    def __init__(self, space: Space, known: Sequence[KnownConstraint], seed: int = 0) -> None:
        self.space, self.known, self.seed = space, tuple(known), seed
        self._moving = _moving(space)
        self._cardinalities = [
            (c.most, [_place_of_zero(space, name) for name in c.names]) for c in known if isinstance(c, AtMost)
        ]

    def holds(self, points: Array) -> Truth:
        """Which of the points, `n x d` and snapped, are allowed, to within rounding."""
        values = columns_of(self.space, points)
        allowed = np.ones(len(points), dtype=bool)
        exists = self.space.exists(points) if self.space.is_conditional else None
        for constraint in self.known:
            allowed &= (
                constraint.holds(values, len(points))
                if exists is None
                else self._holds_where(constraint, points, values, exists)
            )
        return allowed

    def _holds_where(
        self, constraint: KnownConstraint, points: Array, values: dict[str, Any], exists: dict[str, Truth]
    ) -> Truth:
        """Where a constraint holds in a space in which some parameters do not exist everywhere."""
        if isinstance(constraint, Written):  # of what does not exist it says nothing
            applies = np.logical_and.reduce([exists[name] for name in constraint.expression.names])
            return np.asarray(~applies | constraint.holds(values, len(points)))
        if isinstance(constraint, AtMost):
            zeroed = {name: np.where(exists[name], values[name], 0) for name in constraint.names}
            return constraint.holds(zeroed, len(points))
        found = [constraint.admits(self.space.from_unit(point)) for point in points]
        return np.array(found, dtype=bool)

    def admits(self, unit: Array) -> bool:
        """Whether a point is allowed, exactly, as the user gets it."""
        point = self.space.from_unit(unit)
        return all(constraint.admits(point) for constraint in self.known)

    def violated(self, unit: Array) -> str:
        """The first constraint that a point violates, for people; empty for none."""
        point = self.space.from_unit(unit)
        return next((constraint.text for constraint in self.known if not constraint.admits(point)), "")

    @cached_property
    def pool(self) -> Array:
        """Allowed points all over the region, `k x d`.

        Raises:
            ValueError: None was found.
        """
        found, is_everywhere = self._first()
        found = found[[self.admits(point) for point in found]]
        if not len(found):
            raise ValueError(
                f"no point of the space was found at which {' and '.join(c.text for c in self.known)} "
                f"{'hold' if len(self.known) > 1 else 'holds'}; loosen a known constraint, or widen the space."
            )
        if not is_everywhere:  # they were moved, and lie on bounds; some are kept for that
            walked = self._walk(found)
            found = np.concatenate([walked[[self.admits(point) for point in walked]], found[: _POOL // 4]])
        return np.unique(found, axis=0)

    def spread(self, seen: Array, first: int) -> Array:
        """The points of the pool, those farthest from all points seen first; `first` begins where none is."""
        if not len(seen):
            return np.roll(self.pool, -(first % len(self.pool)), axis=0)
        distance = np.square(self.pool[:, None] - seen[None]).sum(axis=-1).min(axis=1)
        return np.asarray(self.pool[np.argsort(-distance, kind="stable")])

    def repair(self, points: Array, near: Array | None = None) -> Array:
        """Allowed points, close to the given ones where possible.

        Args:
            points: Points of the unit cube, `n x d`.
            near: Further allowed points, `k x d`, beside those of the pool, towards which others may be moved.
        """
        repaired = self.space.snap(points)
        wrong = np.flatnonzero(~self.holds(repaired))
        if len(wrong):
            moved = self._along_slopes(repaired[wrong])
            still = np.flatnonzero(~self.holds(moved))
            if len(still):
                anchors = self.pool if near is None or not len(near) else np.concatenate([near, self.pool])
                nearest = np.square(moved[still][:, None] - anchors[None]).sum(axis=-1).argmin(axis=1)
                moved[still] = self._towards(moved[still], anchors[nearest])
            repaired[wrong] = moved
        return repaired

    def settle(self, unit: Array) -> Array:
        """A point that is exactly allowed: the point itself, or one as far from it as rounding needs."""
        if self.admits(unit):
            return unit
        repaired = self.repair(unit[None])[0]
        anchor = self.pool[np.square(self.pool - repaired).sum(axis=1).argmin()]
        for share in (0.0, *np.geomspace(1e-15, 1.0, 31)):
            moved = self.space.snap(self._onto_equations((repaired + share * (anchor - repaired))[None]))[0]
            if self.admits(moved):
                return np.asarray(moved)
        return np.asarray(anchor)

    def ascend(
        self,
        function: ValueAndSlope,
        starts: Array,
        iterations: int,
        low: Array | None = None,
        high: Array | None = None,
    ) -> Array:
        """Climb from allowed points along the constraints; integers, choices and zeros of `at_most` stay.

        Args:
            function: Its value and slope at one point of shape `d`.
            starts: Points, `n x d`, which are moved into the region first.
            iterations: At most so many.
            low: Lower bounds of the coordinates, 0 by default.
            high: Upper bounds, 1 by default.

        Returns:
            Allowed points, `n x d`.
        """
        low = np.zeros(self.space.dims) if low is None else low
        high = np.ones(self.space.dims) if high is None else high
        starts = self.repair(starts)
        climbed = np.array([self._climb(function, start, low, high, iterations) for start in starts])
        wrong = ~self.holds(climbed)
        if wrong.any():
            climbed[wrong] = self._towards(climbed[wrong], starts[wrong])
        return climbed

    def _climb(self, function: ValueAndSlope, start: Array, low: Array, high: Array, iterations: int) -> Array:
        free = np.flatnonzero(self._moving & ~self._zeros(start[None])[0])
        if not len(free):
            return start

        def whole(inner: Array) -> Array:
            point = start.copy()
            point[free] = inner.clip(low[free], high[free])
            return point

        def loss(inner: Array) -> tuple[float, Array]:
            value, slope = function(whole(inner))
            return -value, -np.nan_to_num(slope[free])

        bounds = [(min(low[i], start[i]), max(high[i], start[i])) for i in free]
        _, _, equations = self._gaps(start[None])
        constraints: list[dict[str, Any]] = []
        for kind, chosen in (("ineq", ~equations), ("eq", equations)):
            if chosen.any():
                constraints.append(
                    {
                        "type": kind,
                        "fun": lambda inner, chosen=chosen: -self._gaps(whole(inner)[None])[0][0][chosen],
                        "jac": lambda inner, chosen=chosen: -self._gaps(whole(inner)[None])[1][0][chosen][:, free],
                    }
                )
        found = scipy_minimize(
            loss,
            start[free],
            jac=True,
            method="SLSQP",
            bounds=bounds,
            constraints=constraints,
            options={"maxiter": iterations, "ftol": 1e-10},
        )
        point = whole(found.x) if np.isfinite(found.x).all() else start
        return np.asarray(self._along_slopes(point[None])[0])

    def _gaps(self, points: Array) -> tuple[Array, Array, Truth]:
        """Violations, `n x c`, with slopes, `n x c x d`, and which of them are equations, `c`."""
        values = duals_of(self.space, points)
        found = [gap for constraint in self.known for gap in constraint.gaps(values)]
        if not found:
            nothing = np.empty((len(points), 0))
            return nothing, np.empty((len(points), 0, self.space.dims)), np.empty(0, dtype=bool)
        gaps = np.nan_to_num(np.stack([gap.value for gap, _ in found], axis=1), nan=1e6)
        slopes = np.nan_to_num(np.stack([gap.slope for gap, _ in found], axis=1), posinf=0.0, neginf=0.0)
        return gaps, slopes, np.array([is_equation for _, is_equation in found], dtype=bool)

    def _along_slopes(self, points: Array, only_equations: bool = False) -> Array:
        """Points moved towards what they violate most, coordinates on a bound staying where they would leave it."""
        points = self._with_zeros(points) if not only_equations else points.copy()
        frozen = ~self._moving | self._zeros(points)
        rows = np.arange(len(points))
        for _ in range(_STEPS):
            gaps, slopes, equations = self._gaps(points)
            if not gaps.shape[1] or (only_equations and not equations.any()):
                break
            sizes = np.abs(slopes).max(axis=2).clip(1e-12)
            amounts = np.where(equations, abs(gaps), gaps) / sizes
            if only_equations:
                amounts = np.where(equations, amounts, -1.0)
            worst = amounts.argmax(axis=1)
            if (amounts[rows, worst] <= np.where(equations[worst], 1e-14, 0.0)).all():
                break
            wanted = np.where(equations[worst], gaps[rows, worst], gaps[rows, worst] + _MARGIN * sizes[rows, worst])
            step = np.where(amounts[rows, worst] > 0, wanted, 0.0)[:, None] * slopes[rows, worst]
            away = ((points <= 0) & (step > 0)) | ((points >= 1) & (step < 0)) | frozen
            slope = np.where(away, 0.0, slopes[rows, worst])
            length = np.square(slope).sum(axis=1).clip(1e-300)
            points = np.clip(points - np.where(away, 0.0, step) / length[:, None], 0.0, 1.0)
        points = self.space.snap(points)
        return points if only_equations else self._step_by_step(points)

    def _onto_equations(self, points: Array) -> Array:
        return self._along_slopes(points, only_equations=True)

    def _step_by_step(self, points: Array) -> Array:
        """Points whose integers and choices are changed one at a time while that lessens what they violate."""
        if self.space.is_continuous:
            return points
        points = points.copy()
        for index in np.flatnonzero(~self.holds(points))[:_GREEDY]:
            here, amount = points[index], self._amount(points[index][None])[0]
            for _ in range(2 * self.space.dims):
                near = self.space.neighbours(here)
                if amount <= 0 or not len(near):
                    break
                amounts = self._amount(near)
                best = int(amounts.argmin())
                if amounts[best] >= amount:
                    break
                here, amount = near[best], amounts[best]
            points[index] = here
        return points

    def _amount(self, points: Array) -> Array:
        """How much points violate in all; of constraints that do not tell, 1 for each."""
        gaps, _, equations = self._gaps(points)
        amount = np.where(equations, abs(gaps), gaps.clip(0)).sum(axis=1)
        values = columns_of(self.space, points)
        amount = amount + sum(~c.holds(values, len(points)) for c in self.known)
        return np.asarray(amount, dtype=np.float64)

    def _towards(self, points: Array, anchors: Array) -> Array:
        """The allowed points nearest to the given ones on the way to allowed ones, found by halving."""
        best = anchors.copy()
        near, far = np.zeros(len(points)), np.ones(len(points))  # shares of the way from the anchor
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            tried = anchors + middle[:, None] * (points - anchors)
            tried = self.space.snap(self._onto_equations(tried))
            allowed = self.holds(tried)
            best[allowed] = tried[allowed]
            near, far = np.where(allowed, middle, near), np.where(allowed, far, middle)
        return best

    def _first(self) -> tuple[Array, bool]:
        """Some allowed points, moved ones where too few lie in the region; and whether they are all over it."""
        engine = qmc.Sobol(self.space.dims, scramble=True, rng=np.random.default_rng(self.seed))
        everywhere = self.space.snap(engine.random(_LOOKED_AT))
        found = everywhere[self.holds(everywhere)]
        if len(found) >= _POOL:
            return np.asarray(found[:_POOL]), True
        moved = self._along_slopes(everywhere[:_POOL])
        found = np.concatenate([found, moved[self.holds(moved)]])
        if len(found):
            return found, False
        for margin in _MARGINS:
            solved = np.array([self._solve(start, margin) for start in everywhere[:_SOLVED]])
            solved = np.concatenate([self._along_slopes(solved), solved])
            found = solved[self.holds(solved)]
            if len(found):
                break
        return np.asarray(found), False

    def _solve(self, start: Array, margin: float) -> Array:
        """The point from which least is violated, by least squares."""
        start = self._with_zeros(start[None])[0]
        free = np.flatnonzero(self._moving & ~self._zeros(start[None])[0])
        if not len(free) or not self._gaps(start[None])[0].shape[1]:
            return start

        def whole(inner: Array) -> Array:
            point = start.copy()
            point[free] = inner
            return point[None]

        sizes = np.abs(self._gaps(start[None])[1][0]).max(axis=1).clip(1e-12)

        def residuals(inner: Array) -> Array:
            gaps, _, equations = self._gaps(whole(inner))
            return np.asarray(np.where(equations, gaps[0] / sizes, (gaps[0] / sizes + margin).clip(0)))

        def slopes(inner: Array) -> Array:
            _, by_coordinate, equations = self._gaps(whole(inner))
            counts = equations | (residuals(inner) > 0)
            return np.asarray(np.where(counts[:, None], by_coordinate[0][:, free] / sizes[:, None], 0.0))

        inner = start[free].clip(1e-6, 1 - 1e-6)
        found = least_squares(residuals, inner, slopes, bounds=(0.0, 1.0), max_nfev=60)
        return np.asarray(self.space.snap(whole(found.x))[0])

    def _walk(self, starts: Array) -> Array:
        """Points all over the region, by steps of random length in random directions that stay in it."""
        generator = np.random.default_rng(self.seed)
        here = starts[generator.integers(len(starts), size=_POOL)].copy()
        dims = self.space.dims
        has_equations = self._gaps(here[:1])[2].any()
        between = starts[generator.integers(len(starts), size=(_POOL, dims))].mean(axis=1)  # deep inside, where convex
        between = self.space.snap(self._onto_equations(between))
        inside = self.holds(between)
        here[inside] = between[inside]
        for _ in range(20 + 2 * dims):
            direction = generator.standard_normal(here.shape)
            single = generator.random((len(here), 1)) < 0.3
            one, other = np.eye(dims)[generator.integers(dims, size=(2, len(here)))]
            direction = np.where(single, one - other if has_equations else one, direction)
            direction = np.where(self._zeros(here), 0.0, direction)
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = np.where(
                    direction > 0, (1 - here) / direction, np.where(direction < 0, -here / direction, np.inf)
                )
                back = np.where(
                    direction > 0, -here / direction, np.where(direction < 0, (1 - here) / direction, -np.inf)
                )
            high, low = reach.min(axis=1), back.max(axis=1)
            high, low = np.where(np.isfinite(high), high, 0.0), np.where(np.isfinite(low), low, 0.0)
            left = np.arange(len(here))
            for _ in range(12):
                length = low[left] + (high[left] - low[left]) * generator.random(len(left))
                tried = np.clip(here[left] + length[:, None] * direction[left], 0.0, 1.0)
                tried = self.space.snap(self._onto_equations(tried))
                allowed = self.holds(tried)
                here[left[allowed]] = tried[allowed]
                short = left[~allowed]
                low[short] = np.where(length[~allowed] < 0, length[~allowed], low[short])
                high[short] = np.where(length[~allowed] > 0, length[~allowed], high[short])
                left = short
                if not len(left):
                    break
        return here

    def _with_zeros(self, points: Array) -> Array:
        """The points with the smallest of too many parameters that are not zero set to zero."""
        points = points.copy()
        for most, places in self._cardinalities:
            sizes = np.stack([np.abs(points[:, place] - zero).max(axis=1) for place, zero in places], axis=1)
            order = np.argsort(-sizes, axis=1, kind="stable")
            for rank in range(most, len(places)):
                for index, (place, zero) in enumerate(places):
                    points[np.ix_(order[:, rank] == index, np.arange(place.start, place.stop))] = zero
        return points

    def _zeros(self, points: Array) -> Truth:
        """Which coordinates stay at zero: those of parameters of `at_most` that are zero already, where it binds."""
        frozen = np.zeros(points.shape, dtype=bool)
        for most, places in self._cardinalities:
            zero = np.stack([np.abs(points[:, place] - where).max(axis=1) < 1e-12 for place, where in places], axis=1)
            binds = (~zero).sum(axis=1) >= most
            for index, (place, _) in enumerate(places):
                frozen[:, place] |= (zero[:, index] & binds)[:, None]
        return frozen


def _moving(space: Space) -> Truth:
    """Which coordinates move by any amount, rather than by steps."""
    return np.array([not p.is_discrete for p in space.parameters.values() for _ in range(p.width)], dtype=bool)


def _place_of_zero(space: Space, name: str) -> tuple[slice, Array]:
    """The coordinates of a parameter, and where they are when it is 0."""
    start = 0
    for other, parameter in space.parameters.items():
        if other == name:
            return slice(start, start + parameter.width), parameter.to_unit(_zero_of(parameter))
        start += parameter.width
    raise KeyError(name)


def _zero_of(parameter: Any) -> Any:
    return next(choice for choice in parameter.choices if choice == 0) if hasattr(parameter, "choices") else 0

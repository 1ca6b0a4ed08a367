"""What a search returns: SciPy's shape, with the whole record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import OptimizeResult

from betabo.extras import needs_extra
from betabo.optimizer.answer import Answer, Recommendation
from betabo.optimizer.history import MODELLED, Evaluation
from betabo.problem import VALUE, Problem
from betabo.problem.front import MOST_OBJECTIVES, hypervolumes, pareto_front, reference_point
from betabo.space import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas
    import pyarrow
    from matplotlib.figure import Figure

    from betabo.optimizer.plots import Kind


@dataclass(frozen=True)
class FrontPoint:
    """A point of the front.

    Attributes:
        point: The point, in the user's units.
        values: The value of each objective, by name.
        measured: What the constraints are about, by name.
    """

    point: Any
    values: dict[str, float]
    measured: dict[str, float]

    @classmethod
    def of(cls, problem: Problem, evaluation: Evaluation) -> FrontPoint:
        """The point of an evaluation that succeeded."""
        values = dict(zip(problem.names, evaluation.numbers, strict=True))
        return cls(problem.space.from_unit(evaluation.unit), values, dict(evaluation.measured))


class SearchResult(OptimizeResult):  # type: ignore[misc]
    """Outcome of a search, a `scipy.optimize.OptimizeResult`.

    Attributes:
        x: The best point, in the user's units; None if no evaluation succeeded. Where the model sees noise it is the
            evaluated point with the best posterior mean, otherwise the one with the best value. Where no point
            satisfies all constraints it is the one that violates them least; of several objectives, the first point of
            the front.
        fun: The value that was measured at `x`, the mean of several values; of several objectives, that of the first.
        x_observed: The point with the best value, which is often a lucky one where there is noise; without noise `x`.
        fun_observed: That value, the mean of several.
        estimate: What the model believes of the value at `x` without noise: `mean` and `deviation`, in the objective's
            units. None without a model: with fewer than two values, several objectives, or in a callback before the
            first step of the model.
        sees_noise: Whether the model sees noise.
        maxcv: The largest amount by which `x` violates a constraint, 0 where all hold, as SciPy has it.
        front: The points that no other one beats in all objectives, best in the first objective first; of one
            objective the best point. Points that violate constraints are not among them.
        hypervolume: With two to four objectives, the volume that the front dominates after each evaluation; the
            reference point is a tenth of the range beyond the worst value of each objective. Else None.
        nfev: Number of evaluations, failed ones included; results that were known before are not among them.
        nfail: Number of failed evaluations.
        success: Whether at least one evaluation succeeded and the search came to its end.
        message: Why it ended.
        history: All evaluations in order, after the results that were known before.
        problem: What was searched for.
        space: The search space.
        seconds: Time spent in fitting and in maximizing the acquisition function, by name.
        face_share: Share of the model's proposals with a number on a bound.
    """

    @classmethod
    def of(
        cls,
        problem: Problem | Space,
        history: list[Evaluation],
        message: str,
        complete: bool = True,
        found: Answer | None = None,
    ) -> SearchResult:
        """The result of a record.

        Args:
            problem: What was searched for.
            history: The record.
            message: Why the search ended.
            complete: Whether it came to its end.
            found: The answer of the model; None takes the best value.
        """
        problem = Problem.of(problem)
        space = problem.space
        front, best = _front(problem, history), best_of(problem, history)
        observed, sees_noise = best, found is not None and found.sees_noise
        fun = fun_observed = float("nan") if best is None or best.value is None else best.value
        if found is not None and found.index is not None and found.value is not None:
            finished = [evaluation for evaluation in history if not evaluation.failed]
            best, observed = finished[found.index], finished[found.observed]
            fun, fun_observed = (problem.signs[0] * value for value in (found.value, found.observed_value))
            front = [best] if front else []
        if sees_noise:
            message += "; the model sees noise: x is the point that it believes best, x_observed has the best value"
        maxcv = 0.0 if best is None else max((0.0, *problem.excess(best.measured)))
        evaluated = [e for e in history if e.origin != "known"]
        proposed = [e for e in history if e.origin in MODELLED]
        return cls(
            x=None if best is None else space.from_unit(best.unit),
            fun=fun,
            x_observed=None if observed is None else space.from_unit(observed.unit),
            fun_observed=fun_observed,
            estimate=None if found is None else Recommendation.of(problem, found).estimate,
            sees_noise=sees_noise,
            maxcv=maxcv,
            front=[FrontPoint.of(problem, e) for e in front],
            hypervolume=_hypervolume(problem, history),
            nfev=len(evaluated),
            nfail=sum(e.failed for e in evaluated),
            success=complete and best is not None and maxcv == 0,
            message=message,
            history=history,
            problem=problem,
            space=space,
            seconds={
                name: sum(e.diagnostics.get(f"{name}_seconds", 0.0) for e in history) for name in ("fit", "acquisition")
            },
            face_share=sum(bool(space.faces(e.unit)) for e in proposed) / len(proposed) if proposed else float("nan"),
        )

    def __repr__(self) -> str:
        several = len(self.problem.objectives) > 1
        shown = {
            key: value
            for key, value in self.items()
            if key not in ("history", "problem", *([] if several else ["front", "hypervolume"]))
        }
        return f"{OptimizeResult(**shown)!r}"

    def __dir__(self) -> list[str]:
        return sorted({*self.keys(), *dir(type(self))})

    def _repr_html_(self) -> str:
        from betabo.optimizer.notebook import as_html

        return as_html(self)

    def plot(self, kinds: Sequence[Kind] | Kind | None = None) -> Figure:
        """A figure of the search, of matplotlib.

        Args:
            kinds: Some of `"convergence"`, `"slices"`, `"importance"` and `"front"`, see `betabo.optimizer.plots`; None
                draws all for which there is something.

        Returns:
            The figure, which a notebook shows, and which `figure.savefig("search.png")` writes.

        Raises:
            ValueError: There is nothing to draw, or no such kind.
        """
        from betabo.optimizer.plots import draw_result

        return draw_result(self, [kinds] if isinstance(kinds, str) else kinds)

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary an evaluation: parameters, value, the best value so far, and the step's diagnostics.

        Objectives and constraints that have names have columns of these names.
        A parameter whose name is that of another column appears with `param_` before it.
        """
        rows: list[dict[str, Any]] = []
        best: Evaluation | None = None
        for number, evaluation in enumerate(self.history):
            point = self.space.from_unit(evaluation.unit)
            if not isinstance(point, dict):
                point = {f"x{i}": float(v) for i, v in enumerate(point)}
            best = evaluation if best is None else _better(self.problem, best, evaluation)
            distance = self.space.boundary_distance(evaluation.unit)
            figures = {
                "value": float("nan") if evaluation.value is None else evaluation.value,
                "best": float("nan") if best.value is None else best.value,
                **_named(self.problem, evaluation),
                "failed": evaluation.failed,
                "error": evaluation.error,
                "origin": evaluation.origin,
                "boundary_distance": float("nan") if distance is None else distance,
                "on_face": bool(self.space.faces(evaluation.unit)),
                "fit": evaluation.diagnostics.get("fit", ""),
                "fit_seconds": evaluation.diagnostics.get("fit_seconds", 0.0),
                "acquisition_seconds": evaluation.diagnostics.get("acquisition_seconds", 0.0),
                "bandwidth": evaluation.diagnostics.get("bandwidth", []),
                "boundary_weight": evaluation.diagnostics.get("boundary_weight", float("nan")),
                "lengthscale": evaluation.diagnostics.get("lengthscale", []),
                "variance": float("nan") if evaluation.variance is None else evaluation.variance,
                "noise": evaluation.diagnostics.get("noise", float("nan")),
            }
            taken = {"evaluation", *figures}
            parameters = {f"param_{name}" if name in taken else name: value for name, value in point.items()}
            rows.append({"evaluation": number, **parameters, **figures})
        return rows

    def to_pandas(self) -> pandas.DataFrame:
        """The record as a pandas table, one row an evaluation."""
        with needs_extra("tables", "to_pandas needs pandas"):
            import pandas
        return pandas.DataFrame(self.rows())

    def to_arrow(self) -> pyarrow.Table:
        """The record as an Arrow table, one row an evaluation."""
        with needs_extra("tables", "to_arrow needs pyarrow"):
            import pyarrow
        return pyarrow.Table.from_pylist(self.rows())


def _better(problem: Problem, one: Evaluation, other: Evaluation) -> Evaluation:
    """The better of two evaluations, the first of equals: one that succeeded, violates less, and has a lower loss."""

    def key(evaluation: Evaluation) -> tuple[float, ...]:
        if evaluation.failed:
            return (1.0,)
        return (0.0, problem.violation(evaluation.measured), *problem.losses(evaluation.numbers))

    return other if key(other) < key(one) else one


def best_of(problem: Problem, history: list[Evaluation]) -> Evaluation | None:
    """The best of all, None if all failed."""
    finished = [evaluation for evaluation in history if not evaluation.failed]
    return reduce(lambda one, other: _better(problem, one, other), finished) if finished else None


def _front(problem: Problem, history: list[Evaluation]) -> list[Evaluation]:
    """The evaluations without a violation that no other one dominates, best in the first objective first."""
    feasible = [e for e in history if not e.failed and not problem.violation(e.measured)]
    if len(problem.objectives) == 1 or not feasible:
        best = best_of(problem, feasible)
        return [] if best is None else [best]
    losses = [problem.losses(evaluation.numbers) for evaluation in feasible]
    return [feasible[index] for index in sorted(pareto_front(losses), key=losses.__getitem__)]


def _hypervolume(problem: Problem, history: list[Evaluation]) -> list[float] | None:
    count = len(problem.objectives)
    if not 2 <= count <= MOST_OBJECTIVES:
        return None
    nothing = (float("inf"),) * count
    rows = [nothing if e.failed or problem.violation(e.measured) else problem.losses(e.numbers) for e in history]
    if all(row == nothing for row in rows):
        return [0.0] * len(rows)
    return hypervolumes(np.array(rows), reference_point(rows))


def _named(problem: Problem, evaluation: Evaluation) -> dict[str, float]:
    """The values of objectives and constraints that have names, by name."""
    missing = dict.fromkeys((*problem.names, *problem.measured), float("nan"))
    found = {**dict(zip(problem.names, evaluation.numbers, strict=False)), **evaluation.measured}
    return {name: found.get(name, nan) for name, nan in missing.items() if name != VALUE}

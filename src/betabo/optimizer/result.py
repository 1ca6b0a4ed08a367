"""What a search returns: SciPy's shape, with the whole record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scipy.optimize import OptimizeResult

from betabo.extras import needs_extra
from betabo.optimizer.history import MODELLED, Evaluation
from betabo.space import Space

if TYPE_CHECKING:
    import pandas
    import pyarrow


class SearchResult(OptimizeResult):  # type: ignore[misc]
    """Outcome of a search, a `scipy.optimize.OptimizeResult`.

    Attributes:
        x: The best point, in the user's units; None if no evaluation succeeded.
        fun: Its value.
        nfev: Number of evaluations, failed ones included; results that were known before are not among them.
        nfail: Number of failed evaluations.
        success: Whether at least one evaluation succeeded and the search came to its end.
        message: Why it ended.
        history: All evaluations in order, after the results that were known before.
        space: The search space.
        seconds: Time spent in fitting and in maximizing the acquisition function, by name.
        face_share: Share of the model's proposals with a number on a bound.
    """

    @classmethod
    def of(cls, space: Space, history: list[Evaluation], message: str, complete: bool = True) -> SearchResult:
        """The result of a record."""
        finished = [e for e in history if e.value is not None]
        best = min(finished, key=lambda e: e.value if e.value is not None else float("inf"), default=None)
        evaluated = [e for e in history if e.origin != "known"]
        proposed = [e for e in history if e.origin in MODELLED]
        return cls(
            x=None if best is None else space.from_unit(best.unit),
            fun=float("nan") if best is None else best.value,
            nfev=len(evaluated),
            nfail=sum(e.failed for e in evaluated),
            success=complete and best is not None,
            message=message,
            history=history,
            space=space,
            seconds={
                name: sum(e.diagnostics.get(f"{name}_seconds", 0.0) for e in history) for name in ("fit", "acquisition")
            },
            face_share=sum(bool(space.faces(e.unit)) for e in proposed) / len(proposed) if proposed else float("nan"),
        )

    def __repr__(self) -> str:
        shown = {key: value for key, value in self.items() if key != "history"}
        return f"{OptimizeResult(**shown)!r}"

    def rows(self) -> list[dict[str, Any]]:
        """One dictionary an evaluation: parameters, value, the best value so far, and the step's diagnostics.

        A parameter whose name is that of another column appears with `param_` before it.
        """
        rows, best = [], float("inf")
        for number, evaluation in enumerate(self.history):
            point = self.space.from_unit(evaluation.unit)
            if not isinstance(point, dict):
                point = {f"x{i}": float(v) for i, v in enumerate(point)}
            best = best if evaluation.value is None else min(best, evaluation.value)
            distance = self.space.boundary_distance(evaluation.unit)
            figures = {
                "value": float("nan") if evaluation.value is None else evaluation.value,
                "best": best,
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

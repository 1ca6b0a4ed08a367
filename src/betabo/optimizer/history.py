"""The record of a search: every evaluation, in the order in which it was told."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from betabo.schema import Check, anything, listing, maybe, number, one_of, record, table, text

Origin = Literal["start", "model", "local", "user", "known"]

MODELLED: tuple[Origin, ...] = ("model", "local")
"""The origins of points that a model proposed."""

Points = npt.NDArray[np.float64]

_FIGURES = {
    "fit": text,
    **dict.fromkeys(("fit_seconds", "acquisition_seconds"), number(0)),
    **dict.fromkeys(("boundary_weight", "noise"), number()),
    **dict.fromkeys(("bandwidth", "lengthscale"), listing(number())),
}
DIAGNOSTICS_SCHEMA = record({}, _FIGURES, others=anything)
"""What the stored diagnostics of a step have to be."""

_ABOUT = {"origin": one_of(get_args(Origin)), "diagnostics": DIAGNOSTICS_SCHEMA}


def unit_schema(dims: int) -> Check:
    """What a stored point of the unit cube has to be."""
    return listing(number(0, 1), dims)


def evaluation_schema(dims: int) -> Check:
    """What a stored `Evaluation` has to be."""
    optional = {
        "error": text,
        "variance": maybe(number(0)),
        "values": listing(number()),
        "measured": table(number()),
        **_ABOUT,
    }
    return record({"unit": unit_schema(dims), "value": maybe(number())}, optional)


def pending_schema(dims: int) -> Check:
    """What a stored `Pending` has to be."""
    return record({"unit": unit_schema(dims), **_ABOUT})


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of the objective.

    Attributes:
        unit: The point in the unit cube.
        value: Its value, None where the evaluation failed; with several objectives, that of the first.
        error: Why it failed, empty where it did not.
        origin: `"start"` for a starting point, `"model"` for a proposal of the model, `"local"` for one near the best
            point, `"user"` for a point that was told without having been asked for, `"known"` for one whose value was
            known before the search began.
        diagnostics: Figures of the step that proposed the point.
        variance: Variance of the value's noise, None where it is not known.
        values: The values of several objectives; empty where there is one.
        measured: What the constraints are about, by name.
    """

    unit: tuple[float, ...]
    value: float | None
    error: str = ""
    origin: Origin = "user"
    diagnostics: dict[str, Any] = field(default_factory=dict)
    variance: float | None = None
    values: tuple[float, ...] = ()
    measured: dict[str, float] = field(default_factory=dict)

    @property
    def numbers(self) -> tuple[float, ...]:
        """A value for each objective; empty where the evaluation failed."""
        return () if self.value is None else self.values or (self.value,)

    @property
    def failed(self) -> bool:
        """Whether the evaluation failed."""
        return self.value is None

    def to_json(self) -> dict[str, Any]:
        """The evaluation as JSON."""
        described = asdict(self)
        return {key: value for key, value in described.items() if value or key not in ("values", "measured")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Evaluation:
        """The evaluation that `to_json` wrote."""
        return cls(**{**data, "unit": tuple(data["unit"]), "values": tuple(data.get("values", ()))})


@dataclass(frozen=True)
class Pending:
    """A point that was asked for and not yet told."""

    unit: tuple[float, ...]
    origin: Origin
    diagnostics: dict[str, Any] = field(default_factory=dict)


def stack(units: list[tuple[float, ...]], dims: int) -> Points:
    """Points as an array, `n x d`, also for none."""
    return np.array(units, dtype=np.float64).reshape(len(units), dims)

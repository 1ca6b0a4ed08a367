"""Results that were known before a study began, beside those of its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from optuna.study import Study

from betabo.optimizer.data import Data
from betabo.optimizer.known import KnownPoint, read_known
from betabo.optimizer.turns import Step
from betabo.optuna.attributes import EARLIER, KNOWN
from betabo.optuna.space import encode
from betabo.optuna.study_data import StudyData
from betabo.problem import VALUE, Problem
from betabo.schema import anything, listing, maybe, number, record, table

Brought: TypeAlias = tuple[dict[str, Any], bool]
"""A known result in its stored form, and whether it is of an earlier task."""

_KNOWN = listing(
    record(
        {"parameters": table(anything), "values": maybe(listing(number())), "constraints": table(number())},
        {"measured": table(number())},
    )
)


def with_known(study: Study, known: StudyData, brought: Sequence[Brought] = ()) -> StudyData:
    """The data of a study's trials, after those that were known before; points outside the space are left out.

    Args:
        study: The study.
        known: The data of its trials.
        brought: What the sampler was given, see `brought_by`; the study's own comes first.

    Raises:
        ValueError: What is stored is not what it should be.
    """
    stored = [(entry, False) for entry in _stored(study, KNOWN)] + [(entry, True) for entry in _stored(study, EARLIER)]
    stored = stored or list(brought)
    units, entries, is_earlier = [], [], []
    for entry, earlier in stored:
        unit = _unit(known, entry["parameters"])
        if unit is not None and (entry["values"] is None or len(entry["values"]) == len(known.signs)):
            units.append(unit)
            entries.append(entry)
            is_earlier.append(earlier)
    if not entries:
        return known
    good = np.array([entry["values"] is not None for entry in entries])
    failed = ~good & ~np.array(is_earlier)
    points = np.array(units, dtype=np.float64).reshape(len(units), known.space.dims)
    finished = [entry for entry, is_good in zip(entries, good, strict=True) if is_good]
    earlier_ones = np.array(is_earlier)[good]
    losses = np.array([known.signs * entry["values"] for entry in finished]).reshape(len(finished), len(known.signs))
    data = known.data
    names = sorted({name for trial in known.finished for name in trial.constraints})
    names = names or sorted({name for entry in finished for name in entry["constraints"]})
    excess = np.array([[entry["constraints"].get(name, 0.0) for name in names] for entry in finished], dtype=np.float64)
    several = len(known.signs) > 1
    steps = [
        Step("known", None if several else float(loss[0]))
        for loss, earlier in zip(losses, earlier_ones, strict=True)
        if not earlier
    ]
    added = Data(
        points=np.concatenate([points[good], data.points]),
        values=np.concatenate([losses if several else losses[:, 0], data.values]),
        failed=np.concatenate([points[failed], data.failed]),
        pending=data.pending,
        constraints=np.concatenate(
            [excess.reshape(len(finished), len(names)), data.constraints.reshape(len(data.points), len(names))]
        ),
        variances=np.concatenate([np.full((len(finished), *data.values.shape[1:]), np.nan), data.variances]),
        steps=(*steps, *data.steps),
        asked=np.concatenate([np.zeros(len(finished), dtype=bool), data.asked]),
        earlier=np.concatenate([earlier_ones, np.zeros(len(data.points), dtype=bool)]),
        profiles=data.profiles,
    )
    return replace(known, data=added)


def stored_form(problem: Problem, known: KnownPoint) -> dict[str, Any]:
    """A known point as it is stored with a study."""
    point = problem.space.from_unit(np.array(known.unit))
    parameters = point if isinstance(point, dict) else dict(zip(problem.space.names, point.tolist(), strict=True))
    found = None if known.value is None else problem.measure(known.value, VALUE)
    if found is None or found.trouble:
        return {"parameters": parameters, "values": None, "constraints": {}}
    labels = [label for limit in problem.constraints for label in limit.labels]
    excess = dict(zip(labels, problem.excess(found.measured), strict=True))
    measured = {"measured": dict(found.measured)} if found.measured else {}
    return {"parameters": parameters, "values": list(found.values), "constraints": excess, **measured}


def _stored(study: Study, key: str) -> list[dict[str, Any]]:
    stored = study.user_attrs.get(key)
    if stored:
        _KNOWN(stored, key)
    return stored or []


def brought_by(problem: Problem) -> list[Brought]:
    """The known points of a problem, and those of an earlier task."""
    return [
        (stored_form(problem, known), is_earlier)
        for name, is_earlier in (("known_points", False), ("earlier", True))
        for known in read_known(getattr(problem, name), problem, name)
    ]


def _unit(known: StudyData, parameters: Mapping[str, Any]) -> Any:
    try:
        return known.space.to_unit(encode(parameters, known.distributions))
    except (KeyError, TypeError, ValueError):
        return None

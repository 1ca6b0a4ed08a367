"""Results that were known before a study began, beside those of its trials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.study import Study

from betabo.optimizer.data import Data
from betabo.optimizer.turns import Step
from betabo.optuna.attributes import KNOWN
from betabo.optuna.space import encode
from betabo.optuna.study_data import StudyData
from betabo.schema import anything, listing, maybe, number, record, table

_KNOWN = listing(
    record({"parameters": table(anything), "values": maybe(listing(number())), "constraints": table(number())})
)


def with_known(study: Study, known: StudyData) -> StudyData:
    """The data of a study's trials, after those that were known before; points outside the space are left out.

    Raises:
        ValueError: What is stored is not what it should be.
    """
    stored = study.user_attrs.get(KNOWN)
    if not stored:
        return known
    _KNOWN(stored, KNOWN)
    units, entries = [], []
    for entry in stored:
        unit = _unit(known, entry["parameters"])
        if unit is not None and (entry["values"] is None or len(entry["values"]) == len(known.signs)):
            units.append(unit)
            entries.append(entry)
    good = [entry["values"] is not None for entry in entries]
    points = np.array(units, dtype=np.float64).reshape(len(units), known.space.dims)
    finished = [entry for entry, is_good in zip(entries, good, strict=True) if is_good]
    losses = np.array([known.signs * entry["values"] for entry in finished]).reshape(len(finished), len(known.signs))
    data = known.data
    names = sorted({name for trial in known.finished for name in trial.constraints})
    names = names or sorted({name for entry in finished for name in entry["constraints"]})
    excess = np.array([[entry["constraints"].get(name, 0.0) for name in names] for entry in finished], dtype=np.float64)
    several = len(known.signs) > 1
    added = Data(
        points=np.concatenate([points[good], data.points]),
        values=np.concatenate([losses if several else losses[:, 0], data.values]),
        failed=np.concatenate([points[~np.array(good, dtype=bool)], data.failed]),
        pending=data.pending,
        constraints=np.concatenate(
            [excess.reshape(len(finished), len(names)), data.constraints.reshape(len(data.points), len(names))]
        ),
        variances=np.concatenate([np.full((len(finished), *data.values.shape[1:]), np.nan), data.variances]),
        steps=(*(Step("known", None if several else float(loss[0])) for loss in losses), *data.steps),
        own=np.concatenate([np.zeros(len(finished), dtype=bool), data.own]),
        profiles=data.profiles,
    )
    return replace(known, data=added)


def _unit(known: StudyData, parameters: Mapping[str, Any]) -> Any:
    try:
        return known.space.to_unit(encode(parameters, known.distributions))
    except (KeyError, TypeError, ValueError):
        return None

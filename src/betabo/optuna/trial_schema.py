"""What a stored trial has to be: checked where trials are read from a database, before anything else sees them."""

from __future__ import annotations

import math
from typing import Any

from optuna.distributions import CategoricalDistribution
from optuna.trial import FrozenTrial, TrialState

from betabo.optimizer.history import DIAGNOSTICS_SCHEMA
from betabo.optuna.attributes import (
    INTERRUPTED,
    PROPOSAL,
    REASON,
    RETRY_OF,
    SECONDS,
    STEP,
    WITHDRAWN,
    WORKER,
)
from betabo.optuna.trials import QUEUED
from betabo.schema import SchemaError, anything, listing, record, shortened, table, text, whole
from betabo.schema import number as number_schema
from betabo.surrogate import STATE_SCHEMA

_NOTES = record(
    {},
    {
        PROPOSAL: table(anything),
        QUEUED: table(anything),
        STEP: record(
            {},
            {
                "origin": text,
                "diagnostics": DIAGNOSTICS_SCHEMA,
                "states": listing(STATE_SCHEMA),
                "signature": listing(anything),
            },
            others=anything,
        ),
        WORKER: record({"host": text, "pid": whole(0)}, others=anything),
        RETRY_OF: whole(0),
        **dict.fromkeys((INTERRUPTED, WITHDRAWN, REASON), text),
        SECONDS: number_schema(0),
        "retry_history": listing(whole(0)),  # of Optuna's own repetitions
    },
    others=anything,
)


def check_trial(trial: FrozenTrial, objectives: int) -> None:
    """Refuse a trial that no program of ours, nor Optuna, can have written.

    Args:
        trial: The trial, as Optuna read it.
        objectives: Number of objectives of its study.

    Raises:
        SchemaError: Something about it is not what it should be; the message says where.
    """
    whole(0)(trial.number, "the number of a trial")
    place = f"trial {trial.number}"
    _NOTES(trial.system_attrs, place)
    step = trial.system_attrs.get(STEP, {})
    if "signature" in step and "states" not in step:
        raise SchemaError(f"{place}.{STEP} has a signature and no 'states'.")
    if trial.state == TrialState.COMPLETE:
        listing(_value, objectives)(trial.values, f"{place}.values")
    for name, value in trial.params.items():
        if not isinstance(trial.distributions[name], CategoricalDistribution):
            _value(value, f"{place}.{name}")
    try:
        constraints = dict(trial.constraints)
    except (TypeError, ValueError):
        raise SchemaError(f"{place}.constraints is no list, expected a list of numbers.") from None
    table(_value)(constraints, f"{place}.constraints")


def check_choices(trial: FrozenTrial, known: dict[str, CategoricalDistribution]) -> None:
    """Refuse a trial with other choices than those before it: Optuna lets the choices of a study never change.

    Args:
        trial: The trial, as Optuna read it.
        known: The choices of the trials before it, by the name of the parameter; new ones are added.

    Raises:
        SchemaError: They differ; the message says where.
    """
    for name, distribution in trial.distributions.items():
        if isinstance(distribution, CategoricalDistribution) and distribution != known.setdefault(name, distribution):
            raise SchemaError(
                f"trial {trial.number}.{name} has the choices {shortened(repr(distribution.choices), 60)}, expected "
                f"{shortened(repr(known[name].choices), 60)} as before."
            )


def _value(value: Any, place: str) -> None:
    """A number, which may be infinite; Optuna itself stores no NaN."""
    if not isinstance(value, int | float) or isinstance(value, bool) or math.isnan(value):
        raise SchemaError(f"{place} is {shortened(repr(value), 60)}, expected a number.")

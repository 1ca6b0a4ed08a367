"""Trials that nobody can have written are refused; those of any program that uses Optuna are not."""

from __future__ import annotations

from typing import Any

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from betabo.optuna.attributes import PROPOSAL, REASON, RETRY_OF, SECONDS, STEP, WORKER
from betabo.optuna.trial_schema import check_choices, check_trial
from betabo.schema import SchemaError

STATE = {"parameters": {"raw": [0.5]}, "noise": 0.1}


def trial(values: list[Any] | None = None, **notes: Any) -> FrozenTrial:
    made = create_trial(
        state=TrialState.COMPLETE,
        values=[1.0],
        params={"x": 0.5, "act": "relu"},
        distributions={"x": FloatDistribution(0, 1), "act": CategoricalDistribution(["relu", None])},
        system_attrs=notes,
    )
    made.number = 3
    if values is not None:
        made._values = values
    return made


@pytest.mark.parametrize(
    "notes",
    [
        {},
        {"other:program": ["anything", {"at": "all"}]},
        {STEP: {"origin": "model", "signature": ["a", 2], "states": [STATE], "diagnostics": {"bandwidth": [0.1]}}},
        {STEP: {"origin": "of another version"}},
        {WORKER: {"host": "h", "pid": 7, "boot": "b", "started": "1", "token": "t"}},
        {RETRY_OF: 0, SECONDS: 1.5, REASON: "none", PROPOSAL: {"x": 0.5}, "fixed_params": {"x": 9}},
        {"constraints": [0.5, float("inf")]},
        {"constraints:size": -1.0},
    ],
    ids=str,
)
def test_what_programs_write_passes(notes: dict[str, Any]) -> None:
    check_trial(trial(**notes), 1)


@pytest.mark.parametrize(
    ("notes", "message"),
    [
        ({STEP: 3}, "trial 3.betabo:step is 3, expected an object."),
        ({STEP: {"states": [{"noise": -1}]}}, r"states\[0\]"),
        ({STEP: {"signature": ["a", 2]}}, "has a signature and no 'states'"),
        ({STEP: {"diagnostics": {"bandwidth": "wide"}}}, "bandwidth is 'wide'"),
        ({WORKER: {"host": "h"}}, "has no 'pid'"),
        ({RETRY_OF: "3"}, "betabo:retry_of is '3'"),
        ({SECONDS: float("nan")}, "betabo:seconds is nan"),
        ({REASON: "\x1b]52;c;aGk=\x07", PROPOSAL: []}, "betabo:proposal"),
        ({"constraints": "ab"}, "expected a number"),
        ({"constraints": 5}, "expected a list of numbers"),
        ({"constraints:size": None}, "constraints.size is None"),
    ],
    ids=str,
)
def test_what_no_program_writes_is_refused(notes: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        check_trial(trial(**notes), 1)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("values", [[None], ["low"], [float("nan")], [1.0, 2.0], [True]], ids=str)
def test_a_complete_trial_has_a_number_for_each_objective(values: list[Any]) -> None:
    with pytest.raises(SchemaError, match=r"trial 3\.values"):
        check_trial(trial(values), 1)


def test_an_infinite_value_is_one() -> None:
    check_trial(trial([float("inf")]), 1)


def test_a_number_has_to_be_a_number() -> None:
    made = trial()
    made._params["x"] = "half"
    with pytest.raises(SchemaError, match=r"trial 3.x is 'half', expected a number"):
        check_trial(made, 1)


def test_choices_of_a_study_never_change() -> None:
    known = {"act": CategoricalDistribution(["relu", None])}
    check_choices(trial(), known)
    with pytest.raises(SchemaError, match=r"act has the choices \('relu', None\), expected \('relu', 'tanh'\)"):
        check_choices(trial(), {"act": CategoricalDistribution(["relu", "tanh"])})
    new: dict[str, CategoricalDistribution] = {}
    check_choices(trial(), new)
    assert new == known

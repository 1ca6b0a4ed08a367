"""A corpus of studies that nobody should have to read: each is a whole one with something wrong in its database."""

# ruff: noqa: E501
from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

from mutations import WRONG, mutated

STUDY = "train"  # the one that is damaged; others stay whole

_PLAN = "UPDATE study_user_attributes SET value_json = {} WHERE key = 'betabo:plan' AND study_id = :study"
_OF_LAST = "trial_id = (SELECT max(trial_id) FROM trials WHERE study_id = :study)"
_NOTE = f"INSERT OR REPLACE INTO trial_system_attributes (trial_id, key, value_json) SELECT trial_id, {{}}, {{}} FROM trials WHERE {_OF_LAST}"

DAMAGES: dict[str, str] = {
    "plan_is_no_json": _PLAN.format("'{'"),
    "plan_is_a_number": _PLAN.format("'7'"),
    "plan_is_a_list": _PLAN.format("'[]'"),
    "plan_is_empty": _PLAN.format("'{}'"),
    "plan_is_null_bytes": _PLAN.format("x'0000ff'"),
    "plan_is_deep": _PLAN.format("'" + "[" * 200_000 + "'"),
    "plan_has_no_space": _PLAN.format("json_remove(value_json, '$.space')"),
    "plan_has_a_space_of_another_kind": _PLAN.format("json_set(value_json, '$.space.parameters[0].type', 'this:X')"),
    "plan_has_bounds_the_wrong_way": _PLAN.format("json_set(value_json, '$.space.parameters[0].low', 5)"),
    "plan_has_a_text_as_bound": _PLAN.format("json_set(value_json, '$.space.parameters[0].high', char(27) || ']52;c;aGk=')"),
    "plan_has_no_config": _PLAN.format("json_remove(value_json, '$.config')"),
    "plan_has_an_objective_of_text": _PLAN.format("json_set(value_json, '$.objective', 'import this')"),
    "directions_are_missing": "DELETE FROM study_directions WHERE study_id = :study",
    "direction_is_unknown": "UPDATE study_directions SET direction = 'SIDEWAYS' WHERE study_id = :study",
    "direction_is_not_set": "UPDATE study_directions SET direction = 'NOT_SET' WHERE study_id = :study",
    "state_is_unknown": f"UPDATE trials SET state = 'ASLEEP' WHERE {_OF_LAST}",
    "number_is_null": f"UPDATE trials SET number = NULL WHERE {_OF_LAST}",
    "number_is_negative": f"UPDATE trials SET number = -1 WHERE {_OF_LAST}",
    "start_is_no_time": f"UPDATE trials SET datetime_start = 'yesterday' WHERE {_OF_LAST}",
    "value_is_missing": f"DELETE FROM trial_values WHERE {_OF_LAST}",
    "value_is_null": f"UPDATE trial_values SET value = NULL WHERE {_OF_LAST}",
    "value_is_text": f"UPDATE trial_values SET value = 'low' WHERE {_OF_LAST}",
    "value_is_of_another_objective": f"UPDATE trial_values SET objective = 3 WHERE {_OF_LAST}",
    "value_is_of_an_unknown_kind": f"UPDATE trial_values SET value_type = 'BIG' WHERE {_OF_LAST}",
    "parameter_is_text": f"UPDATE trial_params SET param_value = 'x' WHERE {_OF_LAST} AND param_name = 'x'",
    "category_is_out_of_range": f"UPDATE trial_params SET param_value = 99 WHERE {_OF_LAST} AND param_name = 'act'",
    "distribution_is_no_json": f"UPDATE trial_params SET distribution_json = '{{' WHERE {_OF_LAST}",
    "distribution_is_unknown": f"UPDATE trial_params SET distribution_json = '{{\"name\": \"Evil\", \"attributes\": {{}}}}' WHERE {_OF_LAST}",
    "distribution_has_no_name": f"UPDATE trial_params SET distribution_json = '{{}}' WHERE {_OF_LAST}",
    "note_is_no_json": _NOTE.format("'betabo:step'", "'}'"),
    "step_is_a_number": _NOTE.format("'betabo:step'", "'3'"),
    "step_has_states_of_text": _NOTE.format("'betabo:step'", """'{"origin": "model", "signature": ["a"], "states": ["x"]}'"""),
    "step_has_a_signature_only": _NOTE.format("'betabo:step'", """'{"origin": "model", "signature": ["a"]}'"""),
    "step_has_diagnostics_of_text": _NOTE.format("'betabo:step'", """'{"diagnostics": {"bandwidth": "wide"}}'"""),
    "worker_is_a_number": _NOTE.format("'betabo:worker'", "'5'"),
    "worker_has_no_process": _NOTE.format("'betabo:worker'", """'{"host": "h"}'"""),
    "seconds_are_text": _NOTE.format("'betabo:seconds'", """'"long"'"""),
    "reason_is_a_list": _NOTE.format("'betabo:reason'", "'[1]'"),
    "it_repeats_a_text": _NOTE.format("'betabo:retry_of'", """'"3"'"""),
    "queue_holds_a_number": _NOTE.format("'fixed_params'", "'1'"),
    "constraints_are_text": _NOTE.format("'constraints'", """'"ab"'"""),
    "constraint_is_null": _NOTE.format("'constraints:c'", "'null'"),
}  # fmt: skip
"""What is done to a study in an SQLite file, by name."""


def damage(path: Path, statement: str) -> None:
    """Do something of `DAMAGES` to the study `STUDY` of a storage."""
    with sqlite3.connect(path) as connection:
        study = connection.execute("SELECT study_id FROM studies WHERE study_name = ?", [STUDY]).fetchone()[0]
        assert connection.execute(statement, {"study": study}).rowcount > 0, "the damage hits nothing"
    connection.close()


_PLACES = (
    ("study_user_attributes", "value_json", "study_id = :study"),
    ("study_directions", "direction", "study_id = :study"),
    ("trials", "state", "study_id = :study"),
    ("trials", "number", "study_id = :study"),
    ("trials", "datetime_complete", "study_id = :study"),
    *(
        (table, column, "trial_id IN (SELECT trial_id FROM trials WHERE study_id = :study)")
        for table, column in (
            ("trial_system_attributes", "value_json"),
            ("trial_system_attributes", "key"),
            ("trial_user_attributes", "value_json"),
            ("trial_params", "distribution_json"),
            ("trial_params", "param_value"),
            ("trial_values", "value"),
            ("trial_values", "objective"),
            ("trial_values", "value_type"),
        )
    ),
)


def damage_at_random(path: Path, seed: int) -> str:
    """Change one cell of the study `STUDY`; returns what was done, for messages."""
    generator = random.Random(seed)
    table, column, where = generator.choice([*_PLACES, *(place for place in _PLACES if "json" in place[1])])
    with sqlite3.connect(path) as connection:
        study = connection.execute("SELECT study_id FROM studies WHERE study_name = ?", [STUDY]).fetchone()[0]
        cells = connection.execute(f"SELECT rowid, {column} FROM {table} WHERE {where}", {"study": study}).fetchall()
        if not cells:
            return "nothing"
        row, before = generator.choice(cells)
        after = _changed(before, column, generator)
        connection.execute(f"UPDATE OR IGNORE {table} SET {column} = ? WHERE rowid = ?", [after, row])
    connection.close()
    return f"{table}.{column}: {before!r:.300} became {after!r:.300}"


def _changed(cell: Any, column: str, generator: random.Random) -> Any:
    if column.endswith("json") and generator.random() < 0.9:
        return json.dumps(mutated(json.loads(cell), generator.randrange(2**32)))
    wrong = generator.choice([*WRONG, b"\x00\xff", "COMPLETE", "FAIL", "WAITING"])  # a running one would be waited for
    if isinstance(wrong, list | dict | bool):
        return json.dumps(wrong)
    if isinstance(wrong, int) and abs(wrong) >= 2**63:
        return str(wrong)
    return "?" if wrong == "\ud800" else wrong

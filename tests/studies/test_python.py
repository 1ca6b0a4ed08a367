from __future__ import annotations

import functools

import pytest

from betabo import Float, Space
from betabo.studies import ObjectiveError, objective_from_json
from betabo.studies.python import PythonObjective

SPACE = Space({"x": Float(0, 1)})


def test_a_function_is_known_by_its_name() -> None:
    found = PythonObjective.of(test_a_function_is_known_by_its_name)
    assert found.name.endswith("test_python.test_a_function_is_known_by_its_name")
    assert objective_from_json(found.to_json()) == found
    assert "partial" in PythonObjective.of(functools.partial(max, 1)).describe()


def test_nobody_else_can_call_it() -> None:
    found = objective_from_json({"type": "python", "name": "somewhere.f"})
    with pytest.raises(ObjectiveError, match=r"somewhere.f, a function that a program passed to betabo.minimize; run"):
        found.prepare(SPACE)

from __future__ import annotations

import math
import sys
from itertools import product

import numpy as np
import pytest
import torch

from betabo.lab.problems import BBOB_FUNCTIONS, BBOB_GROUPS, BbobProblem, problem_by_name
from betabo.lab.problems.bbob import COCO_DIMS

pytest.importorskip("ioh")


@pytest.mark.parametrize("suite", ["sbox", "bbob"])
@pytest.mark.parametrize("function", BBOB_FUNCTIONS)
def test_the_stated_optimum_is_one(suite, function) -> None:
    problem = BbobProblem(suite, function, 3, 2)
    best, optimum = problem.optimal_value, problem.optimizers[0]
    assert float(problem.evaluate_true(optimum)) == pytest.approx(best, abs=1e-9)
    generator = torch.Generator().manual_seed(function)
    random = problem.from_unit(torch.rand(200, 3, dtype=torch.float64, generator=generator))
    nearby = (optimum + 1e-3 * (random - optimum)).clamp(-5, 5)
    assert float(problem.evaluate_true(torch.cat([random, nearby])).min()) >= best - 1e-9


def test_values_are_those_of_the_formulas() -> None:
    sphere = BbobProblem("sbox", 1, 4, 3)
    x = np.array([1.0, -2.0, 0.5, 4.0])
    centre = sphere.optimizers[0].numpy()
    assert sphere.objective()(x) - sphere.optimal_value == pytest.approx(((x - centre) ** 2).sum())
    assert sphere.box == [(-5.0, 5.0)] * 4


@pytest.mark.parametrize("dims", [2, 5])
def test_bbob_boxed_of_coco_is_sbox_of_ioh(dims) -> None:
    pytest.importorskip("cocoex")
    points = torch.rand(5, dims, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * 10 - 5
    for function, instance in product(BBOB_FUNCTIONS, (1, 7)):
        ours, theirs = (BbobProblem(suite, function, dims, instance) for suite in ("sbox", "bbob-boxed"))
        torch.testing.assert_close(theirs.evaluate_true(points), ours.evaluate_true(points), rtol=1e-10, atol=1e-9)
        assert float(theirs.evaluate_true(theirs.optimizers[0])) == pytest.approx(theirs.optimal_value, abs=1e-9)


def test_each_function_has_one_group() -> None:
    assert sorted(number for functions in BBOB_GROUPS.values() for number in functions) == list(BBOB_FUNCTIONS)
    groups = {function: BbobProblem("bbob", function, 2, 1).group for function in (1, 6, 10, 15, 24)}
    assert groups == dict(zip((1, 6, 10, 15, 24), BBOB_GROUPS, strict=True))


def test_near_a_face_are_optima_with_a_coordinate_in_the_outer_twentieth() -> None:
    problems = [BbobProblem("sbox", f, 5, i) for f, i in product(BBOB_FUNCTIONS, (1, 2, 3))]
    for problem in problems:
        assert problem.near_face == bool((problem.optimizers[0].abs() >= 4.5).any())
    assert 0.3 < np.mean([problem.near_face for problem in problems]) < 0.5
    near = [f for f in BBOB_FUNCTIONS if BbobProblem("bbob", f, 5, 1).near_face]
    assert near == [5]  # the slope alone: BBOB keeps the others in [-4, 4]


def test_instances_differ_and_repeat() -> None:
    x = torch.full((2,), 0.3, dtype=torch.float64)
    values = [float(problem_by_name(f"sbox-f8-d2-i{i}").evaluate_true(x)) for i in (1, 2, 1, 11)]
    assert values[0] == values[2]
    assert len(set(values)) == 3


@pytest.mark.parametrize("name", ["sbox-f12-d5-i3", "bbob-f1-d2-i14", "bbob-boxed-f24-d3-i1"])
def test_names_lead_back(name) -> None:
    if name.startswith("bbob-boxed"):
        pytest.importorskip("cocoex")
    problem = problem_by_name(name)
    assert problem.name == name
    assert problem.description()["function"] == name.removeprefix("bbob-boxed-").split("-")[-3]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("sbox-f25-d5-i1", "function is 25, expected a number from 1 to 24"),
        ("sbox-f1-d1-i1", "dims is 1, expected at least 2"),
        ("sbox-f1-d2-i0", "instance is 0, expected at least 1"),
        ("sbox-f1-d2", r"expected function-dim-placement .* such as 'sbox-f12-d5-i3'"),
    ],
)
def test_bad_names_are_explained(name, message) -> None:
    with pytest.raises(ValueError, match=message):
        problem_by_name(name)


def test_coco_has_some_dimensions_only() -> None:
    with pytest.raises(ValueError, match="dims is 4, expected one of 2, 3, 5, 10, 20, 40"):
        BbobProblem("bbob-boxed", 1, 4, 1)
    pytest.importorskip("cocoex")
    assert math.isfinite(BbobProblem("bbob-boxed", 1, COCO_DIMS[-1], 1).objective()([0.0] * 40))


def test_an_unknown_suite_is_named() -> None:
    with pytest.raises(ValueError, match="suite is 'cec', expected one of sbox, bbob, bbob-boxed"):
        BbobProblem("cec", 1, 2, 1)


@pytest.mark.parametrize(("suite", "package"), [("sbox", "ioh"), ("bbob-boxed", "cocoex")])
def test_a_missing_package_is_named_with_its_extra(suite, package, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"{suite} needs {package}: pip install 'betabo\[suites\]'"):
        BbobProblem(suite, 1, 2, 1)

"""How a search looks in a notebook, and in a prompt."""

from __future__ import annotations

import math
from xml.etree import ElementTree

from betabo import Categorical, Float, Optimizer, minimize


def test_the_best_point_and_a_curve() -> None:
    result = minimize(lambda x: float(x[0] ** 2 + x[1]), [(-1, 2), (0, 1)], budget=6, seed=0)
    tree = ElementTree.fromstring(result._repr_html_())
    cells = [cell.text for cell in tree.iter("td")]
    assert cells == ["x0", f"{result.x[0]:.6g}", "x1", f"{result.x[1]:.6g}"]
    assert f"best value {result.fun:.6g} after 6 evaluations" in "".join(tree.itertext())
    assert tree.find(".//path") is not None


def test_text_of_others_is_no_html() -> None:
    optimizer = Optimizer({"<b>": Float(0, 1), "c": Categorical(["<script>", "\x1b[2J"])})
    optimizer.tell({"<b>": 0.5, "c": "<script>"}, 1.0)
    page = optimizer._repr_html_()
    assert "<script>" not in page
    assert "&lt;b&gt;" in page
    ElementTree.fromstring(page)


def test_without_values_and_with_several_objectives() -> None:
    assert "no value yet after 0 evaluations" in Optimizer([(0, 1)])._repr_html_()
    failed = minimize(lambda x: math.nan, [(0, 1)], budget=2, seed=0, on_error="record")
    assert "2 failed" in failed._repr_html_()
    two = Optimizer([(0, 1)], objectives={"a": "minimize", "b": "maximize"})
    two.tell([0.5], {"a": 1.0, "b": 1.0})
    two.tell([0.6], {"a": 2.0, "b": 2.0})
    assert "front of 2 points" in two._repr_html_()


def test_an_optimizer_says_where_it_stands() -> None:
    optimizer = Optimizer([(0, 1), (0, 1)], seed=0)
    assert repr(optimizer) == "<Optimizer of 2 coordinates by beta-additive: 0 evaluations, no value yet, 0 pending>"
    optimizer.tell(optimizer.ask(), 0.25)
    optimizer.ask()
    assert repr(optimizer) == "<Optimizer of 2 coordinates by beta-additive: 1 evaluations, best 0.25, 1 pending>"


def test_a_result_lists_all_that_it_has() -> None:
    result = minimize(lambda x: 1.0, [(0, 1)], budget=2, seed=0)
    assert {"x", "fun", "front", "history", "to_pandas", "to_arrow", "rows", "plot"} <= set(dir(result))

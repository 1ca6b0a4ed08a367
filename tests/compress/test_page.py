from __future__ import annotations

import re
from typing import Any

from betabo.compress.page import CompressionPage
from betabo.compress.plan import CompressionPlan
from betabo.compress.sensitivity import RATIOS, Sensitivities
from betabo.compress.without_training import compress_model
from tiny_models import make_bert

TABLE = [["", "original", "compressed"], ["size of the layers", "1.000", "0.400"]]


def page(group: Any = "layer", **options: Any) -> str:
    model = make_bert()
    plan = CompressionPlan.of(model, group)
    first = plan.coordinates[0]
    ratios = dict.fromkeys(plan.coordinates, 0.3) | {first: 1.0}
    small = compress_model(model, ratios, keep=0.0, plan=plan)
    points = {"original": (1.0, 0.2), "compressed": (0.4, 0.25)}
    return CompressionPage("A < B", plan, small.compression, TABLE, "1 - accuracy", points, **options).html()


def cells(html: str, anchor: str) -> list[list[str]]:
    section = html.split(f'<section id="{anchor}">')[1].split("</section>")[0]
    rows = re.findall(r"<tr>(.*?)</tr>", section, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>([^<]*)<", row) for row in rows]


def test_each_layer_stands_in_its_block_and_role_with_what_it_keeps() -> None:
    found = cells(page(), "layers")
    assert found[0] == ["block", "Q", "K", "V", "O", "FC1", "FC2"]
    assert [row[0] for row in found[1:]] == ["0", "1"]
    assert found[1][1] == "100%"  # the first stays as it is
    assert all(20 <= int(cell[:-1]) <= 40 for row in found[1:] for cell in row[1:] if cell != "100%")


def test_blocks_and_what_is_outside_them_have_rows() -> None:
    found = cells(page("block"), "layers")
    assert [row[0] for row in found[1:]] == ["0", "1", "outside"]


def test_what_each_layer_costs_is_shown_where_it_was_measured() -> None:
    plan = CompressionPlan.of(make_bert())
    losses = {name: dict.fromkeys(RATIOS, 0.5) for name in plan.coordinates}
    losses[plan.coordinates[7]] = dict.fromkeys(RATIOS, 0.625)  # K of the second block
    html = page(sensitivities=Sensitivities(0.5, losses))
    found = cells(html, "costs")
    assert found[2][2] == "0.12"
    assert {cell for row in found[1:] for cell in row[1:]} == {"0", "0.12"}
    assert "How much the loss rises when one layer alone is compressed to a ratio of 0.15" in html
    assert 'id="costs"' not in page()


def test_other_sizes_and_the_training_are_drawn_if_there_are_any() -> None:
    html = page(front=[(0.9, 0.2), (0.3, 0.3)], losses=[1.0, 0.5, 0.25])
    assert "other sizes" in html
    assert html.count("<polyline") == 2
    assert page().count("<polyline") == 0


def test_the_page_needs_no_network_runs_nothing_and_names_are_text() -> None:
    html = page()
    assert "<h1>A &lt; B</h1>" in html
    assert "default-src 'none'" in html
    assert "<script" not in html
    assert "http" not in html.replace("http-equiv", "")

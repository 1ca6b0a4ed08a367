from __future__ import annotations

import math
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from betabo.compress.svg import HEIGHT, WIDTH, Series, chart, ticks


@pytest.mark.parametrize(
    "values", [[0.0, 1.0], [0.2, 0.21, 0.234], [3.0], [0.0], [-5.0, 12_345.0], [1e-9, 2e-9], [7.0, 7.0]]
)
def test_ticks_are_round_and_hold_all_values(values: list[float]) -> None:
    found = ticks(values)
    assert found[0] <= min(values) <= max(values) <= found[-1]
    assert 2 <= len(found) <= 8
    steps = {round((b - a) / (found[1] - found[0]), 6) for a, b in pairwise(found)}
    assert steps == {1.0}


def test_points_lie_where_their_numbers_are() -> None:
    drawn = chart([Series("a", [(0.0, 0.0), (1.0, 10.0)]), Series("b", [(0.5, 5.0)])], "x", "y")
    circles = [
        tuple(map(float, found))
        for found in re.findall(r'cx="([\d.]+)" cy="([\d.]+)" r="5" fill="[^"]+"><title', drawn)
    ]
    (left, bottom), (right, top), (x, y) = circles
    assert left < right
    assert top < bottom  # which SVG counts from the top
    assert (x, y) == pytest.approx(((left + right) / 2, (top + bottom) / 2), abs=0.11)
    assert all(0 <= a <= WIDTH and 0 <= b <= HEIGHT for a, b in circles)
    assert drawn.count("<title>b: 0.5, 5</title>") == 1


def test_it_is_whole_and_names_are_text() -> None:
    drawn = chart([Series("<b>&", [(0.0, 1.0), (1.0, math.nan), (2.0, 3.0)], line=True)], "a & b", '"c"')
    root = ElementTree.fromstring(drawn)
    assert "<b>&" in [element.text for element in root]
    (line,) = [element for element in root if element.tag == "polyline"]
    assert len(line.attrib["points"].split()) == 2

"""The pictures of a step."""

from __future__ import annotations

import pytest

from example_case import load_example


def test_the_last_step_shown_goes_onto_the_face() -> None:
    pytest.importorskip("matplotlib")
    script = load_example("how_a_step_works")
    figure = script.several_steps(4)
    chosen = [axes.lines[-1].get_xdata()[0] for axes in figure.axes]
    assert len(set(chosen)) == 4
    assert chosen[-1] == 1.0

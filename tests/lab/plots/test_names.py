from __future__ import annotations

from betabo.lab.plots.names import METHODS, method_colour, method_name


def test_methods_have_names_and_colours_of_their_own() -> None:
    assert len({method_name(method) for method in METHODS}) == len(METHODS)
    assert len({method_colour(method) for method in METHODS if method != "original"}) == len(METHODS) - 1

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

from betabo.lab.plots.style import COLOURS, KERNEL_COLOURS, new_figure, shades, style


def test_style_ends_with_its_context() -> None:
    before = dict(matplotlib.rcParams)
    with style():
        assert not matplotlib.rcParams["axes.spines.top"]
    assert dict(matplotlib.rcParams) == before


def test_figures_are_not_known_to_pyplot() -> None:
    import matplotlib.pyplot as plt

    open_figures = plt.get_fignums()
    assert tuple(new_figure(4, 3).get_size_inches()) == (4, 3)
    assert plt.get_fignums() == open_figures


@pytest.mark.parametrize("count", [1, 2, 7])
def test_shades_go_from_dark_to_light_and_stay_readable(count: int) -> None:
    luminance = [np.dot(colour[:3], (0.2126, 0.7152, 0.0722)) for colour in shades(count)]
    assert len(luminance) == count
    assert luminance == sorted(luminance)
    assert max(luminance) < 0.85


def test_colours_differ() -> None:
    assert len(set(COLOURS)) == len(COLOURS)
    assert len(set(KERNEL_COLOURS.values())) == len(KERNEL_COLOURS)

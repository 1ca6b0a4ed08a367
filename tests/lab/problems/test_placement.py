from __future__ import annotations

import pytest

from betabo.lab.problems.placement import place

BOX = [(-10.0, 10.0), (0.0, 4.0)]
OPTIMUM = (1.0, 3.0)


@pytest.mark.parametrize(("placement", "raised"), [("centre", 0), ("face", 1), ("vertex", 2)])
def test_raised_bounds_put_the_optimum_where_it_is_wanted(placement, raised) -> None:
    box = place(BOX, OPTIMUM, placement, 0.1)
    for i, ((low, high), optimum) in enumerate(zip(box, OPTIMUM, strict=True)):
        if i < raised:
            assert (optimum - low) / (high - low) == pytest.approx(0.1)
            assert high == BOX[i][1]
        else:
            assert (low, high) == BOX[i]


def test_bounds_are_only_ever_raised() -> None:
    with pytest.raises(ValueError, match=r"epsilon is 0\.8, expected at most 0\.75: .* in coordinate 1"):
        place([(-100.0, 2.0), BOX[1]], OPTIMUM, "vertex", 0.8)


@pytest.mark.parametrize(
    ("placement", "epsilon", "message"),
    [("corner", 0.1, "placement is 'corner', expected one of"), ("face", 1.0, r"epsilon is 1\.0, expected a share")],
)
def test_bad_arguments_are_explained(placement, epsilon, message) -> None:
    with pytest.raises(ValueError, match=message):
        place(BOX, OPTIMUM, placement, epsilon)

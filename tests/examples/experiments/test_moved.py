"""The functions whose optimum can be moved."""

from __future__ import annotations

import pytest

from example_case import load_example


def test_moved_problems_have_their_optimum_where_they_say() -> None:
    moved = load_example("experiments/moved")
    for problem in moved.PROBLEMS:
        optimum = problem.optimum(3)
        on_bounds = int(((optimum <= 0) | (optimum >= 1)).sum())
        expected = {"interior": 0, "face": 1, "faces": max(2, problem.dim // 3), "vertex": problem.dim}
        if problem.placement == "outside":
            assert ((optimum < 0) | (optimum > 1)).sum() == problem.dim // 2
        else:
            assert on_bounds == expected[problem.placement]
            assert problem.best(3) == pytest.approx(0, abs=1e-4 * problem.dim)

from __future__ import annotations

import numpy as np
import pytest

from betabo.lab.problems.landing import LunarLander


def test_a_better_controller_lands_better() -> None:
    pytest.importorskip("gymnasium")
    lander = LunarLander(10)
    best = lander.optimizers[0].numpy()
    assert lander.value(best) < -200  # Gymnasium calls a mean return of 200 a solution
    assert lander.value(np.zeros(10)) > 100

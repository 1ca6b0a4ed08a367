from __future__ import annotations

import pytest
from botorch.test_functions.synthetic import Branin, Levy

from betabo.lab.problems.optima import listed_optima


def test_all_listed_optima_are_given() -> None:
    assert listed_optima(Levy(3)) == [(1.0, 1.0, 1.0)]
    assert len(listed_optima(Branin())) == 3


def test_a_function_without_an_optimum_is_refused() -> None:
    function = Levy(2)
    function._optimizers = None
    with pytest.raises(ValueError, match="Levy does not list an optimum and its value"):
        listed_optima(function)

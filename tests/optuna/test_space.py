"""Spaces to Optuna's distributions and back."""

from __future__ import annotations

import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from betabo import Categorical, Fixed, Float, Int, Space
from betabo.optuna.space import decode, encode, from_distributions, to_distributions


def test_every_parameter_has_its_distribution() -> None:
    space = Space(
        {
            "lr": Float(1e-5, 1e-1, log=True),
            "share": Float(0, 1, step=0.1),
            "layers": Int(1, 8),
            "units": Int(32, 256, step=32),
            "batch": Int(1, 1024, log=True),
            "act": Categorical(["relu", "gelu"]),
            "seed": Fixed(7),
        }
    )
    assert to_distributions(space) == {
        "lr": FloatDistribution(1e-5, 1e-1, log=True),
        "share": FloatDistribution(0, 1, step=0.1),
        "layers": IntDistribution(1, 8),
        "units": IntDistribution(32, 256, step=32),
        "batch": IntDistribution(1, 1024, log=True),
        "act": CategoricalDistribution(("relu", "gelu")),
        "seed": CategoricalDistribution((7,)),
    }
    again = from_distributions(to_distributions(space))
    for name in ("lr", "share", "layers", "units", "batch"):
        assert again.parameters[name] == space.parameters[name]
    assert again.parameters["act"] == Categorical([0, 1])
    assert again.parameters["seed"] == Fixed(0)


def test_single_numbers_are_constants() -> None:
    free = FloatDistribution(0, 1)
    space = from_distributions({"x": FloatDistribution(2.5, 2.5), "n": IntDistribution(3, 3), "free": free})
    assert space.parameters == {"x": Fixed(2.5), "n": Fixed(3), "free": Float(0, 1)}


def test_choices_that_are_equal_but_not_the_same_survive() -> None:
    choices = (None, True, 1.5, "1", ("a", 2))
    with pytest.warns(UserWarning, match="should be a tuple of None, bool"):
        distributions: dict[str, BaseDistribution] = {"c": CategoricalDistribution(choices)}
    space = from_distributions(distributions)
    for choice in choices:
        inside = encode({"c": choice, "other": 3}, distributions)
        assert decode(space.from_unit(space.to_unit(inside)), distributions) == {"c": choice}


def test_other_distributions_and_parameters_are_refused() -> None:
    class Odd(FloatDistribution):
        pass

    class Other(BaseDistribution):
        def to_internal_repr(self, param_value_in_external_repr: object) -> float:
            return 0.0

        def single(self) -> bool:
            return False

        def _contains(self, param_value_in_internal_repr: float) -> bool:
            return True

    assert from_distributions({"x": Odd(0, 1)}).parameters == {"x": Float(0, 1)}
    with pytest.raises(TypeError, match="x has a Other, expected a float, int or categorical"):
        from_distributions({"x": Other()})

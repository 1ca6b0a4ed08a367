"""What a function says about its optima."""

from __future__ import annotations

from botorch.test_functions.synthetic import SyntheticTestFunction


def listed_optima(function: SyntheticTestFunction) -> list[tuple[float, ...]]:
    """The optima that a function lists, at least one, each of `d` numbers in its own units."""
    if not function._optimizers or function._optimal_value is None:
        raise ValueError(f"{type(function).__name__} does not list an optimum and its value, which a problem needs.")
    return [tuple(map(float, optimum)) for optimum in function._optimizers]

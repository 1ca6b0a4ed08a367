"""Search spaces as Optuna writes them, and as betabo does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from betabo.space import Categorical, Fixed, Float, Int, Parameter, Space
from betabo.space.conditions import as_conditions

Condition: TypeAlias = tuple[str, tuple[int, ...]]
"""A choice, and the positions of those of its values under which a parameter exists."""


def to_distributions(space: Space) -> dict[str, BaseDistribution]:
    """Optuna's distributions of a space; a constant is a categorical distribution with one choice."""
    return {name: _to_distribution(name, parameter) for name, parameter in space.parameters.items()}


def conditions_of(space: Space) -> dict[str, tuple[Condition, ...]]:
    """For each parameter of a space that exists only under choices, these choices, all of which have to hold."""
    found: dict[str, tuple[Condition, ...]] = {}
    for name, parameter in space.parameters.items():
        conditions: list[Condition] = []
        for other, values in as_conditions(getattr(parameter, "when", None)):
            choices = getattr(space.parameters[other], "choices", ())
            conditions.append((other, tuple(choices.index(value) for value in values)))
        if conditions:
            found[name] = tuple(conditions)
    return found


def from_distributions(
    distributions: Mapping[str, BaseDistribution], conditions: Mapping[str, tuple[Condition, ...]] | None = None
) -> Space:
    """The space of Optuna's distributions.

    A choice of a categorical distribution may be anything, even an object that equals another choice; so a categorical
    parameter of the space is over the positions of the choices, 0 to k - 1. `encode` and `decode` translate.

    Args:
        distributions: The distributions, those on which others depend first.
        conditions: For each parameter that does not always exist, the choices under which it does.
    """
    parameters = {name: from_distribution(name, distribution) for name, distribution in distributions.items()}
    for name, needed in (conditions or {}).items():
        parameter = parameters[name]
        if isinstance(parameter, Float | Int | Categorical):
            parameters[name] = replace(parameter, when=dict(needed))
    return Space(parameters)


def from_distribution(name: str, distribution: BaseDistribution) -> Parameter:
    """The parameter `name` of the space of `from_distributions`."""
    if isinstance(distribution, CategoricalDistribution):
        count = len(distribution.choices)
        return Categorical(range(count)) if count > 1 else Fixed(0)
    if isinstance(distribution, (FloatDistribution, IntDistribution)) and distribution.single():
        return Fixed(distribution.low)
    if isinstance(distribution, FloatDistribution):
        return Float(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    if isinstance(distribution, IntDistribution):
        return Int(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    raise TypeError(f"{name} has a {type(distribution).__name__}, expected a float, int or categorical distribution.")


def reachable(
    distributions: Mapping[str, BaseDistribution], conditions: Mapping[str, tuple[Condition, ...]]
) -> tuple[dict[str, BaseDistribution], dict[str, tuple[Condition, ...]]]:
    """The distributions that leave a choice, without those under a choice that is not among them; and their conditions.

    Somebody else decides about such a choice, and about the parameters under it.
    """
    found = {name: distribution for name, distribution in distributions.items() if not distribution.single()}
    while lost := [n for n in found if any(other not in found for other, _ in conditions.get(n, ()))]:
        found = {name: distribution for name, distribution in found.items() if name not in lost}
    return found, {name: conditions[name] for name in found if name in conditions}


def is_searchable(name: str, distribution: BaseDistribution) -> bool:
    """Whether there is a parameter of a distribution: so for all but grids that are too fine for the unit cube."""
    try:
        from_distribution(name, distribution)
    except ValueError:
        return False
    return True


def encode(values: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Values of Optuna's parameters as values of the space of `from_distributions`.

    Args:
        values: A value for each distribution; others are left out.
        distributions: The distributions of the space.
    """
    return {
        name: int(distribution.to_internal_repr(values[name]))
        if isinstance(distribution, CategoricalDistribution)
        else values[name]
        for name, distribution in distributions.items()
        if name in values
    }


def decode(values: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """Values of the space of `from_distributions` as values of Optuna's parameters."""
    return {
        name: distribution.choices[values[name]] if isinstance(distribution, CategoricalDistribution) else values[name]
        for name, distribution in distributions.items()
        if name in values
    }


def _to_distribution(name: str, parameter: Parameter) -> BaseDistribution:
    if isinstance(parameter, Float):
        return FloatDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Int):
        return IntDistribution(parameter.low, parameter.high, log=parameter.log, step=parameter.step)
    if isinstance(parameter, Categorical):
        return CategoricalDistribution(parameter.choices)
    if isinstance(parameter, Fixed):
        return CategoricalDistribution((parameter.value,))
    raise TypeError(f"{name} is a {type(parameter).__name__}, expected a Float, Int, Categorical or Fixed.")

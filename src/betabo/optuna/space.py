"""Search spaces as Optuna writes them, and as betabo does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from betabo.space import Categorical, Fixed, Float, Int, Parameter, Space
from betabo.space.conditions import as_conditions


def to_distributions(space: Space) -> dict[str, BaseDistribution]:
    """Optuna's distributions of a space; a constant is a categorical distribution with one choice."""
    return {name: _to_distribution(name, parameter) for name, parameter in space.parameters.items()}


def conditions_of(space: Space) -> dict[str, tuple[str, tuple[int, ...]]]:
    """For each parameter of a space that exists only under a choice, the choice and the positions of its values.

    Raises:
        ValueError: One depends on several choices.
    """
    found = {}
    for name, parameter in space.parameters.items():
        conditions = as_conditions(getattr(parameter, "when", None))
        if len(conditions) > 1:
            raise ValueError(f"{name} depends on {len(conditions)} choices, expected one in an Optuna study.")
        for other, values in conditions:
            choices = getattr(space.parameters[other], "choices", ())
            found[name] = (other, tuple(choices.index(value) for value in values))
    return found


def from_distributions(
    distributions: Mapping[str, BaseDistribution], conditions: Mapping[str, tuple[str, tuple[int, ...]]] | None = None
) -> Space:
    """The space of Optuna's distributions.

    A choice of a categorical distribution may be anything, even an object that equals another choice; so a categorical
    parameter of the space is over the positions of the choices, 0 to k - 1. `encode` and `decode` translate.

    Args:
        distributions: The distributions, those on which others depend first.
        conditions: For each parameter that does not always exist a choice, and the positions of its values under which
            it does.
    """
    parameters = {name: from_distribution(name, distribution) for name, distribution in distributions.items()}
    for name, (other, positions) in (conditions or {}).items():
        parameter = parameters[name]
        if isinstance(parameter, Float | Int | Categorical):
            parameters[name] = replace(parameter, when={other: positions})
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

"""The box of a study: the ranges that its next trial has, and what of earlier trials lies in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import PLAN
from betabo.optuna.space import Condition, conditions_of, to_distributions
from betabo.space import Space

Branches: TypeAlias = tuple[dict[str, BaseDistribution], dict[str, tuple[Condition, ...]]]
"""Parameters, those on which others depend first, and the choices of each that does not always exist."""


def is_same_parameter(one: BaseDistribution, other: BaseDistribution) -> bool:
    """Whether two distributions are of the same parameter, which may have another range: a number may, a choice not."""
    if isinstance(one, CategoricalDistribution) or isinstance(other, CategoricalDistribution):
        return one == other
    if not isinstance(one, FloatDistribution | IntDistribution) or type(one) is not type(other):
        return False
    return one.log == getattr(other, "log", None)


def shared_parameters(trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The parameters that all complete trials have, by name, each with its range in the last of them."""
    shared: dict[str, BaseDistribution] | None = None
    for trial in trials:
        if trial.state != TrialState.COMPLETE:
            continue
        now = trial.distributions
        if shared is None:
            shared = dict(now)
        else:
            shared = {n: now[n] for n, before in shared.items() if n in now and is_same_parameter(before, now[n])}
    return dict(sorted((shared or {}).items()))


def branches(trials: Iterable[FrozenTrial]) -> Branches:
    """The parameters that trials share, and those that exist only under a choice, as far as the trials show it.

    A parameter is taken for one that exists under some values of a choice if each complete trial with one of these
    values has it, and no other trial.

    Returns:
        The parameters with their latest ranges, those on which others depend first; and for each that does not always
        exist the choice.
    """
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    found, conditions = shared_parameters(complete), dict[str, tuple[Condition, ...]]()
    waiting = {name for trial in complete for name in trial.distributions} - found.keys()
    while waiting:
        resolved = {}
        for name in sorted(waiting):
            distribution = _latest(name, complete)
            condition = None if distribution is None else _condition(name, complete, found)
            if distribution is not None and condition is not None:
                resolved[name] = distribution
                conditions[name] = (condition,)
        if not resolved:
            break
        found.update(resolved)
        waiting -= resolved.keys()
    return found, conditions


def _latest(name: str, trials: Sequence[FrozenTrial]) -> BaseDistribution | None:
    """The last range of a parameter; None if trials disagree on more than the range."""
    seen = [trial.distributions[name] for trial in trials if name in trial.distributions]
    return seen[-1] if all(is_same_parameter(one, seen[-1]) for one in seen) else None


def _condition(name: str, trials: Sequence[FrozenTrial], found: Mapping[str, BaseDistribution]) -> Condition | None:
    """The choice that tells the trials with a parameter from those without, and the positions of its values there."""
    for other, distribution in found.items():
        if not isinstance(distribution, CategoricalDistribution):
            continue
        values: dict[bool, set[int]] = {True: set(), False: set()}
        for trial in trials:
            if other in trial.params:
                values[name in trial.params].add(int(distribution.to_internal_repr(trial.params[other])))
            elif name in trial.params:
                break  # it exists where the choice does not
        else:
            if values[True] and not values[True] & values[False]:
                return other, tuple(sorted(values[True]))
    return None


def planned_box(study: Study) -> dict[str, BaseDistribution]:
    """The ranges that the plan of a study has now; empty for a study without a plan."""
    space = _planned_space(study)
    return {} if space is None else to_distributions(space)


def present_box(study: Study, trials: Sequence[FrozenTrial]) -> Branches:
    """What the model of a study is of: the parameters of its plan, else those that its trials share or branch into."""
    space = _planned_space(study)
    if space is not None and space.is_conditional:
        return to_distributions(space), conditions_of(space)
    found, conditions = branches(trials)
    planned = {} if space is None else to_distributions(space)
    return {name: planned.get(name, distribution) for name, distribution in found.items()}, conditions


def _planned_space(study: Study) -> Space | None:
    """The space of a study's plan, as it is now; None without one."""
    plan = study.user_attrs.get(PLAN)
    try:
        return Space.from_json(plan["space"]) if isinstance(plan, dict) else None
    except (KeyError, TypeError, ValueError):  # what a storage holds may be anything
        return None


def in_present_ranges(
    distributions: Mapping[str, BaseDistribution], box: Mapping[str, BaseDistribution]
) -> dict[str, BaseDistribution]:
    """The distributions of a trial, with the present range of each parameter that is the same."""
    return {
        name: box[name] if name in box and is_same_parameter(distribution, box[name]) else distribution
        for name, distribution in distributions.items()
    }

"""The box of a study: the ranges that its next trial has, and what of earlier trials lies in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import PLAN
from betabo.optuna.space import to_distributions
from betabo.space import Space

Condition: TypeAlias = tuple[str, tuple[int, ...]]
"""A choice, and the positions of those of its values under which a parameter exists."""


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


def branches(trials: Iterable[FrozenTrial]) -> tuple[dict[str, BaseDistribution], dict[str, Condition]]:
    """The parameters that trials share, and those that exist only under a choice, as far as the trials show it.

    A parameter is taken for one that exists under some values of a choice if each complete trial with one of these
    values has it, and no other trial.

    Returns:
        The parameters with their latest ranges, those on which others depend first; and for each that does not always
        exist the choice, and the positions of its values.
    """
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    found, conditions = shared_parameters(complete), dict[str, Condition]()
    waiting = {name for trial in complete for name in trial.distributions} - found.keys()
    while waiting:
        resolved = {}
        for name in sorted(waiting):
            distribution = _latest(name, complete)
            condition = None if distribution is None else _condition(name, complete, found)
            if distribution is not None and condition is not None:
                resolved[name] = distribution
                conditions[name] = condition
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
    plan = study.user_attrs.get(PLAN)
    try:
        return to_distributions(Space.from_json(plan["space"])) if isinstance(plan, dict) else {}
    except (KeyError, TypeError, ValueError):  # what a storage holds may be anything
        return {}


def present_box(study: Study, trials: Iterable[FrozenTrial]) -> dict[str, BaseDistribution]:
    """The ranges that the model of a study is of: those of its plan, else those that its trials share."""
    shared = shared_parameters(trials)
    planned = planned_box(study)
    return {name: planned.get(name, distribution) for name, distribution in shared.items()}


def in_present_ranges(
    distributions: Mapping[str, BaseDistribution], box: Mapping[str, BaseDistribution]
) -> dict[str, BaseDistribution]:
    """The distributions of a trial, with the present range of each parameter that is the same."""
    return {
        name: box[name] if name in box and is_same_parameter(distribution, box[name]) else distribution
        for name, distribution in distributions.items()
    }

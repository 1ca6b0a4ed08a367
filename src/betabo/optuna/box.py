"""The box of a study: the ranges that its next trial has, and what of earlier trials lies in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from betabo.optuna.attributes import PLAN
from betabo.optuna.space import to_distributions
from betabo.space import Space


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

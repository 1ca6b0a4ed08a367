"""The parameters of a trial that a worker has opened: given with it, or proposed by the study's sampler, and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from betabo.optuna.space import to_distributions
from betabo.space import Space
from betabo.studies.patient_storage import PatientStorage

_GIVEN = "fixed_params"  # Optuna's name for the parameters of a trial that was put into the queue


def choose_parameters(
    study: Study,
    storage: PatientStorage,
    opened: FrozenTrial,
    space: Space,
    is_quick: bool = False,
) -> dict[str, Any]:
    """Find the parameters of a running trial and store them, all at once.

    Those that the trial has already stay. Others are those with which it was put into the queue, or else what the
    sampler proposes; where these two do not fit together, what the independent sampler draws.

    Args:
        study: The study, with its sampler.
        storage: Its storage.
        opened: The trial.
        space: The space of the study.
        is_quick: Whether they are found in so little time that others can wait for it; it is then one transaction.

    Returns:
        The value of each parameter that exists there.

    Raises:
        ValueError: A value in the queue is none of the parameter's.
    """
    attempts = 0

    def current() -> FrozenTrial:
        """The trial; read again once an attempt whose answer was lost may have stored something."""
        nonlocal attempts
        attempts += 1
        return opened if attempts == 1 else storage.get_trial(opened._trial_id)

    if is_quick:
        return storage.together(lambda: choose_parameters(study, storage, current(), space))
    distributions, sampler = to_distributions(space), study.sampler
    known = {**opened.system_attrs.get(_GIVEN, {}), **_only_choices(distributions), **opened.params}
    if not set(space.active(known)) <= known.keys():
        known = {**sampler.sample_relative(study, opened, sampler.infer_relative_search_space(study, opened)), **known}
    while missing := [name for name in space.active(known) if name not in known]:
        name = missing[0]  # what exists under it is known after it
        known[name] = sampler.sample_independent(study, opened, name, distributions[name])
    distributions = {name: distributions[name] for name in space.active(known)}
    internal = {name: distribution.to_internal_repr(known[name]) for name, distribution in distributions.items()}

    def store() -> None:
        stored = current().params
        for name, distribution in distributions.items():
            if name not in stored:
                storage.set_trial_param(opened._trial_id, name, internal[name], distribution)

    if not distributions.keys() <= opened.params.keys():
        storage.together(store)
    return {name: distributions[name].to_external_repr(internal[name]) for name in distributions}


def _only_choices(distributions: Mapping[str, BaseDistribution]) -> dict[str, Any]:
    """The values of the parameters that leave no choice, which `to_distributions` gives one category."""
    return {
        name: distribution.choices[0]
        for name, distribution in distributions.items()
        if isinstance(distribution, CategoricalDistribution) and distribution.single()
    }

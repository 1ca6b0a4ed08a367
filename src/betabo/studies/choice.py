"""The parameters of a trial that a worker has opened: given with it, or proposed by the study's sampler, and stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from betabo.studies.patient_storage import PatientStorage

_GIVEN = "fixed_params"  # Optuna's name for the parameters of a trial that was put into the queue


def choose_parameters(
    study: Study,
    storage: PatientStorage,
    opened: FrozenTrial,
    distributions: Mapping[str, BaseDistribution],
    is_quick: bool = False,
) -> dict[str, Any]:
    """Find the parameters of a running trial and store them, all at once.

    Those that the trial has already stay. Others are those with which it was put into the queue, or else what the
    sampler proposes.

    Args:
        study: The study, with its sampler.
        storage: Its storage.
        opened: The trial.
        distributions: The distribution of each parameter.
        is_quick: Whether they are found in so little time that others can wait for it; it is then one transaction.

    Returns:
        The value of each parameter.

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
        return storage.together(lambda: choose_parameters(study, storage, current(), distributions))
    known = {**opened.system_attrs.get(_GIVEN, {}), **_only_choices(distributions), **opened.params}
    if not distributions.keys() <= known.keys():
        sampler = study.sampler
        known = {**sampler.sample_relative(study, opened, sampler.infer_relative_search_space(study, opened)), **known}
    values = {name: known[name] for name in distributions}
    internal = {name: distribution.to_internal_repr(values[name]) for name, distribution in distributions.items()}

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

"""betabo's search as an Optuna sampler."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeGuard

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from betabo.optimizer.config import Config
from betabo.optimizer.core import Proposal, mix_seeds, propose
from betabo.optimizer.data import Points
from betabo.optuna.attributes import CONSTRAINT, PROPOSAL, STEP
from betabo.optuna.best import directions_of
from betabo.optuna.box import branches
from betabo.optuna.known import brought_by, with_known
from betabo.optuna.model import StudyModel
from betabo.optuna.space import conditions_of, decode, from_distributions, is_searchable, reachable, to_distributions
from betabo.optuna.study_data import StudyData
from betabo.problem import Problem
from betabo.space import Parameter, Space, as_space
from betabo.suggestions import did_you_mean
from betabo.surrogate import FitState

_logger = logging.getLogger(__name__)

_ATTEMPTS = 6  # proposals of one trial until one is not under way nearby
_MOST_ATTEMPTS = 60  # until one is not the very point of another trial
_CLOSE = 0.05  # points of the unit cube that differ by no more in any coordinate are much the same
_PAUSE = 0.05  # seconds, about as long as another worker takes to write its proposal


@dataclass(frozen=True)
class _Proposed:
    """Parameters and what they were proposed from.

    Attributes:
        parameters: The parameters.
        unit: The same in the unit cube.
        known: What they were proposed from.
        ended: Numbers of the trials that had ended by then.
        is_certain: Whether no other worker can have proposed the same.
    """

    parameters: dict[str, Any]
    unit: Points
    known: StudyData
    ended: set[int]
    is_certain: bool


class BetaSampler(BaseSampler):
    """Bayesian optimization with the Beta kernels, for studies of Optuna 5.

    One objective or several (expected hypervolume improvement), constraints by `trial.set_constraint`, any number of
    workers. The sampler keeps nothing that matters: what it learns from one step to the next is stored with the trials,
    so that a study that is resumed goes on exactly as it would have.

    Parameters that all finished trials share are proposed together by the model, and with them those of branches, which
    exist only under some values of a choice, once trials show it. A range may change: trials count as far as their
    values lie in the new one. Other parameters (those whose choices or scale changed, and grids of more than 2**52
    values, such as a random seed) go to the independent sampler, and so do all parameters of the first trial, unless
    `search_space` names them. Running trials of other workers are taken into account; their parameters are visible
    before they are evaluated, and no two workers evaluate the same point.

    Args:
        config: The configuration as a whole, in place of `settings`.
        search_space: The parameters, as a `Space` or its dictionary, as Optuna's distributions or as a whole `Problem`,
            where they are known beforehand: the starting points then fill the space evenly from the first trial on. No
            proposal violates a known constraint of a problem; its limits are of user attributes that the objective
            sets, such as `trial.set_user_attr("temperature", 75)`. Its initial points are the first trials, and its
            known points are known.
        seed: Seed; None draws one. With one worker, the same seed gives the same trials.
        independent_sampler: Sampler of the parameters that the model does not propose; random by default.
        n_startup_trials: Optuna's word for `starting_points`.
        deterministic_objective: Optuna's word for a search without noise, `noise="none"`.
        constraints_func: Constraints of a finished trial, each at most 0 where it holds; `trial.set_constraint` in the
            objective does the same.
        warn_independent_sampling: Whether the log says when a parameter is left to the independent sampler.
        settings: Settings of `Config`: `kernel`, `acquisition`, `beta`, `noise`, `local_steps`, `starting_points`,
            `power_transform`, `duplicate_tolerance`. An `acquisition` of None is the default, which gives way to the
            expected hypervolume improvement where there are several objectives; another one is refused there.

    Attributes:
        last_model: The model of the last step, None before the first that had one.

    Example:
        >>> study = optuna.create_study(sampler=BetaSampler(seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", -5, 5) ** 2, n_trials=20)
    """

    def __init__(
        self,
        *,
        config: Config | None = None,
        search_space: Space | Problem | Mapping[str, BaseDistribution | Parameter] | None = None,
        seed: int | None = None,
        independent_sampler: BaseSampler | None = None,
        n_startup_trials: int | None = None,
        deterministic_objective: bool = False,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        warn_independent_sampling: bool = True,
        **settings: Any,
    ) -> None:
        settings = _in_our_words(settings, n_startup_trials, deterministic_objective)
        if settings.get("acquisition", ...) is None:
            del settings["acquisition"]
        self.config = Config.of(config, settings)
        self._acquisition_named = "acquisition" in settings or self.config.acquisition != Config.acquisition
        self._seed = _random_seed() if seed is None else int(seed)
        self._independent = RandomSampler(seed=seed) if independent_sampler is None else independent_sampler
        self._constraints_func = constraints_func
        self._warns = warn_independent_sampling
        self._problem = search_space if isinstance(search_space, Problem) else None
        if isinstance(search_space, Problem):
            search_space = search_space.space
        if isinstance(search_space, Mapping) and not _are_distributions(search_space):
            search_space = as_space(search_space)
        self._region = None if self._problem is None else self._problem.region(self._seed)
        self._brought = [] if self._problem is None else brought_by(self._problem)
        known = to_distributions(search_space) if isinstance(search_space, Space) else search_space
        self._known = None if known is None else _free(known)
        self._conditions = conditions_of(search_space) if isinstance(search_space, Space) else {}
        self._translated: tuple[Any, Space] | None = None
        if self._known:
            self._space(self._known, ())  # which refuses what cannot be searched
        self.last_model: StudyModel | None = None

    def __repr__(self) -> str:
        return f"BetaSampler(kernel={self.config.kernel!r}, seed={self._seed})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "last_model": None}

    def reseed_rng(self) -> None:
        """Draw a new seed, as Optuna asks of each of several jobs."""
        self._seed = _random_seed()
        self._independent.reseed_rng()

    def infer_relative_search_space(
        self,
        study: Study,
        trial: FrozenTrial,  # noqa: ARG002
    ) -> dict[str, BaseDistribution]:
        """The parameters that the model proposes."""
        if self._known is not None:
            return dict(self._known)
        found, _ = branches(study.get_trials(deepcopy=False))
        return {name: distribution for name, distribution in _free(found).items() if is_searchable(name, distribution)}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose values of the parameters in `search_space`, and store them for other workers to see."""
        if not search_space:
            return {}
        if len(study.directions) > 1 and self._acquisition_named:
            raise ValueError(
                f"acquisition is {self.config.acquisition!r} in a study with {len(study.directions)} objectives, "
                "expected None: several objectives are searched by the expected hypervolume improvement."
            )
        if self._problem is not None and trial.number < len(self._problem.initial):
            return self._first(study, trial, search_space, self._problem)
        waits = random.Random(mix_seeds(self._seed, trial.number))
        for attempt in range(_MOST_ATTEMPTS):
            if attempt > 1:  # two workers that answer each other need to fall out of step
                time.sleep(waits.uniform(0, _PAUSE * 2 ** min(attempt, _ATTEMPTS)))
            proposed = self._propose(study, trial, search_space)
            if proposed.is_certain:
                break
            close = _CLOSE if attempt < _ATTEMPTS else self.config.duplicate_tolerance
            if not _is_taken(study, trial, proposed, self.config.duplicate_tolerance, close):
                break
        return proposed.parameters

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A value of a parameter that the model does not propose."""
        if self._warns and sum(t.state == TrialState.COMPLETE for t in study.get_trials(deepcopy=False)) > 1:
            _logger.warning(
                "trial %d: the model does not propose %r, which is not a parameter of every trial, or has another "
                "range than before; it is sampled by %s. warn_independent_sampling=False keeps this out of the log.",
                trial.number,
                param_name,
                type(self._independent).__name__,
            )
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """See that problem and study agree, and pass on to the independent sampler."""
        directions = directions_of(study)
        if self._problem is not None and self._problem.directions != directions:
            raise ValueError(
                f"the problem's objectives are to {_listed(self._problem.directions)}, those of the study to "
                f"{_listed(directions)}; give both the same, such as optuna.create_study(directions=[...]) and "
                "Problem(..., objectives=...)."
            )
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        """Store the constraints of the trial, and pass on to the independent sampler."""
        if state in (TrialState.COMPLETE, TrialState.PRUNED):
            constraints = self._constraints_of(trial, complete=state == TrialState.COMPLETE)
            if constraints:
                _store(study, trial, {f"{CONSTRAINT}{name}": excess for name, excess in constraints.items()})
        self._independent.after_trial(study, trial, state, values)

    def _constraints_of(self, trial: FrozenTrial, *, complete: bool) -> dict[str, float]:
        """The constraints of a finished trial that its objective did not set itself, by name."""
        found: dict[str, float] = {}
        if self._constraints_func is not None:
            found = {str(i): float(value) for i, value in enumerate(self._constraints_func(trial))}
            if any(np.isnan(value) for value in found.values()):
                raise ValueError(f"constraints_func returned {list(found.values())}, expected numbers other than NaN.")
        for limit in () if self._problem is None else self._problem.constraints:
            if limit.name in trial.user_attrs:
                found |= dict(zip(limit.labels, limit.excess(float(trial.user_attrs[limit.name])), strict=True))
            elif complete and not any(label in trial.constraints for label in limit.labels):
                raise ValueError(
                    f"trial {trial.number} has no user attribute {limit.name!r} for the constraint "
                    f"{limit.name} {limit}; set it in the objective: trial.set_user_attr({limit.name!r}, ...)."
                    f"{did_you_mean(limit.name, trial.user_attrs)}"
                )
        return {name: value for name, value in found.items() if name not in trial.constraints}

    def _first(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution], problem: Problem
    ) -> dict[str, Any]:
        """The initial point of a problem that is a trial's."""
        point = problem.initial[trial.number]
        given = dict(zip(problem.space.names, point, strict=True)) if problem.space.is_box else point
        parameters = {name: given[name] for name in search_space if name in given}
        _store(study, trial, {PROPOSAL: parameters})
        return parameters

    def _propose(self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]) -> _Proposed:
        """Propose parameters from what is known now, and store them."""
        trials = study.get_trials(deepcopy=False)
        space, search_space = self._space(search_space, trials)
        known = StudyData.of(
            trials, search_space, study.directions, asking=trial.number, space=space, noise=self.config.noise
        )
        known = with_known(study, known, self._brought)
        signature = [_name(self.config.kernel), space.coordinates]
        proposal = propose(
            known.data,
            self.config.within(space),
            seed=self._seed,
            states=_last_states(trials, signature),
            snap=space.snap,
            neighbours=None if space.is_continuous else space.neighbours,
            numeric=space.numeric,
            index=trial.number,
            region=self._region,
        )
        if proposal.surrogate is not None:
            self.last_model = StudyModel(known, proposal.surrogate)
        point = space.from_unit(proposal.points[0])
        assert isinstance(point, dict)
        parameters = decode(point, search_space)
        _store(study, trial, {PROPOSAL: parameters, STEP: _step(proposal, signature)})
        ended = {t.number for t in trials if t.state.is_finished()}
        # Points of the design differ from one another, and from those of a model, wherever there is no grid and no
        # constraint: of a region two workers may choose the same point at the same time.
        is_certain = proposal.origins[0] == "start" and space.is_continuous and self._region is None
        return _Proposed(parameters, proposal.points[0], known, ended, is_certain)

    def _space(
        self, distributions: dict[str, BaseDistribution], trials: Sequence[FrozenTrial]
    ) -> tuple[Space, dict[str, BaseDistribution]]:
        """The space of distributions, and those of them that the model can propose.

        The space of the last proposal, which was the same one as a rule, is kept.
        """
        conditions = branches(trials)[1] if self._known is None else self._conditions
        distributions, conditions = reachable(distributions, conditions)
        key = ([*distributions.items()], conditions)
        if self._translated is None or self._translated[0] != key:
            self._translated = (key, from_distributions(distributions, conditions))
        return self._translated[1], distributions


def _in_our_words(settings: dict[str, Any], startup: int | None, deterministic: bool) -> dict[str, Any]:
    """The settings with what was said in Optuna's words."""
    ours = {
        **({} if startup is None else {"starting_points": max(startup, 1)}),
        **({"noise": "none"} if deterministic else {}),
    }
    twice = sorted(set(ours) & set(settings))
    if twice:
        raise ValueError(f"{twice[0]} is given twice, once in Optuna's words; expected it once.")
    return {**settings, **ours}


def _free(distributions: Mapping[str, BaseDistribution]) -> dict[str, BaseDistribution]:
    """The distributions that leave a choice."""
    return {name: distribution for name, distribution in distributions.items() if not distribution.single()}


def _step(proposal: Proposal, signature: list[Any]) -> dict[str, Any]:
    step: dict[str, Any] = {"origin": proposal.origins[0], "diagnostics": proposal.diagnostics}
    if proposal.origins[0] != "start":
        step["states"] = [asdict(state) for state in proposal.states]
        step["signature"] = signature
    return step


def _listed(directions: Sequence[str]) -> str:
    return " and ".join(directions)


def _are_distributions(entries: Mapping[str, Any]) -> TypeGuard[Mapping[str, BaseDistribution]]:
    return all(isinstance(entry, BaseDistribution) for entry in entries.values())


def _last_states(trials: Sequence[FrozenTrial], signature: list[Any]) -> tuple[FitState, ...]:
    """Hyperparameters of the last fit with the same kernel in the same space."""
    for trial in reversed(trials):
        step = trial.system_attrs.get(STEP, {})
        if step.get("signature") == signature:
            return tuple(FitState(**state) for state in step["states"])
    return ()


def _is_taken(study: Study, trial: FrozenTrial, proposed: _Proposed, same: float, near: float) -> bool:
    """Whether another trial has taken the point without this one having known.

    It counts if it is under way at much the same point, or has ended at the same one in the meantime. Every worker
    writes its proposal before it looks. Of two that propose the same, the later one thus always notices.

    Args:
        study: The study.
        trial: The trial that asks.
        proposed: Its proposal.
        same: Points of the unit cube that differ by no more in any coordinate are the same.
        near: Those that differ by no more are much the same.
    """
    trials = [t for t in study.get_trials(deepcopy=False) if t.number not in proposed.ended]
    known, unit = proposed.known, proposed.unit
    now = StudyData.of(trials, known.distributions, study.directions, asking=trial.number, space=known.space).data
    under_way = _news(now.pending, known.data.pending)
    ended = _news(np.concatenate([now.points, now.failed]), known.data.seen())
    return any(
        np.abs(unit - place).max() <= close for places, close in ((under_way, near), (ended, same)) for place in places
    )


def _news(now: Points, before: Points) -> list[Points]:
    """The points that were not there before; by place, as a worker may change its proposal."""
    seen = {tuple(place) for place in before.tolist()}
    return [place for place in now if tuple(place.tolist()) not in seen]


def _store(study: Study, trial: FrozenTrial, notes: Mapping[str, Any]) -> None:
    """Store something with a trial, all of it at once where the storage knows how."""
    storage = study._storage

    def store() -> None:
        for key, value in notes.items():
            # Optuna has no public way for a sampler to store something with a trial; its own samplers use this one.
            storage.set_trial_system_attr(trial._trial_id, key, value)

    getattr(storage, "together", lambda action: action())(store)


def _name(kernel: Any) -> str:
    return kernel if isinstance(kernel, str) else getattr(kernel, "__qualname__", type(kernel).__qualname__)


def _random_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1)[0])

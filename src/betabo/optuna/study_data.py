"""What a study's trials tell the model: points and values, constraints, failures, and what is under way."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial

from betabo.optimizer.data import Data, Points
from betabo.optimizer.history import MODELLED, Origin
from betabo.optimizer.turns import Step
from betabo.optimizer.variance import as_variance
from betabo.optuna.attributes import STEP, VARIANCE
from betabo.optuna.box import is_same_parameter
from betabo.optuna.space import encode, from_distributions
from betabo.optuna.trials import known_parameters, state_of
from betabo.space import Space


@dataclass(frozen=True)
class StudyData:
    """A study's trials in the unit cube.

    Attributes:
        space: The search space.
        distributions: The same as Optuna's distributions.
        signs: 1 for each objective that is minimized, -1 for each that is maximized.
        finished: The trials with values, in the order of `data.points`.
        data: What is known, of which less is better.
    """

    space: Space
    distributions: Mapping[str, BaseDistribution]
    signs: Points
    finished: tuple[FrozenTrial, ...]
    data: Data

    @classmethod
    def of(
        cls,
        trials: Sequence[FrozenTrial],
        distributions: Mapping[str, BaseDistribution],
        directions: Sequence[StudyDirection],
        asking: int | None = None,
        space: Space | None = None,
        noise: object = None,
    ) -> StudyData:
        """Read the trials.

        A trial that lacks a parameter, or has a value outside its distribution, is left out. A pruned trial counts with
        its last reported value or the median of the finished ones, whichever is worse; without one, as a failure. A
        failed trial that Optuna's own `RetryHeartbeatStaleTrialCallback` repeats is left out, as interrupted ones are.

        Args:
            trials: All trials of the study.
            distributions: The parameters of the model.
            directions: Direction of each objective.
            asking: Number of the trial that asks, which is left out.
            space: The space of the distributions, where it is known already.
            noise: As in `Config`: a function gives the variances that trials do not have as a user attribute.
        """
        space = from_distributions(distributions) if space is None else space
        signs = np.array([-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in directions])
        replaced = {number for t in trials for number in t.system_attrs.get("retry_history", ())}
        finished: list[tuple[FrozenTrial, Points]] = []
        rows: list[Points] = []
        failed, pending, pruned = [], [], []
        steps: dict[int, Step] = {}
        for trial in trials:
            unit = None if trial.number == asking else _unit(trial, space, distributions)
            if unit is None:
                continue
            state = state_of(trial)
            steps[trial.number] = Step(_origin(trial), None, under_way=state in ("running", "waiting"))
            if state == "complete":
                finished.append((trial, unit))
                rows.append(signs * np.array(trial.values))
            elif state == "pruned":
                pruned.append((trial, unit))
            elif state in ("running", "waiting"):
                pending.append(unit)
            elif state == "failed" and trial.number not in replaced:
                failed.append(unit)
        values = _finite(np.array(rows).reshape(len(rows), len(signs)))
        for trial, unit in pruned:
            last = trial.intermediate_values[trial.last_step] if trial.last_step is not None else np.nan
            if len(signs) == 1 and np.isfinite(last) and len(rows):
                finished.append((trial, unit))
                values = np.vstack([values, max(signs[0] * last, float(np.median(values[: len(rows), 0])))])
            else:
                failed.append(unit)
        used = tuple(trial for trial, _ in finished)
        variances = np.array([_variances(trial, len(signs), noise) for trial in used]).reshape(len(used), len(signs))
        if len(signs) == 1:
            for trial, value in zip(used, values[:, 0].tolist(), strict=True):
                steps[trial.number] = replace(steps[trial.number], value=value)
        return cls(
            space,
            distributions,
            signs,
            used,
            Data(
                points=_stack([unit for _, unit in finished], space.dims),
                values=values if len(signs) > 1 else values[:, 0],
                failed=_stack(failed, space.dims),
                pending=_stack(pending, space.dims),
                constraints=_constraints(used),
                variances=variances if len(signs) > 1 else variances[:, 0],
                steps=tuple(steps[number] for number in sorted(steps)),
                asked=np.array([_origin(trial) in MODELLED for trial in used], dtype=bool),
                profiles=space.profiles,
            ),
        )


def _unit(trial: FrozenTrial, space: Space, distributions: Mapping[str, BaseDistribution]) -> Points | None:
    parameters = known_parameters(trial)
    was = trial.distributions
    if any(name in was and not is_same_parameter(was[name], d) for name, d in distributions.items()):
        return None
    try:
        return np.asarray(space.to_unit(encode(parameters, distributions)))
    except (TypeError, ValueError):  # an enqueued value may be anything
        return None


def _origin(trial: FrozenTrial) -> Origin:
    origin = trial.system_attrs.get(STEP, {}).get("origin")
    return origin if origin in get_args(Origin) else "user"


def _variances(trial: FrozenTrial, count: int, noise: object) -> list[float]:
    """Variances of the noise of a trial's values, NaN where they are not known.

    What somebody has set as the attribute may be anything: it is left out with a warning where it is no variance.
    """
    given: Any = trial.user_attrs.get(VARIANCE)
    if given is None:
        return [as_variance(noise(trial.params), "the function noise returned") if callable(noise) else np.nan] * count
    try:
        found = [as_variance(entry, f"{VARIANCE} is") for entry in (given if isinstance(given, list) else [given])]
        if len(found) != count:
            raise ValueError(f"{VARIANCE} has {len(found)} numbers, expected one for each of {count} objectives.")
    except (TypeError, ValueError) as error:
        warnings.warn(f"trial {trial.number} counts as one of unknown accuracy: {error}", stacklevel=2)
        return [np.nan] * count
    return found


def _constraints(trials: Sequence[FrozenTrial]) -> Points:
    """Values of the constraints, `n x c`; one that a trial did not set counts as badly violated."""
    names = sorted({name for trial in trials for name in trial.constraints})
    rows = [[trial.constraints.get(name, np.inf) for name in names] for trial in trials]
    return _finite(np.array(rows, dtype=np.float64).reshape(len(trials), len(names)))


def _finite(values: Points) -> Points:
    """The values with infinite ones moved to the largest and the smallest finite value of their column."""
    bounded = values.copy()
    for column in bounded.T:
        finite = column[np.isfinite(column)]
        low, high = (finite.min(), finite.max()) if len(finite) else (-1.0, 1.0)
        np.clip(column, min(low, high), high, out=column)
    return bounded


def _stack(units: list[Points], dims: int) -> Points:
    return np.array(units, dtype=np.float64).reshape(len(units), dims)

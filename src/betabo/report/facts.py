"""What an Optuna study says about itself: trials as plain records, the best of them, and the way there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna.study import StudyDirection
from optuna.trial import TrialState

from betabo.attributes import INTERRUPTED, REASON, STEP, WITHDRAWN
from betabo.optuna.study_data import proposed_parameters
from betabo.report.boundary import trial_distance
from betabo.report.pareto import pareto_front

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study
    from optuna.trial import FrozenTrial

STATES = ("complete", "pruned", "running", "waiting", "interrupted", "failed")
"""The states of a trial, in the order in which they are listed."""

_STATE_NAMES = {
    TrialState.COMPLETE: "complete",
    TrialState.PRUNED: "pruned",
    TrialState.RUNNING: "running",
    TrialState.WAITING: "waiting",
    TrialState.FAIL: "failed",
}


@dataclass(frozen=True)
class TrialFacts:
    """One trial.

    Attributes:
        number: Its number in the study.
        state: One of `STATES`; `"interrupted"` is a trial whose worker died and which was retried.
        values: A value for each objective; empty without one. A pruned trial has its last intermediate value.
        params: Its parameters in the user's units, those included that are proposed and not yet asked for.
        distributions: The range that each parameter was chosen from.
        origin: `"start"` or `"model"` for betabo's sampler, `"enqueued"` for a point the user asked for, else empty.
        violation: Sum of the amounts by which constraints are violated; None without constraints.
        started: When it started.
        seconds: How long it took.
        distance: Normalized distance to the boundary over the numeric parameters, 0 on a face, 1 at the centre.
        diagnostics: Figures of the sampler's step that proposed it.
        note: What else is to be said of it: why it failed or was interrupted, or what the objective noted.
    """

    number: int
    state: str
    values: tuple[float, ...] = ()
    params: dict[str, Any] = field(default_factory=dict)
    distributions: dict[str, BaseDistribution] = field(default_factory=dict)
    origin: str = ""
    violation: float | None = None
    started: datetime | None = None
    seconds: float | None = None
    distance: float | None = None
    diagnostics: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether it ended with a value for each objective."""
        return self.state == "complete"

    @property
    def is_feasible(self) -> bool:
        """Whether it violates no constraint."""
        return not self.violation


@dataclass(frozen=True)
class StudyFacts:
    """A study at one moment.

    Attributes:
        name: Its name.
        objectives: A name for each objective.
        maximize: Whether each objective is to be maximized.
        trials: The trials in order, without withdrawn ones.
        constrained: Whether any trial has constraints.
        best: The best feasible trial; with several objectives the Pareto front. Empty if there is none yet.
        leading: The best few feasible trials, best first; with several objectives the Pareto front.
        distributions: The most recent range of each parameter, in the order of first use.
    """

    name: str
    objectives: tuple[str, ...]
    maximize: tuple[bool, ...]
    trials: tuple[TrialFacts, ...]
    constrained: bool
    best: tuple[TrialFacts, ...]
    leading: tuple[TrialFacts, ...]
    distributions: dict[str, BaseDistribution]

    @property
    def complete(self) -> list[TrialFacts]:
        """The trials that ended with a value for each objective."""
        return [trial for trial in self.trials if trial.is_complete]

    @property
    def counts(self) -> dict[str, int]:
        """Number of trials by state, states without trials left out."""
        counts = Counter(trial.state for trial in self.trials)
        return {state: counts[state] for state in STATES if counts[state]}

    @property
    def has_one_objective(self) -> bool:
        """Whether there is exactly one objective."""
        return len(self.objectives) == 1

    @property
    def from_betabo(self) -> bool:
        """Whether betabo's sampler proposed at least one of the trials."""
        return any(trial.origin in ("start", "model") for trial in self.trials)

    def losses(self, trials: Sequence[TrialFacts]) -> list[list[float]]:
        """Values with the sign changed where they are to be maximized, a row for each trial: smaller is better."""
        return [[-v if up else v for v, up in zip(t.values, self.maximize, strict=True)] for t in trials]


def read_study(study: Study) -> StudyFacts:
    """The facts of a study, from a single look at its storage."""
    maximize = tuple(direction == StudyDirection.MAXIMIZE for direction in study.directions)
    frozen = [t for t in study.get_trials(deepcopy=False) if not t.system_attrs.get(WITHDRAWN)]
    trials = tuple(_trial(t) for t in frozen)
    distributions: dict[str, BaseDistribution] = {}
    for trial in trials:
        distributions.update(trial.distributions)
    facts = StudyFacts(
        name=study.study_name,
        objectives=_objective_names(study),
        maximize=maximize,
        trials=trials,
        constrained=any(trial.violation is not None for trial in trials),
        best=(),
        leading=(),
        distributions=distributions,
    )
    eligible = [trial for trial in facts.complete if trial.is_feasible]
    if not eligible:
        return facts
    losses = facts.losses(eligible)
    if facts.has_one_objective:
        ranked = [eligible[i] for i in sorted(range(len(eligible)), key=lambda i: losses[i][0])]
        best, leading = ranked[:1], ranked[: leading_count(len(ranked))]
    else:
        best = leading = [eligible[i] for i in pareto_front(losses)]
    return replace(facts, best=tuple(best), leading=tuple(leading))


def leading_count(count: int) -> int:
    """How many of `count` trials are the best few: a tenth of them, at least 3 and at most 10."""
    return min(count, 10, max(3, math.ceil(count / 10)))


def best_so_far(facts: StudyFacts) -> tuple[list[int], list[float]]:
    """The best feasible value of the first objective after each complete trial.

    Returns:
        The numbers of the trials and the best values, from the first feasible trial on.
    """
    numbers: list[int] = []
    bests: list[float] = []
    better = max if facts.maximize[0] else min
    for trial in facts.complete:
        if trial.is_feasible:
            bests.append(better(bests[-1], trial.values[0]) if bests else trial.values[0])
        elif bests:
            bests.append(bests[-1])
        else:
            continue
        numbers.append(trial.number)
    return numbers, bests


def usual_values(facts: StudyFacts) -> tuple[float, float] | None:
    """Least and largest value of the first objective without trials that are far worse than most.

    Returns:
        None if no finite value is further from the best than five times the distance of the third quartile.
    """
    losses = sorted(loss for (loss, *_) in facts.losses(facts.complete) if math.isfinite(loss))
    if len(losses) < 4:
        return None
    best, quartile, worst = losses[0], losses[math.ceil(0.75 * len(losses)) - 1], losses[-1]
    height = quartile - best
    if not 0 < height < math.inf or worst - best <= 5 * height:
        return None
    ends = (best - 0.1 * height, quartile + height)
    return (-ends[1], -ends[0]) if facts.maximize[0] else ends


def centre_trial(facts: StudyFacts) -> TrialFacts | None:
    """The trial through which slices are cut: the best, or of a Pareto front the nearest to its ideal corner."""
    if len(facts.best) < 2:
        return facts.best[0] if facts.best else None
    losses = facts.losses(facts.best)
    columns = list(zip(*losses, strict=True))
    lows = [min(column) for column in columns]
    spans = [max(column) - low or 1.0 for column, low in zip(columns, lows, strict=True)]

    def to_ideal(index: int) -> float:
        return math.hypot(*((v - low) / span for v, low, span in zip(losses[index], lows, spans, strict=True)))

    return facts.best[min(range(len(losses)), key=to_ideal)]


def seconds_by_kind(facts: StudyFacts) -> dict[str, float]:
    """Seconds spent in trials, and of these in fitting models and in maximizing acquisition functions."""
    figures = {"trials": sum(t.seconds or 0.0 for t in facts.trials)}
    for kind in ("fit", "acquisition"):
        figures[kind] = sum(number(t.diagnostics.get(f"{kind}_seconds")) or 0.0 for t in facts.trials)
    return figures


def number(value: object) -> float | None:
    """A finite number as a float, None for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def _objective_names(study: Study) -> tuple[str, ...]:
    if study.metric_names:
        return tuple(study.metric_names)
    count = len(study.directions)
    return ("value",) if count == 1 else tuple(f"objective {i + 1}" for i in range(count))


def _trial(trial: FrozenTrial) -> TrialFacts:
    attrs = trial.system_attrs
    step = attrs.get(STEP)
    step = step if isinstance(step, dict) else {}
    diagnostics = step.get("diagnostics")
    state, note = _STATE_NAMES[trial.state], str(attrs.get(REASON) or attrs.get("fail_reason", ""))  # Optuna's own name
    if INTERRUPTED in attrs:
        state, note = "interrupted", str(attrs[INTERRUPTED])
    constraints = trial.constraints.values()
    return TrialFacts(
        number=trial.number,
        state=state,
        values=tuple(float(v) for v in trial.values or ()),
        params=dict(trial.params if trial.state.is_finished() else proposed_parameters(trial)),
        distributions=dict(trial.distributions),
        origin=str(step.get("origin", "")) or ("enqueued" if "fixed_params" in attrs else ""),
        violation=sum(max(c, 0.0) for c in constraints) if constraints else None,
        started=trial.datetime_start,
        seconds=trial.duration.total_seconds() if trial.duration else None,
        distance=trial_distance(trial.params, trial.distributions),
        diagnostics=diagnostics if isinstance(diagnostics, dict) else {},
        note=note or ", ".join(f"{name} {_shown(value)}" for name, value in trial.user_attrs.items()),
    )


def _shown(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)

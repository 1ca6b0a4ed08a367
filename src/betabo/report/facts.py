"""What an Optuna study says about itself: trials as plain records, the best of them, and the way there."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from betabo.optuna.attributes import PLAN
from betabo.optuna.best import best_trials, directions_of, losses_of, objective_names, ranked
from betabo.optuna.recommendation import Recommended, recommended_with_noise
from betabo.optuna.trials import COUNTED, STATES, TrialRecord, read_trials, state_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study


@dataclass(frozen=True)
class StudyFacts:
    """A study at one moment.

    Attributes:
        name: Its name.
        objectives: A name for each objective.
        directions: `"minimize"` or `"maximize"` for each objective.
        trials: The trials in order, without withdrawn ones.
        constrained: Whether any trial has constraints.
        best: The best feasible trial, where the model sees noise by its mean; with several objectives the Pareto
            front. Empty if there is none yet.
        leading: The best few feasible trials, best first; with several objectives the Pareto front.
        distributions: The most recent range of each parameter, in the order of first use.
        planned: Number of trials that the study is to reach; None if nobody said.
        own_ranges: Whether the user chose the ranges; those of a compression are its method's.
        recommended: What the model believes of the best trial where it sees noise; None elsewhere.
    """

    name: str
    objectives: tuple[str, ...]
    directions: tuple[str, ...]
    trials: tuple[TrialRecord, ...]
    constrained: bool
    best: tuple[TrialRecord, ...]
    leading: tuple[TrialRecord, ...]
    distributions: dict[str, BaseDistribution]
    planned: int | None = None
    own_ranges: bool = True
    recommended: Recommended | None = None

    @property
    def maximize(self) -> tuple[bool, ...]:
        """Whether each objective is to be maximized."""
        return tuple(direction == "maximize" for direction in self.directions)

    @property
    def complete(self) -> list[TrialRecord]:
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
        return any(trial.origin == "start" or trial.is_modelled for trial in self.trials)


def read_study(study: Study) -> StudyFacts:
    """The facts of a study, from a single look at its storage."""
    directions, trials = directions_of(study), tuple(read_trials(study))
    best = leading = best_trials(trials, directions)
    if len(directions) == 1:
        candidates = ranked(trials, directions)
        leading = candidates[: leading_count(len(candidates))]
    recommended = recommended_with_noise(study, trials)
    if recommended is not None:
        best = [trial for trial in trials if trial.number == recommended.trial]
    distributions: dict[str, BaseDistribution] = {}
    for trial in trials:
        distributions.update(trial.distributions)
    return StudyFacts(
        name=study.study_name,
        objectives=_objective_names(study),
        directions=directions,
        trials=trials,
        constrained=any(trial.violation is not None for trial in trials),
        best=tuple(best),
        leading=tuple(leading),
        distributions=distributions,
        planned=_planned(study),
        own_ranges=_own_ranges(study),
        recommended=recommended,
    )


def note_of(trial: TrialRecord) -> str:
    """What else is to be said of a trial: why it failed or was interrupted, or what the objective noted."""
    return trial.reason or ", ".join(f"{name} {_shown(value)}" for name, value in trial.remarks.items())


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
    losses = sorted(loss for (loss, *_) in losses_of(facts.complete, facts.directions) if math.isfinite(loss))
    if len(losses) < 4:
        return None
    best, quartile, worst = losses[0], losses[math.ceil(0.75 * len(losses)) - 1], losses[-1]
    height = quartile - best
    if not 0 < height < math.inf or worst - best <= 5 * height:
        return None
    ends = (best - 0.1 * height, quartile + height)
    return (-ends[1], -ends[0]) if facts.maximize[0] else ends


def centre_trial(facts: StudyFacts) -> TrialRecord | None:
    """The trial through which slices are cut: the best, or of a Pareto front the nearest to its ideal corner."""
    if len(facts.best) < 2:
        return facts.best[0] if facts.best else None
    losses = losses_of(facts.best, facts.directions)
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


def _own_ranges(study: Study) -> bool:
    plan = study.user_attrs.get(PLAN)
    objective = plan.get("objective") if isinstance(plan, dict) else None
    kind = objective.get("type") if isinstance(objective, dict) else None
    return kind in (None, "function", "command", "python")


def _planned(study: Study) -> int | None:
    plan = study.user_attrs.get(PLAN)
    trials = plan.get("trials") if isinstance(plan, dict) else None
    if not isinstance(trials, int):
        return None
    return max(trials, sum(state_of(trial) in COUNTED for trial in study.get_trials(deepcopy=False)))


def _objective_names(study: Study) -> tuple[str, ...]:
    count = len(study.directions)
    unnamed = ("value",) if count == 1 else tuple(f"objective {i + 1}" for i in range(count))
    return objective_names(study) or unnamed


def _shown(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)

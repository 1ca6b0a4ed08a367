"""Where trials lie in the box: distance to its boundary, parameters on a face, and whether the box is too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from optuna.distributions import FloatDistribution, IntDistribution

from betabo.optuna.space import from_distribution
from betabo.report.text import show
from betabo.space.boundary import Side, face
from betabo.space.widening import wider_bound

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

    from betabo.optuna.trials import TrialRecord
    from betabo.report.facts import StudyFacts

NEAR = 0.01
"""A parameter sits on a face when it is this close to a bound, as a share of its range."""


def running_median(trials: Sequence[TrialRecord], window: int = 10) -> tuple[list[int], list[float]]:
    """Numbers of the trials that have a distance, and the median of each and the `window - 1` before it."""
    known = [(t.number, distance) for t in trials if (distance := t.boundary_distance) is not None]
    distances = [distance for _, distance in known]
    medians = [median(distances[max(0, i + 1 - window) : i + 1]) for i in range(len(distances))]
    return [number for number, _ in known], medians


def expected_distance(trials: Sequence[TrialRecord]) -> float | None:
    """Mean distance of uniform random points, 1 / (d + 1) in d numeric parameters; None if d is not always the same."""
    counts = {len(t.positions) for t in trials if t.distributions}
    return 1 / (counts.pop() + 1) if len(counts) == 1 and 0 not in counts else None


@dataclass(frozen=True)
class ParameterFacts:
    """One parameter and where it lies in its range.

    Attributes:
        name: Its name.
        distribution: Its most recent range.
        used: In how many of the trials it occurs.
        best: Its value in the trial that is shown as the best.
        has_best: Whether that trial has a value of it.
        best_position: Where that lies in the range, from 0 to 1; None for a categorical parameter.
        leading_positions: The same for the best few trials.
        model_lower: Share of the model's proposals on or near the lower bound; None without proposals.
        model_upper: The same for the upper bound.
    """

    name: str
    distribution: BaseDistribution
    used: int
    best: Any
    has_best: bool
    best_position: float | None
    leading_positions: tuple[float, ...]
    model_lower: float | None
    model_upper: float | None

    @property
    def on_face(self) -> Side | None:
        """The bound that the best value is on or near."""
        return None if self.best_position is None else face(self.best_position, NEAR)


@dataclass(frozen=True)
class Hint:
    """Reason to believe that better values lie outside the range of a parameter.

    Attributes:
        parameter: Its name.
        side: Which bound.
        bound: The bound, in the user's units.
        evidence: What was observed.
        advice: What to do.
        estimate: What a wider range would gain, where there is a model.
    """

    parameter: str
    side: Side
    bound: float
    evidence: str
    advice: str
    estimate: str = ""


def parameter_facts(facts: StudyFacts, centre: TrialRecord | None) -> list[ParameterFacts]:
    """Every parameter of a study, seen from the trial `centre`."""
    proposals = [trial for trial in facts.trials if trial.is_modelled]
    return [_parameter(facts, centre, proposals, name) for name in facts.distributions]


def hints(facts: StudyFacts, parameters: Sequence[ParameterFacts]) -> list[Hint]:
    """The parameters whose range may be too small.

    With one objective these are parameters that are on or near a bound in the best trial, or in most of the best few
    if there are twice as many trials. With several, those that are so in more than half of the Pareto front. There are
    none of ranges that the user did not choose.
    """
    found: list[Hint] = []
    if not facts.own_ranges:
        return found
    for parameter in parameters:
        positions = parameter.leading_positions
        for side in ("lower", "upper"):
            there = sum(face(p, NEAR) == side for p in positions)
            is_common = there > len(positions) / 2 and len(positions) >= 3
            if facts.has_one_objective:
                is_common = is_common and len(facts.complete) >= 2 * len(positions)
            is_best = parameter.on_face == side and (facts.has_one_objective or len(facts.best) == 1)
            if is_best or is_common:
                found.append(_hint(facts, parameter, side, there, is_best))
    return found


def _parameter(
    facts: StudyFacts, centre: TrialRecord | None, proposals: Sequence[TrialRecord], name: str
) -> ParameterFacts:
    distribution = facts.distributions[name]

    def positions(trials: Sequence[TrialRecord]) -> list[float]:
        # A range may change during a study. What was on a bound that is gone says nothing of the present one.
        here = [t for t in trials if t.distributions.get(name) == distribution]
        return [t.positions[name] for t in here if name in t.positions]

    best = {} if centre is None else centre.parameters
    proposed = [face(position, NEAR) for position in positions(proposals)]
    return ParameterFacts(
        name=name,
        distribution=distribution,
        used=sum(name in trial.parameters for trial in facts.trials),
        best=best.get(name),
        has_best=name in best,
        best_position=next(iter(positions([centre])), None) if centre is not None else None,
        leading_positions=tuple(positions(facts.leading)),
        model_lower=proposed.count("lower") / len(proposed) if proposed else None,
        model_upper=proposed.count("upper") / len(proposed) if proposed else None,
    )


def _hint(facts: StudyFacts, parameter: ParameterFacts, side: Side, there: int, is_best: bool) -> Hint:
    distribution = parameter.distribution
    assert isinstance(distribution, (FloatDistribution, IntDistribution))
    low, high = distribution.low, distribution.high
    bound = low if side == "lower" else high
    group = "the best" if facts.has_one_objective else "the front's"
    count = f"{there} of {group} {len(parameter.leading_positions)} trials"
    if is_best:
        where = "on" if parameter.best == bound else "next to"
        evidence = f"The best trial has {show(parameter.best)}, {where} the {side} bound {show(bound)}"
        evidence += f"; {count} are there." if there > 1 else "."
    else:
        evidence = f"{count[0].upper()}{count[1:]} are on or next to the {side} bound {show(bound)}."
    wider = wider_bound(from_distribution(parameter.name, distribution), side)
    if wider is None:
        advice = "Widen the range if values beyond it make sense."
        if side == "lower" and isinstance(distribution, FloatDistribution) and distribution.step is None:
            advice += " If small values win, a log scale resolves them better."
    else:
        ends = (wider, high) if side == "lower" else (low, wider)
        advice = f"Widen the range, for example to [{show(ends[0])}, {show(ends[1])}], unless {show(bound)} is a limit."
    return Hint(parameter.name, side, bound, evidence, advice)

"""What the model expects: how much is still to be gained in the box, and what lies beyond its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from betabo.optimizer.beyond import describe_gain, gains_beyond
from betabo.optimizer.config import Config
from betabo.optimizer.remaining import remaining_gain
from betabo.report.boundary import Hint
from betabo.report.text import show

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

_CONFIDENCE = 0.8


def outlook(model: StudyModel | None) -> str:
    """A sentence on how sure the search is; empty without a model of one objective."""
    if model is None or len(model.surrogate.objectives) > 1:
        return ""
    gain = remaining_gain(model.study_data.data, Config(), snap=model.space.snap)
    bound = gain.bound(_CONFIDENCE)
    if bound == float("inf"):
        return "The model cannot say yet how much is still to be gained."
    return f"With a chance of {_CONFIDENCE:.0%}, no more than {show(bound)} is still to be gained in this box."


def with_estimates(hints: Sequence[Hint], model: StudyModel | None) -> list[Hint]:
    """The hints, with what the model believes a wider range would gain."""
    if model is None or len(model.surrogate.objectives) > 1:
        return list(hints)
    faces = [(hint.parameter, hint.side) for hint in hints if hint.parameter in model.space.parameters]
    gains = gains_beyond(model.study_data.data, model.space, Config(), faces=faces)
    said = {(gain.parameter, gain.side): describe_gain(gain) for gain in gains}
    return [replace(hint, estimate=_sentence(said.get((hint.parameter, hint.side), ""))) for hint in hints]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}." if text else ""

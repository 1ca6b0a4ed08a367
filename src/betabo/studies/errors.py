"""The errors of a study, each with one line that a person can act on."""

from __future__ import annotations

from betabo.visible import visible


class StudyError(ValueError):
    """Something about the study is wrong; the message says what, with the value, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class ObjectiveError(StudyError):
    """The objective itself is broken, whatever the parameters: it stops the study."""


class EvaluationFailedError(Exception):
    """The objective failed at these parameters; the message is the reason. The study goes on elsewhere."""

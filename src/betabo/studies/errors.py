"""The errors of a study, each with one line that a person can act on."""

from __future__ import annotations

import shlex

from betabo.visible import visible


class StudyError(ValueError):
    """Something about the study is wrong; the message says what, with the value, and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message))


class DamagedStudyError(StudyError):
    """What the storage has of a study is not what a study has to be.

    Args:
        study: Name of the study.
        what: What is wrong, without a full stop.
    """

    def __init__(self, study: str, what: str) -> None:
        self.what = visible(what.rstrip("."))
        super().__init__(
            f"study {study!r} is damaged: {self.what}; put a copy of its storage back, or delete it: betabo delete "
            f"{shlex.quote(study)}"
        )


class TooManyFailedTrialsError(StudyError):
    """So many trials failed in a row that going on makes no sense; everything is stored."""


class ObjectiveError(StudyError):
    """The objective itself is broken, whatever the parameters: it stops the study."""


class EvaluationFailedError(Exception):
    """The objective failed at these parameters; the message is the reason. The study goes on elsewhere."""

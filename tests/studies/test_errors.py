"""The errors of a study, each one line."""

from __future__ import annotations

from betabo.studies import StudyError


def test_control_characters_are_seen_and_not_obeyed() -> None:
    assert str(StudyError("no study \x1b[2J")) == "no study ␛[2J"

"""The order of the tutorials, which is not that of their names."""

from __future__ import annotations

TUTORIALS = ("first_search", "your_own_program", "constraints_and_two_goals", "many_machines", "compress_a_model")


class TutorialOrder:
    """Where a script stands; one that is not listed comes last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> int:
        """The place of a script, by the name of its file."""
        stem = name.removesuffix(".py")
        return TUTORIALS.index(stem) if stem in TUTORIALS else len(TUTORIALS)

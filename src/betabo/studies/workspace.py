"""Where a trial may leave what is no value of it: its log, its folder, its notes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import MappingProxyType
from typing import Any

from betabo.files import private_folder


@dataclass(frozen=True)
class Workspace:
    """The files and the notes of one trial.

    Attributes:
        trial: Number of the trial.
        log: File for what the objective prints.
        folder: Folder for what it writes; `make_folder` creates it.
    """

    trial: int
    log: Path
    folder: Path
    _notes: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(cls, home: Path, trial: int) -> Workspace:
        """The files of a trial in the folder `home` of its study."""
        return cls(trial, home / f"trial-{trial:05d}.log", home / f"trial-{trial:05d}")

    def clear(self) -> None:
        """Move a log and a folder away that are there already, as after a copy of the storage was put back.

        What they hold belongs to another evaluation: `trial-00012` becomes `trial-00012.old-1`.
        """
        for path in (self.log, self.folder):
            if path.exists():
                free = next(old for n in count(1) if not (old := path.with_name(f"{path.name}.old-{n}")).exists())
                path.rename(free)

    def make_folder(self) -> Path:
        """The folder, which exists afterwards, as an absolute path."""
        private_folder(self.folder.parent)
        self.folder.mkdir(exist_ok=True)
        return self.folder.absolute()

    def note(self, name: str, value: Any) -> None:
        """Note something about the trial, of plain JSON types; it is stored with the trial as a user attribute."""
        if not isinstance(name, str) or not name:
            raise TypeError(f"the name of a note is {name!r}, expected some text.")
        json.dumps(value)  # raises a TypeError here, where the value comes from
        self._notes[name] = value

    @property
    def notes(self) -> Mapping[str, Any]:
        """What was noted, by name."""
        return MappingProxyType(self._notes)

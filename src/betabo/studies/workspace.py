"""Where a trial may leave files: its log and its folder."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Workspace:
    """The files of one trial.

    Attributes:
        trial: Number of the trial.
        log: File for what the objective prints.
        folder: Folder for what it writes; `make_folder` creates it.
    """

    trial: int
    log: Path
    folder: Path

    @classmethod
    def of(cls, logs: Path, study: str, trial: int) -> Workspace:
        """The files of a trial below the folder `logs`, in a folder with the study's name."""
        home = study_folder(logs, study)
        return cls(trial, home / f"trial-{trial:05d}.log", home / f"trial-{trial:05d}")

    def make_folder(self) -> Path:
        """The folder, which exists afterwards, as an absolute path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder.absolute()


def study_folder(logs: Path, study: str) -> Path:
    """The folder of a study's logs: its name, with what no file name should have replaced by `_`."""
    return logs / re.sub(r"[^\w.-]|^\.+", "_", study)

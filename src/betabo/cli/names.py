"""Names that the command line makes up: of a study, of a file."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePath

from betabo.files import cut_name


def study_of_function(reference: str) -> str:
    """The default study of an objective: `path/train.py:objective` is studied as `train-objective`."""
    module, _, function = reference.rpartition(":")
    path = PurePath(module.replace("\\", "/"))
    stem = path.stem if path.suffix == ".py" else module.rpartition(".")[2]
    return _slug(f"{stem}-{function}")


def study_of_command(template: str) -> str:
    """The default study of a program: `python train.py --lr {lr}` is studied as `train`."""
    try:
        words = shlex.split(template)
    except ValueError:  # the template's own check says what is wrong with it
        words = template.split()
    scripts = [word for word in words if PurePath(word).suffix in (".py", ".sh", ".r", ".R", ".jl", ".pl")]
    return _slug(PurePath((scripts or words or ["study"])[0]).stem)


def file_name(study: str, suffix: str) -> str:
    """A file in the current folder for what is written about a study."""
    return cut_name(_slug(study)) + suffix


def _slug(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text).strip("-.") or "study"

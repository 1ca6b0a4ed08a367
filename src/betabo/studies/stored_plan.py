"""The plan as it is stored with its study."""

from __future__ import annotations

import getpass
import hashlib
import platform
import re
import secrets
from pathlib import Path
from typing import Any

from optuna.study import Study, StudyDirection

from betabo.files import cut_name
from betabo.optuna.attributes import PLAN
from betabo.problem import Problem
from betabo.schema import anything, listing, maybe, record, shortened, table, text, whole
from betabo.space import Space
from betabo.studies.errors import DamagedStudyError

_PLAN = record(
    {"space": anything, "objective": table(anything), "config": table(anything)},  # a space sees to itself
    {"trials": whole(1), "directions": listing(text), "seed": maybe(whole())},
    others=anything,
)

IDENTITY = "betabo:identity"
ACCEPTED = "betabo:accepted"


def stored_plan(study: Study) -> dict[str, Any] | None:
    """The plan of a study without the storage's address; None if it was not opened by `open_study`.

    Raises:
        DamagedStudyError: It is no plan, or the study has no directions.
    """
    for direction in study.directions or [StudyDirection.NOT_SET]:
        if direction == StudyDirection.NOT_SET:
            raise DamagedStudyError(study.study_name, "an objective has no direction, expected minimize or maximize")
    stored: dict[str, Any] | None = study.user_attrs.get(PLAN)
    if stored is not None:
        try:
            _PLAN(stored, PLAN)
            Space.from_json(stored["space"])
        except (TypeError, ValueError) as error:
            raise DamagedStudyError(study.study_name, shortened(str(error))) from error
    return stored


def study_space(study: Study) -> Space | None:
    """The search space of a study; None if it was not opened by `open_study`.

    Raises:
        DamagedStudyError: Its plan is no plan.
    """
    stored = stored_plan(study)
    return None if stored is None else Space.from_json(stored["space"])


def study_problem(study: Study) -> Problem | None:
    """The problem of a study without its points; None if it was not opened by `open_study`.

    Raises:
        DamagedStudyError: Its plan is no plan.
    """
    stored = stored_plan(study)
    if stored is None:
        return None
    try:
        return Problem.from_json(Space.from_json(stored["space"]), stored.get("problem", {}))
    except (TypeError, ValueError) as error:
        raise DamagedStudyError(study.study_name, shortened(str(error))) from error


def ensure_identity(study: Study) -> None:
    """Give a study something that tells it from every other one, if it has nothing yet."""
    if IDENTITY not in study.user_attrs:
        study.set_user_attr(IDENTITY, secrets.token_hex(16))


def study_folder(logs: Path, study: Study, place: str) -> Path:
    """The folder of a study's logs, which no other study has.

    Its name is the study's, with what no file name should have replaced by `_`, and a digest of the name, of the
    identity that `ensure_identity` gave it, and of the place of its storage: neither a study of the same name in
    another storage, nor one in a copy of this storage elsewhere, has the same folder.
    """
    parts = "\0".join((place, study.study_name, str(study.user_attrs.get(IDENTITY))))
    readable = re.sub(r"[^\w.-]|^\.+", "_", study.study_name)
    return logs / f"{cut_name(readable)}-{hashlib.sha256(parts.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def is_from_here(study: Study) -> bool:
    """Whether this user on this machine has made the study, or accepted it."""
    known = study.user_attrs.get(ACCEPTED)
    return isinstance(known, list) and _here() in known


def accept_here(study: Study) -> None:
    """Note that this user on this machine made the study, or knows what its objective is."""
    known = study.user_attrs.get(ACCEPTED)
    if not is_from_here(study):
        study.set_user_attr(ACCEPTED, [*(known if isinstance(known, list) else []), _here()])


def _here() -> dict[str, str]:
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # a user id without a name, as in some containers
        user = ""
    return {"host": platform.node(), "user": user}

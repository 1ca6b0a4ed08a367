"""Studies as a whole: delete one, give it another name, forget one that never began."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from betabo.studies.database_errors import with_patience
from betabo.studies.errors import DamagedStudyError, StudyError
from betabo.studies.storage import DEFAULT_STORAGE, load_study, open_storage, storage_place
from betabo.studies.stored_plan import study_folder

if TYPE_CHECKING:
    from optuna.study import Study


def delete_study(name: str, url: str = DEFAULT_STORAGE) -> None:
    """Delete a study, also a damaged one, with all its trials. The logs and files of its trials stay where they are.

    Raises:
        StudyError: There is no such study, or a worker runs a trial of it.
    """
    storage = open_storage(url, must_exist=True)
    try:
        study = load_study(name, url)
        check_idle(study, "deleted")
        study._storage.delete_study(study._study_id)
    except DamagedStudyError:  # of which nobody knows whether it runs; no worker goes on with it
        storage.erase_study(name)


def rename_study(name: str, new: str, url: str = DEFAULT_STORAGE, logs: Path = Path("betabo-logs")) -> None:
    """Give a study another name.

    Args:
        name: The name that it has.
        new: The name that it gets.
        url: Address of the storage.
        logs: Folder of the logs; those of the study move with it.

    Raises:
        StudyError: There is no such study, there is one of the new name already, or a worker runs a trial of it.
    """
    from sqlalchemy import text
    from sqlalchemy.exc import IntegrityError

    if not new.strip():
        raise StudyError(f"the study's new name is {new!r}, expected some text.")
    study = load_study(name, url)
    check_idle(study, "renamed")
    engine = open_storage(url, must_exist=True).engine
    place = storage_place(url)
    before = study_folder(logs, study, place)

    def change() -> None:
        with engine.begin() as connection:  # Optuna has no way to rename a study
            statement = text("UPDATE studies SET study_name = :new WHERE study_name = :old")
            connection.execute(statement, {"new": new, "old": name})

    try:
        with_patience(change, url)
    except StudyError as error:
        if not isinstance(error.__cause__, IntegrityError):
            raise
        raise StudyError(f"there is a study {new!r} already; choose another name, or delete that first.") from error
    after = study_folder(logs, load_study(new, url), place)
    if before.is_dir() and not after.exists():
        before.rename(after)


def forget_if_empty(study: Study) -> bool:
    """Delete a study if none of its trials ever began, so that a mistake leaves nothing behind.

    Returns:
        Whether it was deleted.
    """
    from betabo.optuna.trials import state_of

    if any(state_of(trial) != "withdrawn" for trial in study.get_trials(deepcopy=False)):
        return False
    study._storage.delete_study(study._study_id)
    return True


def check_idle(study: Study, done: str) -> None:
    """Refuse a study of which a worker runs a trial."""
    from betabo.optuna.trials import read_trials

    running = [trial for trial in read_trials(study) if trial.state == "running"]
    if running:
        numbers = ", ".join(str(trial.number) for trial in running[:5])
        worker = running[0].worker or "a program that uses Optuna"
        raise StudyError(
            f"study {study.study_name!r} cannot be {done} while {worker} runs trial {numbers} of it; "
            "stop that first, or wait until it has ended."
        )

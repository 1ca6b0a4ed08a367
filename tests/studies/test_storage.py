from __future__ import annotations

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from betabo.studies import StudyError, list_studies, load_study, open_storage
from betabo.studies.database_errors import with_patience
from betabo.studies.storage import study_names

URL = "sqlite:///studies.db"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    optuna.logging.set_verbosity(optuna.logging.WARNING)


def make_study(name: str = "tuning", **settings: Any) -> optuna.Study:
    return optuna.create_study(study_name=name, storage=open_storage(URL), **settings)


def test_a_file_is_created_and_found_again() -> None:
    make_study()
    assert load_study("tuning", URL).study_name == "tuning"
    assert study_names(URL) == ["tuning"]


def test_a_new_file_is_the_users_alone_and_one_that_is_there_stays() -> None:
    open_storage(URL)
    file = Path("studies.db")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.chmod(0o644)
    open_storage(URL)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_close_names_are_suggested() -> None:
    for name in ("tuning", "other"):
        make_study(name)
    with pytest.raises(StudyError, match=r"no study 'tunign'. Did you mean 'tuning'\?"):
        load_study("tunign", URL)
    with pytest.raises(StudyError, match="the storage has other, tuning"):
        load_study("xyz", URL)


def test_an_empty_storage_says_so() -> None:
    open_storage(URL)
    with pytest.raises(StudyError, match="has none yet"):
        load_study("x", URL)


def test_studies_are_listed_with_what_matters() -> None:
    study = make_study(direction="maximize")
    for value in (1.0, 3.0, 2.0):
        study.add_trial(optuna.create_trial(value=value))
    study.add_trial(optuna.create_trial(state=TrialState.FAIL))
    study.add_trial(optuna.create_trial(state=TrialState.FAIL, system_attrs={"betabo:withdrawn": "enough"}))
    study.enqueue_trial({"x": 1})
    make_study("empty", directions=["minimize", "maximize"])
    empty, full = list_studies(URL)
    assert (full.name, full.directions, full.trials, full.best) == ("tuning", ("maximize",), 4, 3.0)
    assert full.states == {"complete": 3, "failed": 1, "waiting": 1}
    assert full.created is not None
    assert full.last is not None
    assert full.created <= full.last
    assert (empty.directions, empty.trials, empty.best, empty.last) == (("minimize", "maximize"), 0, None, None)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("studies.db", "did you mean sqlite:///studies.db"),
        ("", "expected sqlite:///FILE"),
        ("sqlite://", "names no file"),
        ("sqlite:///:memory:", "in memory"),
        ("sqlite:///folder", "is a folder"),
        ("sqlite:///no/such/studies.db", "folder of the storage .* does not exist"),
        ("sqlite:///text.db", "text.db is damaged or no SQLite file"),
        ("sqlite:///foreign.db", "database of another program"),
        ("oracle:///x", "needs a driver that is not installed|unknown kind"),
        ("nonsense://x/y", "unknown kind"),
        ("postgresql://u:{pw}@h/d", "has a brace"),
    ],
)
def test_a_storage_that_cannot_be_is_explained(url: str, message: str) -> None:
    Path("folder").mkdir()
    Path("text.db").write_text("this is no database " * 100, encoding="utf-8")
    with sqlite3.connect("foreign.db") as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    before = Path("foreign.db").read_bytes()
    with pytest.raises(StudyError, match=message) as caught:
        open_storage(url)
    assert "\n" not in str(caught.value)
    assert Path("foreign.db").read_bytes() == before


def test_a_missing_file_is_not_created_when_it_must_exist() -> None:
    with pytest.raises(StudyError, match=r"there is no storage studies.db"):
        list_studies(URL)
    assert not Path("studies.db").exists()


def test_a_damaged_page_is_explained() -> None:
    study = make_study()
    for value in range(5):
        study.add_trial(optuna.create_trial(value=float(value), user_attrs={"text": "x" * 30_000}))
    data = bytearray(Path("studies.db").read_bytes())
    data[4096 * 4 :] = b"\xff" * (len(data) - 4096 * 4)
    Path("studies.db").write_bytes(data)
    with pytest.raises(StudyError, match=r"studies.db (cannot be used|is damaged)"):
        list_studies(URL)


def test_a_storage_of_a_newer_optuna_is_explained() -> None:
    make_study()
    with sqlite3.connect("studies.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'v99.0.0.a'")
    connection.close()
    with pytest.raises(StudyError, match="another version of Optuna"):
        open_storage(URL)


def test_a_password_is_never_shown() -> None:
    url = "postgresql://ann:s3cr3t@127.0.0.1:1/studies"
    with pytest.raises(StudyError, match=r"postgresql://ann:\*\*\*@127.0.0.1:1/studies cannot be used") as caught:
        open_storage(url)
    assert "s3cr3t" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_password_in_a_broken_address_is_not_shown_either() -> None:
    with pytest.raises(StudyError) as caught:
        open_storage("postgresql:/ann:s3cr3t@host")
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize("host", ["a" * 70 + ".org", "host\x9d.org"])
def test_a_host_that_cannot_be_one_is_explained(host: str) -> None:
    with pytest.raises(StudyError, match=r"the host of the storage .* cannot be one") as caught:
        open_storage(f"postgresql://ann:s3cr3t@{host}/studies")
    assert "s3cr3t" not in str(caught.value)


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(StudyError, match=r"pip install 'betabo\[postgres\]'"):
        open_storage("postgresql://localhost/studies")


def as_nobody(action: Callable[[], object]) -> str:
    """What an action returns, or says when it fails, in a process that may not write everywhere."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setuid(65534)
            said = str(action())
        except StudyError as error:
            said = f"error: {error}"
        except BaseException as error:
            said = repr(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[None]:
    """The working directory with a study, where only the superuser can write."""
    make_study()
    list_studies(URL)  # loads what the other process may have no right to load
    os.chmod("studies.db", 0o444)
    folders = [folder for folder in (tmp_path, *tmp_path.parents) if folder.stat().st_uid == os.getuid()]
    modes = {folder: folder.stat().st_mode for folder in folders if len(folder.parts) > 2}
    for folder, mode in modes.items():
        os.chmod(folder, mode | 0o055)
    os.chmod(tmp_path, 0o555)
    yield
    for folder, mode in modes.items():
        os.chmod(folder, mode)


@pytest.mark.usefixtures("read_only")
def test_a_storage_that_may_not_be_written_can_be_read() -> None:
    assert as_nobody(lambda: list_studies(URL)[0].name) == "tuning"


@pytest.mark.usefixtures("read_only")
def test_a_folder_that_may_not_be_written_is_explained() -> None:
    said = as_nobody(lambda: open_storage("sqlite:///new.db"))
    assert said.startswith("error: the storage new.db cannot be created: the folder")


@pytest.mark.usefixtures("read_only")
def test_a_file_that_may_not_be_written_is_explained() -> None:
    said = as_nobody(lambda: with_patience(lambda: load_study("tuning", URL).set_user_attr("a", 1), URL))
    assert "readonly database; make the file and its folder writable" in said


def test_two_that_take_the_same_trial_from_the_queue_never_both_get_it() -> None:
    study = make_study()
    count = 10
    for _ in range(count):
        study.enqueue_trial({"x": 1})
    taken: list[int] = []
    barrier = threading.Barrier(4)

    def take() -> None:
        storage = open_storage(URL)
        study_id = storage.get_study_id_from_name("tuning")
        barrier.wait()
        for trial in storage.get_all_trials(study_id):
            try:
                if storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING):
                    taken.append(trial.number)
            finally:
                storage.remove_session()

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(count))


def test_nothing_stored_is_a_pickle(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a storage was unpickled")

    study = make_study()
    study.set_user_attr("a", {"b": [1, 2]})
    study.add_trial(optuna.create_trial(value=1.0, user_attrs={"c": "d"}, system_attrs={"e": 1}))
    for name in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(f"pickle.{name}", refuse)
    assert load_study("tuning", URL).trials[0].user_attrs == {"c": "d"}
    with sqlite3.connect("studies.db") as connection:
        tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        kinds = {column[2].upper() for table in tables for column in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    assert not any("BLOB" in kind or "BINARY" in kind for kind in kinds)

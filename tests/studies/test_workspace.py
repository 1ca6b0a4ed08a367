"""What a trial may leave: its log, its folder, its notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from betabo.studies import Workspace
from betabo.studies.workspace import study_folder


def test_folders_have_harmless_names() -> None:
    assert Workspace.of(Path("logs"), "../a b/c", 3).log == Path("logs/__a_b_c/trial-00003.log")


@pytest.mark.parametrize(("name", "value"), [("", 1), (None, 1), ("path", Path("a")), ("set", {1})])
def test_a_note_is_plain_json(name: Any, value: Any) -> None:
    workspace = Workspace.of(Path("logs"), "test", 0)
    with pytest.raises(TypeError):
        workspace.note(name, value)
    assert workspace.notes == {}


def test_notes_are_kept_by_name() -> None:
    workspace = Workspace.of(Path("logs"), "test", 0)
    workspace.note("size", 1)
    workspace.note("size", 2)
    workspace.note("parts", [1, {"a": None}])
    assert workspace.notes == {"size": 2, "parts": [1, {"a": None}]}
    with pytest.raises(TypeError):
        workspace.notes["size"] = 3  # type: ignore[index]


def test_the_folder_of_a_trial_exists_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = Workspace.of(Path("logs"), "test", 3)
    assert not workspace.folder.exists()
    assert workspace.make_folder() == tmp_path / "logs" / "test" / "trial-00003"
    assert workspace.make_folder().is_dir()  # a second time too


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a b"])
def test_a_study_has_a_folder_below_the_logs(name: str) -> None:
    assert study_folder(Path("logs"), name).parent == Path("logs")
    assert study_folder(Path("logs"), name).name not in ("", ".", "..")

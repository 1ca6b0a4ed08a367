"""What a trial may leave: its log, its folder, its notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from betabo.studies import Workspace


@pytest.mark.parametrize(("name", "value"), [("", 1), (None, 1), ("path", Path("a")), ("set", {1})])
def test_a_note_is_plain_json(name: Any, value: Any) -> None:
    workspace = Workspace.of(Path("logs/test"), 0)
    with pytest.raises(TypeError):
        workspace.note(name, value)
    assert workspace.notes == {}


def test_notes_are_kept_by_name() -> None:
    workspace = Workspace.of(Path("logs/test"), 0)
    workspace.note("size", 1)
    workspace.note("size", 2)
    workspace.note("parts", [1, {"a": None}])
    assert workspace.notes == {"size": 2, "parts": [1, {"a": None}]}
    with pytest.raises(TypeError):
        workspace.notes["size"] = 3  # type: ignore[index]


def test_the_folder_of_a_trial_exists_when_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    workspace = Workspace.of(Path("logs/test"), 3)
    assert not workspace.folder.exists()
    assert workspace.make_folder() == tmp_path / "logs" / "test" / "trial-00003"
    assert workspace.make_folder().is_dir()  # a second time too


def test_what_another_evaluation_left_is_moved_away(tmp_path: Path) -> None:
    workspace = Workspace.of(tmp_path, 3)
    for _ in range(2):
        (workspace.make_folder() / "model").touch()
        workspace.log.write_text("said")
        workspace.clear()
        assert not workspace.log.exists()
        assert not list(workspace.make_folder().iterdir())
    assert (tmp_path / "trial-00003.old-1" / "model").exists()
    assert (tmp_path / "trial-00003.old-2" / "model").exists()
    assert (tmp_path / "trial-00003.log.old-2").read_text() == "said"

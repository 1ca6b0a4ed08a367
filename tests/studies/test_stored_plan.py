"""The plan as it is stored with its study."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest

from betabo.studies import Plan, open_study
from betabo.studies.plan import logs_of
from betabo.studies.stored_plan import ACCEPTED, accept_here, is_from_here, stored_plan, study_space


def test_a_plan_is_found_with_its_study(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan(trials=7)
    study = open_study(plan)
    stored = stored_plan(study)
    assert stored is not None
    assert Plan.from_json({**stored, "study": plan.study}) == plan
    assert study_space(study) == plan.space


def test_a_study_of_optunas_has_none() -> None:
    study = optuna.create_study()
    assert stored_plan(study) is None
    assert study_space(study) is None


def test_studies_have_folders_of_their_own(make_plan: Callable[..., Plan]) -> None:
    plans = [make_plan(study=name) for name in ("s/t", "s_t")] + [make_plan(study="s_t", storage="sqlite:///other.db")]
    folders = [logs_of(plan, open_study(plan)) for plan in plans]
    assert len(set(folders)) == 3
    assert all(folder.parent == Path("betabo-logs") and folder.name.startswith("s_t-") for folder in folders)


def test_a_copy_of_a_storage_and_a_study_made_anew_have_other_folders(make_plan: Callable[..., Plan]) -> None:
    plan = make_plan()
    folders = [logs_of(plan, open_study(plan))]
    assert logs_of(plan, open_study(plan)) == folders[0]
    shutil.copy("betabo.db", "copy.db")
    folders.append(logs_of(copy := make_plan(storage="sqlite:///copy.db"), open_study(copy)))
    Path("betabo.db").unlink()
    folders.append(logs_of(plan, open_study(plan)))
    assert len(set(folders)) == 3


@pytest.mark.parametrize("name", ["..", ".", "a/b", "a b", "../a", "x" * 300, "\u7814" * 100])
def test_a_folder_has_a_harmless_name(make_plan: Callable[..., Plan], name: str) -> None:
    plan = make_plan(study=name)
    folder = logs_of(plan, open_study(plan))
    assert folder.parent == Path("betabo-logs")
    assert not folder.name.startswith(".")
    assert len(folder.name) < 120
    folder.mkdir(parents=True)


def test_a_study_is_accepted_once(make_plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(make_plan())
    assert is_from_here(study)
    monkeypatch.setattr("platform.node", lambda: "elsewhere")
    assert not is_from_here(study)
    accept_here(study)
    accept_here(study)
    assert is_from_here(study)
    assert len(study.user_attrs[ACCEPTED]) == 2

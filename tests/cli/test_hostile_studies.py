"""What commands make of studies that are damaged or forged: one line each, and no harm to the others."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

import pytest

from betabo.optimizer import Config
from betabo.studies import (
    FunctionObjective,
    list_studies,
    load_study,
    parse_parameters,
    run_worker,
    study_names,
    trial_rows,
)
from betabo.studies.plan import Plan
from cli.command_case import SPACE, Betabo, one_line
from hostile_studies import DAMAGES, STUDY, damage, damage_at_random

_LOOKS = (
    ("show", STUDY),
    ("show", STUDY, "--json"),
    ("best", STUDY),
    ("export", STUDY, "--to", "csv", "--out", "-"),
    ("report", STUDY, "--out", "report.html"),
)
_RESUME = ("minimize", "train.py:deep", *SPACE, "--study", STUDY, "--trials", "8", "--plain")


@pytest.fixture(scope="session")
def whole_storage(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A storage with two studies, whose last trials a model proposed."""
    home = tmp_path_factory.mktemp("whole")
    (home / "train.py").write_text("def deep(x, layers, act):\n    return 8 - layers + x / 100\n")
    storage = home / "betabo.db"
    for name in ("other", STUDY):
        run_worker(
            Plan(
                study=name,
                space=parse_parameters(["x=0..1", "layers=1..8:int", "act=relu|gelu"]),
                objective=FunctionObjective(f"{home / 'train.py'}:deep"),
                trials=5,
                storage=f"sqlite:///{storage}",
                config=Config(starting_points=3),
                seed=0,
                logs=home / "logs",
            )
        )
    return storage


def check_one_line(message: str) -> None:
    assert message.isprintable(), message
    assert ": )" not in message, message
    assert message.startswith(f"study '{STUDY}' is damaged: "), message
    assert len(message) < 700, message


def seen(betabo: Betabo) -> str:
    """What `betabo studies` says about the damaged study, once it has shown the other one."""
    listed = betabo("studies")
    assert listed.exit_code == 0
    rows = {line.split()[0]: line for line in listed.stdout.splitlines() if line.strip()}
    assert "5 complete" in rows["other"]
    return listed.stderr.removeprefix("warning: ").rstrip("\n")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_study_is_one_line_and_the_other_is_shown(
    betabo: Betabo, tmp_path: Path, whole_storage: Path, name: str
) -> None:
    shutil.copy(whole_storage, tmp_path / "betabo.db")
    damage(tmp_path / "betabo.db", DAMAGES[name])
    check_one_line(seen(betabo))
    check_one_line(one_line(betabo("show", STUDY)))
    check_one_line(one_line(betabo(*_RESUME)))
    assert "is damaged" in one_line(betabo("delete", STUDY))
    assert betabo("delete", STUDY, "--yes").exit_code == 0
    assert study_names() == ["other"]
    assert len(trial_rows(load_study("other"))) == 5


@pytest.mark.parametrize("command", _LOOKS, ids=" ".join)
def test_every_command_says_it_on_one_line(
    betabo: Betabo, tmp_path: Path, whole_storage: Path, command: tuple[str, ...]
) -> None:
    for name in ("plan_is_a_number", "step_is_a_number", "number_is_null"):
        shutil.copy(whole_storage, tmp_path / "betabo.db")
        damage(tmp_path / "betabo.db", DAMAGES[name])
        check_one_line(one_line(betabo(*command)))


def test_the_name_of_a_damaged_study_is_free_when_it_is_deleted(
    betabo: Betabo, tmp_path: Path, whole_storage: Path
) -> None:
    shutil.copy(whole_storage, tmp_path / "betabo.db")
    damage(tmp_path / "betabo.db", DAMAGES["state_is_unknown"])
    assert betabo("delete", STUDY, "--yes").exit_code == 0
    assert betabo(*_RESUME).exit_code == 0
    assert [info.trials for info in list_studies()] == [5, 8]


def attack(betabo: Betabo, tmp_path: Path, whole_storage: Path, seed: int) -> bool:
    """Change one cell of a study; whether it is refused. What is not refused can be shown and goes on."""
    shutil.copy(whole_storage, tmp_path / "betabo.db")
    done = damage_at_random(tmp_path / "betabo.db", seed)
    try:
        refused = seen(betabo)
        if refused:
            check_one_line(refused)
            check_one_line(one_line(betabo("show", STUDY)))
            check_one_line(one_line(betabo(*_RESUME)))
            return True
        for command in _LOOKS:
            assert betabo(*command).exit_code == 0, command
        went_on = betabo(*_RESUME)
        if went_on.exit_code:  # another space, another direction, or nothing left of its trials
            assert STUDY in one_line(went_on)
        assert json.loads(betabo("studies", "--json").stdout)[0]["trials"] == 5
    except BaseException as error:
        error.add_note(f"seed {seed}: {done}")
        raise
    return False


def test_random_damage_is_refused_or_does_no_harm(betabo: Betabo, tmp_path: Path, whole_storage: Path) -> None:
    refused = [attack(betabo, tmp_path, whole_storage, seed) for seed in range(6)]
    assert 0 < sum(refused) < len(refused)


@pytest.mark.slow
def test_much_random_damage_is_refused_or_does_no_harm(betabo: Betabo, tmp_path: Path, whole_storage: Path) -> None:
    start, refused = time.monotonic(), []
    for seed in range(100, 220):
        refused.append(attack(betabo, tmp_path, whole_storage, seed))
        if time.monotonic() - start > 120:
            break
    assert len(refused) >= 10
    assert 0 < sum(refused) < len(refused)

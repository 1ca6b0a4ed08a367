from __future__ import annotations

from pathlib import Path

import pytest

from betabo.compress.data import DataError
from betabo.compress.tasks import TASKS, Task, TaskEntry, TextClassification, register_task, task_by_name


@pytest.mark.parametrize("name", sorted(TASKS))
def test_every_task_is_whole(name: str) -> None:
    task = task_by_name(name)
    assert isinstance(task, Task)
    assert task.name == name
    assert task.kind in ("image-classification", "text-classification", "question-answering", "language-modelling")
    assert task.metric in ("accuracy", "f1")
    assert TASKS[name].description.endswith(".")
    assert "\n" not in TASKS[name].description


def test_named_tasks_are_there() -> None:
    expected = {
        "cifar10",
        "imagenet-1k",
        "mrpc",
        "rte",
        "qnli",
        "sst2",
        "mnli",
        "squad",
        "wikitext2",
        "tinyshakespeare",
    }
    assert expected <= set(TASKS)


def test_options_change_fields() -> None:
    task = task_by_name("mrpc", max_length=32)
    assert isinstance(task, TextClassification)
    assert task.max_length == 32
    with pytest.raises(ValueError, match=r"'length' is no option of the task 'mrpc', expected some of .*max_length"):
        task_by_name("mrpc", length=3)


def test_an_unknown_name_gets_a_hint() -> None:
    with pytest.raises(ValueError, match="Did you mean 'mrpc'"):
        task_by_name("mrcp")


def test_names_are_checked() -> None:
    for name in ("mrpc", "No Name"):
        with pytest.raises(ValueError, match="name is"):
            register_task(TaskEntry(name, "A task.", TextClassification))


def test_a_task_without_dataset_asks_for_data() -> None:
    with pytest.raises(DataError, match="give a folder or file"):
        task_by_name("text-classification").load()


def test_a_task_of_the_hub_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(__import__("sys").modules, "datasets", None)
    with pytest.raises(DataError, match="nyu-mll/glue:mrpc"):
        task_by_name("mrpc").load()

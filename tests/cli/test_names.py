from __future__ import annotations

import pytest

from betabo.cli.names import file_name, study_of_command, study_of_function


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("train.py:objective", "train-objective"),
        ("some/where/train.py:objective", "train-objective"),
        ("package.module:objective", "module-objective"),
        ("package.module:Job.run", "module-Job.run"),
    ],
)
def test_study_of_a_function(reference: str, name: str) -> None:
    assert study_of_function(reference) == name


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("python train.py --lr {lr}", "train"),
        ("python -u 'my jobs/train.py' {lr}", "train"),
        ("./simulate {x}", "simulate"),
        ("/opt/bin/solver --input {x}", "solver"),
        ("echo 'open", "echo"),
        ("", "study"),
    ],
)
def test_study_of_a_program(template: str, name: str) -> None:
    assert study_of_command(template) == name


def test_files_stay_in_the_folder() -> None:
    assert file_name("../../etc/passwd", ".html") == "etc-passwd.html"
    assert file_name("a study: 1", ".csv") == "a-study-1.csv"
    assert file_name("...", ".csv") == "study.csv"
    assert file_name("n" * 512, ".csv") == "n" * 100 + ".csv"

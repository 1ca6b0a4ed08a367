from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from betabo.cli.reproduce import app
from betabo.lab.reproduce import REPRODUCTIONS
from lab.reproduce.case import campaigns_of, do


def test_list_names_every_reproduction() -> None:
    result = CliRunner().invoke(app, ["list"])
    assert result.exit_code == 0
    for name in REPRODUCTIONS:
        assert name in result.output


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_help_has_an_example(name: str) -> None:
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert f"betabo reproduce {name} --scale smoke" in " ".join(result.output.split())


def test_run_prints_estimate_verdicts_and_folder(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["diagonal-bound", "--scale", "smoke", "--out", str(tmp_path)])
    assert result.exit_code == 0
    first, *claims, last = result.output.splitlines()
    assert first == "diagonal-bound, scale smoke: about 10.0s on two cores"
    assert any("does not hold" in claim for claim in claims)
    assert last == f"files: {tmp_path / 'diagonal-bound'}"
    assert (tmp_path / "diagonal-bound/reproduction.json").is_file()


def test_folder_that_cannot_be_written_is_one_line_and_exit_code_two(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    result = CliRunner().invoke(app, ["diagonal-bound", "--scale", "smoke", "--out", str(file)])
    assert result.exit_code == 2
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1


def test_settings_of_placements_are_a_reproduction_of_their_own(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("placements-settings", "smoke")
    do(campaign, tmp_path / "placements-settings/runs/smoke")
    arguments = ["placements", "--settings", "--scale", "smoke", "--out", str(tmp_path), "--finished"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    first, *claims, last = result.output.splitlines()
    assert any("RBF is the best of its starting points" in claim for claim in claims)
    assert first.startswith("under plain maximum likelihood")
    assert first.endswith("16 of 16 searches:")
    assert last == f"files: {tmp_path / 'placements-settings'}"


def test_unknown_name_and_scale_are_refused() -> None:
    assert CliRunner().invoke(app, ["levy99"]).exit_code == 2
    assert CliRunner().invoke(app, ["covariance", "--scale", "large"]).exit_code == 2


def test_listing_loads_nothing_heavy() -> None:
    program = "import betabo.cli.reproduce, sys; print({'torch', 'pandas', 'matplotlib'} & set(sys.modules))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "set()"

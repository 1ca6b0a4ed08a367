"""The script that checks the constants of the theory page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def theory() -> ModuleType:
    return load_example("theory")


@pytest.mark.parametrize("section", ["validity", "diagonal", "limits", "matmul", "spectra", "regret"])
def test_quick_checks_hold(theory: ModuleType, section: str) -> None:
    rows = list(getattr(theory, section)(True))
    assert rows
    assert [row.claim for row in rows if not row.holds] == []


def test_every_section_is_run(theory: ModuleType) -> None:
    sections = [section.__name__ for section in theory.SECTIONS]
    assert sections == ["validity", "diagonal", "limits", "matmul", "spectra", "regret"]


def test_a_failing_check_fails_the_script(
    theory: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        theory.Row(1, "true", 1.0, 2.0),
        theory.Row(1, "false", 2.0, 1.0),
        theory.Row(1, "neither", float("nan"), 1.0),
    ]
    monkeypatch.setattr(theory, "SECTIONS", (lambda quick: iter(rows),))
    monkeypatch.setattr(sys, "argv", ["theory.py"])
    assert theory.main() == 1
    assert "1 of 3 checks hold" in capsys.readouterr().out


def test_a_wrong_rate_would_be_noticed(theory: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = theory.bounds.coordinate_spectrum_range
    monkeypatch.setattr(theory.bounds, "coordinate_spectrum_range", lambda h, n: exact(1.5 * h, n))
    failed = [row.claim for row in theory.spectra(True) if not row.holds]
    assert any("strip bound" in claim for claim in failed)


@pytest.mark.slow
def test_whole_script_passes_and_draws(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "theory.py"), "--images", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert result.returncode == 0, result.stdout
    page = (EXAMPLES.parent / "docs" / "theory.md").read_text(encoding="utf-8")
    count = result.stdout.strip().splitlines()[-1].split()[0]
    assert f"prints {count} comparisons" in page
    assert (tmp_path / "theory-spectrum.png").stat().st_size > 10_000
    assert (tmp_path / "theory-gain.png").stat().st_size > 10_000

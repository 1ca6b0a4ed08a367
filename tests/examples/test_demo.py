from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from example_case import EXAMPLES


@pytest.mark.slow
def test_demo_runs_and_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("sklearn", reason="the demo needs scikit-learn")

    def demo(trials: int) -> str:
        command = [sys.executable, str(EXAMPLES / "demo.py"), "--trials", str(trials)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "3 of 3 trials" in demo(3)
    second = demo(5)
    assert "it goes on after 3 trials" in second
    assert "5 of 5 trials; 2 of them now" in second
    assert "best value" in second
    assert (tmp_path / "out" / "demo.html").read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")

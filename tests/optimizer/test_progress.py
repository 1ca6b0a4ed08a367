"""The bar of a search on the terminal."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

from betabo import minimize

BOX = [(-5.0, 10.0), (0.0, 15.0)]
QUICK: dict[str, Any] = {"kernel": "rbf", "starting_points": 5, "seed": 0}


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def test_progress_is_shown_when_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    def objective(x: Any) -> float:
        return math.nan if x[0] > 5 else bowl(x)

    result = minimize(objective, BOX, budget=5, progress=True, **QUICK)
    shown = capsys.readouterr().out
    assert "minimizing" in shown
    assert "5/5" in shown
    assert f"best {result.fun:.6g}" in shown
    assert result.nfail > 0
    assert f"{result.nfail} failed" in shown


def test_nothing_is_shown_otherwise(capsys: pytest.CaptureFixture[str]) -> None:
    minimize(bowl, BOX, budget=3, **QUICK)
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_progress_needs_rich_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ImportError, match=r"progress=True needs rich: pip install 'betabo\[progress\]'"):
        minimize(bowl, BOX, budget=3, progress=True, **QUICK)

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from betabo.lab.reproduce import REPRODUCTIONS, Computation, Summary, reproduce
from betabo.lab.reproduce.entry import Claim


def test_bad_scale_and_workers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="scale is 'large', expected one of 'smoke'"):
        reproduce("covariance", scale="large", out=tmp_path)
    with pytest.raises(ValueError, match="workers is 0"):
        reproduce("covariance", workers=0, out=tmp_path)
    assert not list(tmp_path.iterdir())


def test_new_entry_is_one_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("made_up")
    module.summarize = lambda context: Summary((Claim("a", (True,), "b"),), {"workers": context.workers})
    monkeypatch.setitem(sys.modules, "betabo.lab.reproduce.made_up", module)
    monkeypatch.setitem(REPRODUCTIONS, "made-up", Computation("made-up", "An example", (1, 2)))
    assert reproduce("made-up", scale="paper", out=tmp_path, workers=3).figures == {"workers": 3}
    record = json.loads((tmp_path / "made-up/reproduction.json").read_text())
    assert record["command"] == "betabo reproduce made-up --scale paper"
    assert record["scale"] == "paper"
    assert record["claims"] == [{"claim": "a", "verdict": "holds", "evidence": "b"}]
    assert record["seconds"] >= 0
    assert set(record["versions"]) >= {"betabo", "torch", "python"}

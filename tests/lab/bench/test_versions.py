from __future__ import annotations

import platform

import pytest
import torch

from betabo.lab.bench import versions as module
from betabo.lab.bench.versions import versions


def test_versions_are_those_that_run() -> None:
    found = versions()
    assert found["python"] == platform.python_version()
    assert torch.__version__.startswith(found["torch"].partition("+")[0])
    assert "unknown" not in found.values()


def test_what_is_not_installed_is_unknown_and_a_peer_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PACKAGES", ("not-there",))
    monkeypatch.setattr(module, "PEERS", ("not-there-either",))
    assert versions() == {"python": platform.python_version(), "not-there": "unknown"}

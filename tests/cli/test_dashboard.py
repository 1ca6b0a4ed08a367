from __future__ import annotations

import socket
import sys

import optuna
import pytest

from cli.command_case import Betabo, one_line


def test_dashboard_serves_this_machine_alone(
    betabo: Betabo, tuned: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    dashboard = pytest.importorskip("optuna_dashboard", reason="the dashboard is not installed")
    served: list[tuple[object, str, int]] = []
    monkeypatch.setattr(
        dashboard, "run_server", lambda storage, host, port: served.append((storage.get_all_studies(), host, port))
    )
    result = betabo("dashboard", "--port", "8123")
    assert result.exit_code == 0
    assert "http://127.0.0.1:8123/" in result.stdout
    [(studies, host, port)] = served
    assert (host, port, len(studies)) == ("127.0.0.1", 8123, 2)


def test_missing_dashboard_names_the_extra(betabo: Betabo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna_dashboard", None)
    assert "pip install 'betabo[dashboard]'" in one_line(betabo("dashboard"))


def test_a_port_that_is_taken_is_named(betabo: Betabo, tuned: optuna.Study) -> None:
    pytest.importorskip("optuna_dashboard", reason="the dashboard is not installed")
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        result = betabo("dashboard", "--port", str(port))
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]  # after what the server says
    assert last.startswith(f"error: port {port} of 127.0.0.1 cannot be used: ")
    assert last.endswith("; choose another with --port.")

from __future__ import annotations

import http.client
import json
import socket
import sys
import threading
from wsgiref.simple_server import WSGIServer

import optuna
import pytest

from cli.command_case import Betabo, one_line


def test_dashboard_serves_this_machine_alone(
    betabo: Betabo, tuned: optuna.Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optuna_dashboard", reason="the dashboard is not installed")
    answers: list[tuple[int, int]] = []

    def visit(server: WSGIServer) -> None:
        address, port = server.server_address[:2]
        assert address == "127.0.0.1"
        for origin in (f"http://127.0.0.1:{port}", "http://evil.example"):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            threading.Thread(target=server.handle_request).start()
            connection.request("GET", "/api/studies", headers={"Origin": origin})
            answer = connection.getresponse()
            body = answer.read()
            answers.append((answer.status, len(json.loads(body)["study_summaries"]) if answer.status == 200 else 0))
            connection.close()

    monkeypatch.setattr(WSGIServer, "serve_forever", visit)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    result = betabo("dashboard", "--port", str(port))
    assert result.exit_code == 0
    assert f"http://127.0.0.1:{port}/" in result.stdout
    assert answers == [(200, 2), (403, 0)]


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
    last = result.stderr
    assert last.startswith(f"error: port {port} of 127.0.0.1 cannot be used: ")
    assert last.endswith("; choose another with --port.\n")

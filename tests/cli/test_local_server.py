"""What a browser may be made to send to this machine."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from betabo.cli.local_server import for_this_machine, serve


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def port(asked: list[str]) -> Iterator[int]:
    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        asked.append(environ["REQUEST_METHOD"])
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    with serve(app, 0) as server:
        server.set_app(for_this_machine(app, server.server_port))
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def status(port: int, method: str = "DELETE", **headers: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.putrequest(method, "/api/studies/1", skip_host="Host" in headers)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    code = connection.getresponse().status
    connection.close()
    return code


def test_its_own_pages_are_answered(port: int, asked: list[str]) -> None:
    assert status(port) == 200
    assert status(port, Origin=f"http://127.0.0.1:{port}") == 200
    assert status(port, Host=f"localhost:{port}", Origin=f"http://localhost:{port}") == 200
    assert status(port, "GET") == 200
    assert asked == ["DELETE", "DELETE", "DELETE", "GET"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Host": "evil.example:{port}"},
        {"Host": "evil.example"},
        {"Host": ""},
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["DELETE", "POST", "GET"])
def test_pages_of_others_are_not(port: int, asked: list[str], method: str, headers: dict[str, str]) -> None:
    assert status(port, method, **{name: value.format(port=port) for name, value in headers.items()}) == 403
    assert not asked

"""A web server for the user of this machine alone, whatever pages of others the user's browser has open."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any, TypeAlias
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

App: TypeAlias = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_HOSTS = ("127.0.0.1", "localhost")


def for_this_machine(app: App, port: int) -> App:
    """An application that answers only what its own pages ask.

    A page of another site may let the browser send requests to 127.0.0.1, such as one that deletes a study; its
    `Origin` gives it away. A name of another site that leads to 127.0.0.1 makes its pages look like ours; its `Host`
    gives it away.

    Args:
        app: A WSGI application.
        port: Port on 127.0.0.1.
    """
    hosts = {f"{host}:{port}" for host in _HOSTS} | ({*_HOSTS} if port == 80 else set())
    origins = {f"http://{host}" for host in hosts}

    def guarded(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        origin = environ.get("HTTP_ORIGIN")
        if environ.get("HTTP_HOST", "").lower() in hosts and (origin is None or origin.lower() in origins):
            return app(environ, start_response)
        said = f"This is for pages of http://127.0.0.1:{port}/ alone.\n".encode()
        start_response("403 Forbidden", [("Content-Type", "text/plain"), ("Content-Length", str(len(said)))])
        return [said]

    return guarded


def serve(app: App, port: int) -> WSGIServer:
    """A server on 127.0.0.1 with a thread for each request, for `with`; `serve_forever` runs it.

    Raises:
        OSError: The port cannot be used.
    """
    return make_server("127.0.0.1", port, app, server_class=_Threaded, handler_class=_Quiet)


class _Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing of what was asked."""

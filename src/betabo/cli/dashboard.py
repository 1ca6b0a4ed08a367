"""`betabo dashboard`: Optuna's dashboard on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from betabo.cli.errors import user_errors
from betabo.cli.options import DEFAULT_STORAGE, Storage
from betabo.extras import needs_extra


@user_errors
def dashboard(
    storage: Storage = DEFAULT_STORAGE,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port on 127.0.0.1.")] = 8080,
) -> None:
    """Watch the studies of a storage in the browser with Optuna's dashboard, which this machine alone can reach.

    Example: betabo dashboard --port 8081
    """
    with needs_extra("dashboard", "the dashboard needs optuna-dashboard"):
        from optuna_dashboard import wsgi
    from betabo.cli.local_server import for_this_machine, serve
    from betabo.studies.storage import open_storage

    opened = open_storage(storage, must_exist=True)
    try:
        with serve(for_this_machine(wsgi(opened.backend), port), port) as server:
            typer.echo(f"http://127.0.0.1:{port}/ (Ctrl-C stops)")
            server.serve_forever()
    except OSError as error:
        raise ValueError(
            f"port {port} of 127.0.0.1 cannot be used: {error.strerror}; choose another with --port."
        ) from error

"""What a database in trouble raises, in one line; and patience with it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from betabo.studies.errors import StudyError

T = TypeVar("T")

PATIENCE = 90.0  # seconds for which a storage in trouble is asked again


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn what a database raises into one line that says what is wrong with the storage at `url`."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        raise StudyError(_explain(error, url)) from error


def with_patience(
    action: Callable[[], T], url: str, on_trouble: Callable[[str], None] | None = None, patience: float | None = None
) -> T:
    """Do something with a storage, again and again while the storage is in trouble.

    Args:
        action: What to do. It must be harmless to repeat.
        url: The storage's address, for messages.
        on_trouble: Called with a line when the trouble begins.
        patience: Seconds after which to give up; None is `PATIENCE`.

    Raises:
        StudyError: The trouble did not pass.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    deadline = time.monotonic() + (PATIENCE if patience is None else patience)
    pause, reported = 0.1, False
    while True:
        try:
            return action()
        except (SQLAlchemyError, StorageInternalError) as error:
            if not _may_pass(error) or time.monotonic() > deadline:
                raise StudyError(_explain(error, url)) from error
            if not reported and on_trouble is not None:
                on_trouble(f"{_explain(error, url)} Trying again.")
                reported = True
        time.sleep(pause)
        pause = min(2 * pause, 5.0)


def _may_pass(error: BaseException) -> bool:
    """Whether a database error is one that goes away: a lock, a lost connection, a server that starts."""
    from sqlalchemy.exc import InterfaceError, OperationalError

    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, OperationalError | InterfaceError):
        cause = cause.__cause__
    return cause is not None and not any(
        word in str(cause) for word in ("readonly", "no such table", "malformed", "not a database", "no such column")
    )


def _explain(error: BaseException, url: str) -> str:
    """One line about a database error, without the password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import DBAPIError

    cause: BaseException = error
    while not isinstance(cause, DBAPIError) and cause.__cause__ is not None:
        cause = cause.__cause__
    reason = str(getattr(cause, "orig", None) or cause).strip()
    lines = [line.strip() for line in reason.splitlines() if line.strip()] or [type(cause).__name__]
    address = make_url(url)
    if address.password:
        lines = [line.replace(str(address.password), "***") for line in lines]
    shown = address.render_as_string(hide_password=True)
    text = next((line for line in lines if "failed" in line or "error" in line.lower()), lines[0])
    if address.drivername.startswith("sqlite"):
        return f"the storage {address.database} cannot be used: {text}; {_advice(text)}"
    return f"the storage {shown} cannot be used: {text.rstrip('.')}; check the address, the password and the server."


def _advice(text: str) -> str:
    if "readonly" in text:
        return "make the file and its folder writable, or use another --storage."
    if "locked" in text:
        return "another program holds it; close that and try again."
    if "malformed" in text or "not a database" in text:
        return "it is damaged: restore a copy of it, or use another file."
    if "full" in text:
        return "free some space on the disk and run the same again."
    return "check that the file and its folder exist and are writable."

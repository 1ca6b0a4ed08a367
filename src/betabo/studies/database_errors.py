"""What a database in trouble raises, in one line; and patience with it."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

from betabo.studies.errors import StudyError

if TYPE_CHECKING:
    from sqlalchemy.exc import DBAPIError

T = TypeVar("T")

PATIENCE = 90.0  # seconds for which a storage in trouble is asked again

_patience: ContextVar[float | None] = ContextVar("patience", default=None)

_LASTING = (
    *("readonly", "no such table", "malformed", "not a database", "no such column"),
    *("password", "does not exist", "pg_hba.conf", "translate host name", "resolve host", "permission denied"),
)
_OUT_OF_REACH = ("Connection refused", "No such file", "timeout expired", "timed out", "No route", "unreachable")


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Have another patience in this thread for a while, such as 0 where somebody is waiting for an answer."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def with_patience(
    action: Callable[[], T],
    url: str,
    on_trouble: Callable[[str], None] | None = None,
    passes: Callable[[BaseException], bool] | None = None,
) -> T:
    """Do something with a storage, again and again while the storage is in trouble, for `PATIENCE` seconds.

    The pauses grow, and are drawn at random, so that workers who lost the same server do not all come back at once.

    Args:
        action: What to do. It must be harmless to repeat.
        url: The storage's address, for messages.
        on_trouble: Called with a line when trouble lasts, and when it has passed; a second attempt that succeeds is not
            worth one.
        passes: Whether an error is one that goes away; None is `may_pass`.

    Raises:
        StudyError: The trouble did not pass, or cannot.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    limit = PATIENCE if (own := _patience.get()) is None else own
    passes = may_pass if passes is None else passes
    began = time.monotonic()
    failures, pause = 0, 0.1
    while True:
        try:
            result = action()
        except (SQLAlchemyError, StorageInternalError) as error:
            left = began + limit - time.monotonic()
            if not passes(error) or left <= 0:
                raise StudyError(_explain(error, url)) from error
            failures += 1
            if failures == 2 and on_trouble is not None:
                on_trouble(f"{_explain(error, url)} Trying again for {limit:.0f} s.")
        else:
            if failures > 1 and on_trouble is not None:
                on_trouble(f"the storage answers again after {time.monotonic() - began:.1f} s.")
            return result
        time.sleep(min(random.uniform(0.5, 1.0) * pause, left))
        pause = min(2 * pause, 5.0)


def may_pass(error: BaseException) -> bool:
    """Whether a database error is one that goes away: a lock, a lost connection, a server that starts."""
    said = _said(error)
    return said is not None and not any(word in said for word in _LASTING)


def was_reached(error: BaseException) -> bool:
    """Whether a database error is of a server that was there, and that may be back soon."""
    return may_pass(error) and not any(word in str(_said(error)) for word in _OUT_OF_REACH)


def _said(error: BaseException) -> str | None:
    """What the database said, without the statement, in which there may be anything."""
    cause = _database_error(error)
    return None if cause is None else str(cause.orig)


def _database_error(error: BaseException) -> DBAPIError | None:
    """The error of the connection or the operation that is behind another one; None if it is something else."""
    from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OperationalError | InterfaceError):
            return cause
        if isinstance(cause, DBAPIError) and cause.connection_invalidated:
            return cause
        # A query that Optuna tries another time on a connection that it lost has the loss as its context.
        cause = cause.__cause__ or cause.__context__
    return None


def _explain(error: BaseException, url: str) -> str:
    """One line about a database error, without the password."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import DBAPIError

    cause: BaseException = _database_error(error) or error
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

"""What betabo says when a package of one of its extras is not installed."""

from __future__ import annotations

from types import TracebackType


class needs_extra:  # noqa: N801  # it reads like contextlib.suppress
    """Import packages of an extra in the block, or say how to install them.

    Args:
        extra: The extra, or several of them with commas between.
        why: What needs which package.

    Raises:
        ImportError: A package is missing; the message is that of `install_extra`.

    Example:
        >>> with needs_extra("report", "a report needs plotly"):
        ...     import plotly
    """

    def __init__(self, extra: str, why: str) -> None:
        self._message = install_extra(extra, why)

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, ImportError):
            raise ImportError(self._message, name=error.name, path=error.path) from error


def install_extra(extra: str, why: str) -> str:
    """The message about a missing package: why it is needed, and the command that installs it.

    Args:
        extra: The extra, or several of them with commas between.
        why: What needs which package.
    """
    return f"{why}: pip install 'betabo[{extra}]'"

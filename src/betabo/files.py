"""Files and folders that appear whole or not at all, with the modes that the user's umask asks for; private ones.

What is written goes into a hidden folder beside the target and is moved to its place when it is complete. So an
exception or a killed process leaves what was there before; after a kill the hidden folder stays behind too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_text(path: str | os.PathLike[str], text: str, *, parents: bool = False) -> None:
    """Write a text file in UTF-8, see `whole_file`."""
    with whole_file(path, parents=parents) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_bytes(path: str | os.PathLike[str], contents: bytes, *, parents: bool = False) -> None:
    """Write a binary file, see `whole_file`."""
    with whole_file(path, parents=parents) as temporary:
        temporary.write_bytes(contents)


@contextmanager
def whole_file(path: str | os.PathLike[str], *, parents: bool = False) -> Iterator[Path]:
    """A path to write a file to, which becomes `path` at the end of the block and is gone if the block fails.

    Its name is that of `path`, so that a library sees the same ending. The contents are on the disk before the file is
    moved to its place.

    Args:
        path: The file, which is replaced if it is there.
        parents: Whether to create the folders it lies in.

    Raises:
        OSError: The file cannot be written; the error names `path`.

    Example:
        >>> with whole_file("figure.png") as temporary:
        ...     figure.savefig(temporary)
    """
    with _beside(path, parents) as (target, temporary):
        yield temporary
        _set_ordinary_modes(temporary)
        with temporary.open("r+b") as file:
            os.fsync(file.fileno())
        os.replace(temporary, target)


@contextmanager
def whole_folder(path: str | os.PathLike[str], *, parents: bool = False, replace: bool = False) -> Iterator[Path]:
    """An empty folder to write to, which becomes `path` at the end of the block and is gone if the block fails.

    Args:
        path: The folder.
        parents: Whether to create the folders it lies in.
        replace: Whether to replace a folder that is there, with all that is in it. Otherwise it may only be empty.

    Raises:
        OSError: The folder cannot be written, or is there already; the error names `path`.
    """
    with _beside(path, parents) as (target, temporary):
        temporary.mkdir()
        yield temporary
        _set_ordinary_modes(temporary)
        old = temporary.with_name(".old")
        try:
            if replace and target.exists():
                os.rename(target, old)
            os.rename(temporary, target)
        except BaseException:
            if old.exists():
                os.rename(old, target)
            raise


@contextmanager
def added_files(folder: str | os.PathLike[str], *, last: str) -> Iterator[Path]:
    """An empty folder to write to, whose files are moved to `folder` at the end of the block, beside what is there.

    Nothing is moved if the block fails. Each file appears whole; whoever finds `last` knows that all are there.

    Args:
        folder: The folder, which is created if it is not there, with those that it lies in.
        last: Name of the file that is moved after all others. One that is there goes when the block begins.

    Raises:
        OSError: The folder cannot be written; the error names it or the file in it.
    """
    with _beside(folder, parents=True, within=True) as (target, temporary):
        (target / last).unlink(missing_ok=True)
        temporary.mkdir()
        yield temporary
        _set_ordinary_modes(temporary)
        for name in sorted(os.listdir(temporary), key=lambda name: (name == last, name)):
            os.replace(temporary / name, target / name)


def private_folder(path: Path) -> None:
    """Make a folder, if it is not there, that its owner alone may look into; what it lies in is ordinary."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)


def private_file(path: Path) -> None:
    """Make an empty file, if it is not there, that its owner alone may read and write."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def end_of(path: Path, most: int = 65536) -> bytes:
    """The last bytes of a file, however long it is."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - most))
        return file.read(most)


def cut_name(text: str) -> str:
    """As much of a name as that of a file can have in it: 100 letters, or 200 bytes."""
    return text[:100].encode()[:200].decode(errors="ignore")


@contextmanager
def _beside(path: str | os.PathLike[str], parents: bool, *, within: bool = False) -> Iterator[tuple[Path, Path]]:
    """Where to write to in the end, and a path of the same name in a hidden folder beside it, or within it."""
    target = Path(os.path.realpath(path))  # what a link points to is replaced, not the link
    folder = target if within else target.parent
    hidden = folder / f".writing-{secrets.token_hex(4)}"
    temporary = hidden / target.name
    try:
        if parents:
            folder.mkdir(parents=True, exist_ok=True)
        hidden.mkdir()
        yield target, temporary
    except OSError as error:
        named = str(error.filename or hidden)
        if error.errno is None or not named.startswith(str(hidden)):
            raise
        given = os.fspath(path)
        named = named.replace(str(temporary), given) if named.startswith(str(temporary)) else given
        raise OSError(error.errno, str(error.strerror).replace(str(temporary), given), named) from error
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


def _set_ordinary_modes(temporary: Path) -> None:
    """Give everything the mode of a new file or folder; some libraries make files that only their owner may read."""
    mode = stat.S_IMODE(temporary.parent.stat().st_mode)  # a new folder's
    for item in (temporary, *temporary.rglob("*")):
        if not item.is_symlink():
            item.chmod(mode if item.is_dir() else mode & 0o666)

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from betabo.files import (
    added_files,
    cut_name,
    end_of,
    private_file,
    private_folder,
    whole_file,
    whole_folder,
    write_bytes,
    write_text,
)


@pytest.fixture
def umask() -> Iterator[Callable[[int], int]]:
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def write_whole_folder(path: Path) -> None:
    with whole_folder(path) as temporary:
        (temporary / "part").write_text("x")


class TestWholeFile:
    def test_has_what_was_written(self, tmp_path: Path) -> None:
        write_text(tmp_path / "text", "Grüße\n")
        write_bytes(str(tmp_path / "bytes"), b"\x00\xff")
        assert (tmp_path / "text").read_bytes() == "Grüße\n".encode()
        assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
        assert sorted(os.listdir(tmp_path)) == ["bytes", "text"]

    def test_is_there_only_at_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "trials.csv.gz"
        path.write_text("old")
        with whole_file(path) as temporary:
            assert temporary.name == path.name
            temporary.write_text("new")
            assert path.read_text() == "old"
        assert path.read_text() == "new"
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("mask", [0o000, 0o002, 0o022, 0o077])
    def test_has_the_mode_that_open_gives(self, mask: int, tmp_path: Path, umask: Callable[[int], int]) -> None:
        umask(mask)
        (tmp_path / "ordinary").write_text("x")
        (tmp_path / "replaced").touch(mode=0o600)
        write_text(tmp_path / "new", "x")
        write_bytes(tmp_path / "replaced", b"x")
        assert mode(tmp_path / "new") == mode(tmp_path / "replaced") == mode(tmp_path / "ordinary") == 0o666 & ~mask

    def test_has_that_mode_when_a_library_gives_another(self, tmp_path: Path, umask: Callable[[int], int]) -> None:
        umask(0o022)
        with whole_file(tmp_path / "weights") as temporary:
            temporary.touch(mode=0o600)
        assert mode(tmp_path / "weights") == 0o644

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_leaves_the_old_one_after_an_exception(self, error: type[BaseException], tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text("old")

        def write_half() -> None:
            with whole_file(path) as temporary:
                temporary.write_text("ne")
                raise error

        with pytest.raises(error):
            write_half()
        assert path.read_text() == "old"
        assert os.listdir(tmp_path) == ["file"]

    @pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
    def test_leaves_the_old_one_after_a_kill(self, tmp_path: Path) -> None:
        path = tmp_path / "file"
        path.write_text("old")
        code = f"""
import os, signal
from betabo.files import whole_file
with whole_file({str(path)!r}) as temporary:
    temporary.write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)
"""
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
        assert path.read_text() == "old"
        assert [name for name in os.listdir(tmp_path) if not name.startswith(".")] == ["file"]
        write_text(path, "new")
        assert path.read_text() == "new"

    def test_is_on_the_disk_before_it_is_in_its_place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        calls = []
        for name in ("fsync", "replace"):
            call = getattr(os, name)
            monkeypatch.setattr(os, name, lambda *args, name=name, call=call: calls.append(name) or call(*args))
        write_text(tmp_path / "file", "x")
        assert calls == ["fsync", "replace"]

    def test_replaces_what_a_link_points_to(self, tmp_path: Path) -> None:
        (tmp_path / "there").mkdir()
        (tmp_path / "link").symlink_to(tmp_path / "there" / "file")
        write_text(tmp_path / "link", "x")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "file").read_text() == "x"

    def test_may_have_the_longest_name(self, tmp_path: Path) -> None:
        write_text(tmp_path / ("x" * 255), "x")
        assert os.listdir(tmp_path) == ["x" * 255]

    def test_creates_folders_when_asked(self, tmp_path: Path) -> None:
        write_text(tmp_path / "a" / "b" / "text", "x", parents=True)
        write_bytes(tmp_path / "c" / "bytes", b"x", parents=True)
        assert (tmp_path / "a" / "b" / "text").read_text() == (tmp_path / "c" / "bytes").read_text() == "x"


class TestAddedFiles:
    def test_stand_beside_what_is_there(self, tmp_path: Path, umask: Callable[[int], int]) -> None:
        folder = tmp_path / "new" / "folder"
        folder.mkdir(parents=True)
        (folder / "kept").write_text("old")
        (folder / "replaced").write_text("old")
        with added_files(folder, last="list") as temporary:
            for name in ("list", "replaced", "zebra"):
                (temporary / name).write_text("new")
            (temporary / "zebra").chmod(0o600)
            assert (folder / "replaced").read_text() == "old"
        assert {path.name: path.read_text() for path in folder.iterdir()} == {
            "kept": "old",
            "list": "new",
            "replaced": "new",
            "zebra": "new",
        }
        assert mode(folder / "zebra") == 0o644

    def test_the_last_one_goes_first_and_comes_last(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "list").write_text("old")
        moved = []
        monkeypatch.setattr(os, "replace", lambda source, target: moved.append(Path(target).name))
        with added_files(tmp_path, last="list") as temporary:
            assert not (tmp_path / "list").exists()
            for name in ("zebra", "list", "apple"):
                (temporary / name).touch()
        assert moved == ["apple", "zebra", "list"]

    def test_none_are_moved_if_the_block_fails(self, tmp_path: Path) -> None:
        def fail() -> None:
            with added_files(tmp_path, last="list") as temporary:
                (temporary / "list").touch()
                raise OSError(errno.ENOSPC, "No space left on device", str(temporary / "list"))

        with pytest.raises(OSError, match="No space left") as caught:
            fail()
        assert caught.value.filename == str(tmp_path / "list")
        assert os.listdir(tmp_path) == []


class TestErrors:
    def test_name_the_path_as_it_was_given(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("folder").mkdir()
        for path, kind in (("missing/file", FileNotFoundError), ("folder", IsADirectoryError)):
            with pytest.raises(kind) as caught:
                write_text(path, "x")
            assert caught.value.filename == path
            assert ".writing" not in str(caught.value)
        assert os.listdir() == ["folder"]

    def test_without_a_name_get_it(self, tmp_path: Path) -> None:
        def fill_the_disk() -> None:
            with whole_file(tmp_path / "file"):
                raise OSError(errno.ENOSPC, "No space left on device")

        with pytest.raises(OSError, match="No space left") as caught:
            fill_the_disk()
        assert caught.value.errno == errno.ENOSPC
        assert caught.value.filename == str(tmp_path / "file")

    def test_speak_of_the_path_in_the_words_of_a_library_too(self, tmp_path: Path) -> None:
        def fail() -> None:
            with whole_file(tmp_path / "file") as temporary:
                raise OSError(errno.EIO, f"Failed to write to '{temporary}'")

        with pytest.raises(OSError, match="Failed") as caught:
            fail()
        assert caught.value.strerror == f"Failed to write to '{tmp_path / 'file'}'"

    def test_about_a_part_of_a_folder_name_the_part(self, tmp_path: Path) -> None:
        def fail() -> None:
            with whole_folder(tmp_path / "model") as temporary:
                (temporary / "missing" / "part").write_text("x")

        with pytest.raises(FileNotFoundError) as caught:
            fail()
        assert caught.value.filename == str(tmp_path / "model" / "missing" / "part")

    def test_about_other_files_stay_as_they_are(self, tmp_path: Path) -> None:
        def read_something_else() -> None:
            with whole_file(tmp_path / "file"):
                (tmp_path / "source").read_text()

        with pytest.raises(FileNotFoundError) as caught:
            read_something_else()
        assert caught.value.filename == str(tmp_path / "source")

    def test_say_so_when_nothing_was_written(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as caught, whole_file(tmp_path / "file"):
            pass
        assert caught.value.filename == str(tmp_path / "file")


class TestWholeFolder:
    def test_is_there_only_at_the_end(self, tmp_path: Path) -> None:
        path = tmp_path / "deep" / "model"
        with whole_folder(path, parents=True) as temporary:
            (temporary / "part").write_text("x")
            assert not path.exists()
        assert [item.name for item in path.iterdir()] == ["part"]
        assert os.listdir(path.parent) == ["model"]

    @pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
    def test_has_ordinary_modes_throughout(self, mask: int, tmp_path: Path, umask: Callable[[int], int]) -> None:
        umask(mask)
        with whole_folder(tmp_path / "model") as temporary:
            (temporary / "inner").mkdir(mode=0o700)
            (temporary / "inner" / "weights").touch(mode=0o600)
        assert mode(tmp_path / "model") == mode(tmp_path / "model" / "inner") == 0o777 & ~mask
        assert mode(tmp_path / "model" / "inner" / "weights") == 0o666 & ~mask

    def test_changes_nothing_behind_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "secret").touch(mode=0o600)
        with whole_folder(tmp_path / "model") as temporary:
            (temporary / "link").symlink_to(tmp_path / "secret")
        assert mode(tmp_path / "secret") == 0o600

    def test_does_not_replace_unless_asked(self, tmp_path: Path) -> None:
        write_whole_folder(tmp_path / "model")
        with pytest.raises(OSError, match=r"not empty|exists"):
            write_whole_folder(tmp_path / "model")
        with whole_folder(tmp_path / "model", replace=True) as temporary:
            (temporary / "other").write_text("y")
        assert os.listdir(tmp_path / "model") == ["other"]
        assert os.listdir(tmp_path) == ["model"]

    def test_leaves_the_old_one_after_an_exception(self, tmp_path: Path) -> None:
        write_whole_folder(tmp_path / "model")

        def write_half() -> None:
            with whole_folder(tmp_path / "model", replace=True) as temporary:
                (temporary / "other").write_text("y")
                raise ValueError

        with pytest.raises(ValueError):  # noqa: PT011
            write_half()
        assert os.listdir(tmp_path / "model") == ["part"]
        assert os.listdir(tmp_path) == ["model"]

    @pytest.mark.parametrize("error", [OSError(errno.EIO, "Input/output error"), KeyboardInterrupt()])
    def test_puts_the_old_one_back(self, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        write_whole_folder(tmp_path / "model")
        rename, calls = os.rename, []

        def fail_the_second_time(*args: str) -> None:
            calls.append(args)
            if len(calls) == 2:
                raise error
            rename(*args)

        monkeypatch.setattr(os, "rename", fail_the_second_time)
        with pytest.raises(type(error)), whole_folder(tmp_path / "model", replace=True):
            pass
        assert len(calls) == 3
        assert os.listdir(tmp_path / "model") == ["part"]
        assert os.listdir(tmp_path) == ["model"]


class TestPrivate:
    def test_is_the_owners_alone_where_it_is_new(self, tmp_path: Path, umask: Callable[[int], int]) -> None:
        private_folder(tmp_path / "a" / "b")
        private_file(tmp_path / "a" / "b" / "c")
        assert [mode(tmp_path / place) for place in ("a", "a/b", "a/b/c")] == [0o755, 0o700, 0o600]

    def test_stays_as_it_is_where_it_is_there(self, tmp_path: Path, umask: Callable[[int], int]) -> None:
        write_text(tmp_path / "file", "x")
        private_file(tmp_path / "file")
        private_folder(tmp_path)
        assert (tmp_path / "file").read_text() == "x"
        assert mode(tmp_path / "file") == 0o644


def test_the_end_of_a_file_is_read_alone(tmp_path: Path) -> None:
    write_bytes(tmp_path / "log", b"0123456789")
    assert end_of(tmp_path / "log", 4) == b"6789"
    assert end_of(tmp_path / "log") == b"0123456789"


@pytest.mark.parametrize("letter", ["a", "\u00e9", "\u7814", "\U0001d52b"])
def test_a_cut_name_is_one_of_a_file(tmp_path: Path, letter: str) -> None:
    name = cut_name("x" + letter * 500)
    (tmp_path / f"{name}-0123abcd.parquet").touch()
    assert set(name[1:]) == {letter}
    assert cut_name(name) == name
    assert cut_name("short") == "short"

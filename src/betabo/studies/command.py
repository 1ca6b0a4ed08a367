"""An objective that is a program: a command line with the parameters in it, and a number that it prints or writes."""

from __future__ import annotations

import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import IO, Any

from betabo.files import end_of, private_folder
from betabo.space import Profile, Space
from betabo.studies.accuracy import note_errors, parse_values, split_result
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.process import kill_group
from betabo.studies.values import Numbers, as_values, check_timeout, is_named, named
from betabo.studies.workspace import Workspace

LAST_LINE = "last-line"
_OWN_NAMES = ("trial", "output")
_TAIL = 65536  # bytes of standard output, or up to twice as many, that are kept to find the last line
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG
_RUNNING: set[int] = set()  # process groups


@dataclass(frozen=True)
class CommandObjective:
    """A program that is run once a trial.

    The template is split into arguments once, as a shell would, and `{name}` is replaced inside each argument. No
    shell is involved, so a value never becomes anything but part of one argument. An argument with a parameter that
    does not exist under the choices of a trial is left out, and so is an option before it, as in `--C {C}`. The program
    runs in the working directory. It dies with its worker on Linux, and as a whole process group at the time limit. A
    non-zero exit code fails the trial, and the study goes on.

    Args:
        template: Such as `"python train.py --lr {lr}"`. `{trial}` is the trial's number, `{output}` a folder of its
            own; `{u}` are the numbers `u[0]`, `u[1]`, ... of a profile with commas between them; `{{` and `}}` are
            braces.
        result: `"last-line"` for a number on the last line of standard output, or several with blanks or commas
            between them; each may have its standard error behind it, as in `1.3 +- 0.2`; or for a JSON object with
            numbers by name. Otherwise a JSON file in the trial's folder, which is empty when the program starts, with a
            number, a list, or an object with `"value"` or `"values"`, and `"error"` or `"errors"` beside it, or with
            the names of objectives and constraints. The program learns the folder by `{output}` or the environment
            variable `BETABO_OUTPUT`. A file that the program left as it was is no result.
        timeout: Seconds after which the program is killed and the trial fails, None for no limit.
    """

    template: str
    result: str = LAST_LINE
    timeout: float | None = None

    def __post_init__(self) -> None:
        try:
            arguments = shlex.split(self.template)
        except ValueError as error:
            raise StudyError(f"the command {self.template!r} cannot be split: {error}; check its quotes.") from error
        if not arguments:
            raise StudyError("the command is empty; expected one such as 'python train.py --lr {lr}'.")
        if not self.result:
            raise StudyError(f"result is empty; expected {LAST_LINE!r} or the name of a JSON file.")
        self._names()
        check_timeout(self.timeout)

    def check(self, space: Space) -> None:
        """See that the names in the template are those of the parameters, and that the program is there."""
        used = self._names()
        profiles = Profile.members(space.names)
        for name in used:
            if name not in space.names and name not in _OWN_NAMES and name not in profiles:
                singles = [single for single in space.names if single.isidentifier()]
                known = ", ".join(f"{{{known}}}" for known in (*singles, *profiles, *_OWN_NAMES))
                raise StudyError(
                    f"the command has {{{name}}}, which is no parameter; expected {known}, or {{{{ for a brace."
                )
        used = [*used, *(member for name in used for member in profiles.get(name, []))]
        unused = [name for name in space.names if name not in used]
        if unused:
            missing = next((whole for whole, some in profiles.items() if unused[0] in some), unused[0])
            raise StudyError(f"the command never uses the parameter {missing}; put {{{missing}}} in it.")
        program = shlex.split(self.template)[0]
        if "{" not in program and shutil.which(program) is None:
            raise ObjectiveError(f"the command cannot be run: there is no program {program!r}; check its path.")

    def prepare(self, space: Space) -> None:
        """Nothing: a program needs no preparation."""

    def __call__(self, parameters: dict[str, Any], workspace: Workspace) -> Numbers:
        """Run the program; what it prints goes to the trial's log."""
        own: dict[str, Any] = {"trial": workspace.trial}
        environment = dict(os.environ, BETABO_TRIAL=str(workspace.trial))
        if self.result != LAST_LINE or "output" in self._names():
            own["output"] = environment["BETABO_OUTPUT"] = str(workspace.make_folder())
        arguments = self.arguments({**own, **parameters})
        result = workspace.folder / self.result
        before = _version(result)
        output = _run(arguments, environment, workspace.log, self.timeout)
        if self.result == LAST_LINE:
            line = _last_line(output)
            raw, source = _object(line), "the command printed"
            found, errors = _parse_line(line) if raw is None else split_result(raw)
        else:
            raw, source = _read_file(result, before), f"{self.result} has"
            found, errors = split_result(raw)
        if raw is not None and is_named(raw):
            note_errors(workspace, errors, len(found) if isinstance(found, list) else 1, source)
            return named(raw, found)
        values = as_values(found, source)
        note_errors(workspace, errors, len(values), source)
        return values[0] if len(values) == 1 else values

    def arguments(self, values: Mapping[str, Any]) -> list[str]:
        """The arguments of the program, with `values` for the names in the template."""
        shown = {name: _show(value) for name, value in values.items()}
        whole = {name: ",".join(shown[member] for member in some) for name, some in Profile.members(shown).items()}
        shown = {**whole, **shown}
        arguments: list[str] = []
        is_option = False  # whether the last argument is one whose value may follow
        for argument in shlex.split(self.template):
            parts = [(literal, name) for literal, name, *_ in Formatter().parse(argument)]
            names = [name for _, name in parts if name is not None]
            if all(name in shown for name in names):
                arguments.append("".join(literal + ("" if name is None else shown[name]) for literal, name in parts))
            elif is_option:
                arguments.pop()
            is_option = not names and argument.startswith("-") and "=" not in argument
        return arguments

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        return {"type": "command", "template": self.template, "result": self.result, "timeout": self.timeout}

    def describe(self) -> str:
        """The template."""
        return self.template

    def _names(self) -> list[str]:
        """The names in the braces of the template."""
        names = []
        for argument in shlex.split(self.template):
            try:
                fields = [(name, spec, conversion) for _, name, spec, conversion in Formatter().parse(argument)]
            except ValueError as error:
                raise StudyError(
                    f"the command has a brace too many or too few in {argument!r} ({error}); write {{{{ for a brace."
                ) from error
            for name, spec, conversion in fields:
                if name is None:
                    continue
                if spec or conversion or not name.isidentifier():
                    inside = name + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else "")
                    raise StudyError(
                        f"the command has {{{inside}}}, expected a parameter's name in the braces; "
                        f"write {{{{{inside}}}}} for the braces themselves."
                    )
                names.append(name)
        return names


def _show(value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)


def kill_running() -> None:
    """Kill the programs that this process is running, for a worker that has to go at once."""
    for pid in list(_RUNNING):
        kill_group(pid)


def _run(arguments: list[str], environment: dict[str, str], log: Path, timeout: float | None) -> bytes:
    """Run a program to its end; returns the end of its standard output."""
    private_folder(log.parent)
    with log.open("ab", buffering=0) as file:
        try:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=file,
                env=environment,
                start_new_session=True,
                preexec_fn=_die_with_parent(),
            )
        except OSError as error:
            raise ObjectiveError(f"the command cannot be run: {arguments[0]}: {error.strerror}.") from error
        _RUNNING.add(process.pid)
        assert process.stdout is not None
        tail = _Tail(process.stdout, file)
        try:
            code = process.wait(timeout)
        except BaseException as error:
            kill_group(process.pid)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise EvaluationFailedError(f"it took longer than the limit of {timeout:g} s") from None
            raise
        finally:
            _RUNNING.discard(process.pid)
            output = tail.finish()
    if code:
        raise EvaluationFailedError(f"{_show_code(code)}: {_last_line(end_of(log)) or 'it printed nothing'}")
    return output


class _Tail:
    """Copies a stream to a file in a thread, and keeps its end, in memory that does not grow with what is printed."""

    def __init__(self, stream: IO[bytes], file: IO[bytes]) -> None:
        self._stream, self._file, self._end, self._is_cut = stream, file, bytearray(), False
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def _copy(self) -> None:
        line = bytearray()
        while chunk := os.read(self._stream.fileno(), _TAIL):
            self._keep(chunk)
            lines, newline, rest = chunk.rpartition(b"\n")
            if newline:
                self._write(bytes(line) + lines + newline)  # whole lines, as standard error goes to the same file
                line.clear()
            line += rest
            if len(line) > _TAIL:
                self._write(bytes(line))
                line.clear()
        self._write(bytes(line))

    def _keep(self, chunk: bytes) -> None:
        self._end += chunk
        if len(self._end) > 2 * _TAIL:  # and not at each chunk, which costs more than the chunk
            del self._end[:-_TAIL]
            self._is_cut = True

    def _write(self, data: bytes) -> None:
        with suppress(OSError, ValueError):  # a full disk, or a closed file, is no reason to let the program hang
            self._file.write(data)

    def finish(self) -> bytes:
        """The end of the stream, once the program has ended; dots stand for what was before it."""
        self._thread.join(5)  # a process that left the group may hold the pipe open for ever
        if not self._thread.is_alive():
            self._stream.close()
        return (b"..." if self._is_cut else b"") + bytes(self._end)


def _die_with_parent() -> Callable[[], None] | None:
    """What a new process does first, so that it is killed when its worker dies; None where that is not possible."""
    if not sys.platform.startswith("linux"):
        return None
    prctl, parent = ctypes.CDLL(None).prctl, os.getpid()  # looked up before the fork: after it little is safe

    def prepare() -> None:
        prctl(_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return prepare


def _show_code(code: int) -> str:
    return f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"


def _last_line(output: bytes) -> str:
    lines = [line.strip() for line in output.decode("utf-8", "replace").splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _object(line: str) -> Any:
    """The JSON object on a line, None if there is none."""
    if line.startswith("{"):
        with suppress(ValueError):
            return json.loads(line)
    return None


def _parse_line(line: str) -> tuple[list[float], list[float | None]]:
    if not line:
        raise ObjectiveError("the command printed nothing; expected a number on the last line of standard output.")
    try:
        return parse_values(line)
    except ValueError:
        shown = line if len(line) <= 60 else f"{line[:57]}..."
        raise ObjectiveError(
            f"the command's last line is {shown!r}; expected a number, with its error as in '1.3 +- 0.2' if "
            "you like, so print it last, or name a JSON file as result."
        ) from None


def _version(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is written again, None if there is no file."""
    with suppress(OSError):
        status = path.stat()
        return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
    return None


def _read_file(path: Path, before: tuple[int, ...] | None) -> Any:
    """The value in a result file that a program wrote, whose version was `before` when the program started."""
    if before is not None and _version(path) == before:
        raise ObjectiveError(
            f"the command left {path} as it was before it started, which is no result of this trial; "
            f"write {path.name} to the folder {{output}}, or to that in BETABO_OUTPUT."
        )
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ObjectiveError(
            f"the command wrote no {path}; write {path.name} to the folder {{output}}, or to that in BETABO_OUTPUT."
        ) from None
    except (OSError, ValueError) as error:
        raise ObjectiveError(f"{path} cannot be read as JSON: {error}.") from error
    return data

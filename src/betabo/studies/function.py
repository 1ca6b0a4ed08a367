"""An objective that is a Python function, named by its file or module."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from betabo.space import Space
from betabo.studies.accuracy import note_errors, split_result
from betabo.studies.errors import EvaluationFailedError, ObjectiveError, StudyError
from betabo.studies.signatures import signature_of, takes_by_name, written_signature
from betabo.studies.values import Numbers, as_values, check_timeout, is_named, named
from betabo.studies.workspace import Workspace


@dataclass(frozen=True)
class FunctionObjective:
    """A function in a file or a module.

    It is called with the parameters as keyword arguments if its signature accepts all of them by name. A function
    with exactly one argument, whose name is none of the parameters', is given them as one dict; where there is but one
    parameter, such an argument is annotated, or called `params`, `config` or the like. It returns a number, a tuple
    of numbers for several objectives, or a dict of numbers by name. An exception fails the trial, and the study goes
    on.

    Args:
        target: `"train.py:objective"` or `"package.module:objective"`, seen from the working directory.
        timeout: Seconds after which a call fails, None for no limit. The function is interrupted between two steps of
            Python code; a single long call into compiled code is not.
    """

    target: str
    timeout: float | None = None
    _loaded: dict[str, Callable[..., Any]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _answered: list[bool] = field(default_factory=list, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        place, colon, name = self.target.rpartition(":")
        if not (colon and place and all(part.isidentifier() for part in name.split("."))):
            raise StudyError(
                f"the objective is {self.target!r}, expected FILE.py:FUNCTION or MODULE:FUNCTION, "
                "such as train.py:objective."
            )
        check_timeout(self.timeout)

    def check(self, space: Space) -> None:
        """See that a file is there, and what its text says of the function; importing it is left to the worker."""
        place, _, name = self.target.rpartition(":")
        if _check_place(self.target) and "." not in name:
            takes_by_name(written_signature(Path(place), name, self.target), space.names, self.target)

    def prepare(self, space: Space) -> None:
        """Import the function and see that it can be called with the parameters of `space`."""
        takes_by_name(signature_of(self._function()), space.names, self.target)

    def __call__(
        self,
        parameters: dict[str, Any],
        workspace: Workspace,
    ) -> Numbers:
        """Call the function; a traceback of what it raises goes to standard error."""
        function = self._function()
        by_name = takes_by_name(signature_of(function), tuple(parameters), self.target)
        from optuna.exceptions import TrialPruned

        try:
            with _time_limit(self.timeout):
                result = function(**parameters) if by_name else function(dict(parameters))
        except (EvaluationFailedError, TrialPruned):
            raise
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            if not (by_name or self._answered) and isinstance(error, TypeError) and "'dict'" in str(error):
                raise ObjectiveError(
                    f"{self.target} takes one argument, was given a dict of the parameters {', '.join(parameters)}, "
                    f"and could do nothing with it: {_one_line(error)}. Name the parameters as its arguments."
                ) from error
            raise EvaluationFailedError(_one_line(error)) from error
        self._answered[:] = [True]
        source = f"{self.target} returned"
        found, errors = split_result(result)
        if is_named(result):
            note_errors(workspace, errors, len(found) if isinstance(found, list | tuple) else 1, source)
            return named(result, found)
        values = as_values(found, source)
        note_errors(workspace, errors, len(values), source)
        return values[0] if len(values) == 1 else values

    def to_json(self) -> dict[str, Any]:
        """A description of plain JSON types."""
        return {"type": "function", "target": self.target, "timeout": self.timeout}

    def describe(self) -> str:
        """The target."""
        return self.target

    def _function(self) -> Callable[..., Any]:
        if "function" not in self._loaded:
            self._loaded["function"] = _load(self.target)
        return self._loaded["function"]


def _check_place(target: str) -> bool:
    """Whether the target is in a file, which must be there, rather than in a module."""
    place = target.rpartition(":")[0]
    is_file = place.endswith(".py") or os.sep in place
    if is_file and not Path(place).is_file():
        raise ObjectiveError(f"{target} cannot be imported: there is no file {place} in {Path.cwd()}.")
    return is_file


def _load(target: str) -> Callable[..., Any]:
    place, _, name = target.rpartition(":")
    is_file = _check_place(target)
    try:
        module = _import_file(Path(place)) if is_file else _import_module(place)
    except (Exception, SystemExit) as error:
        raise ObjectiveError(f"{target} cannot be imported: {_one_line(error)}{_line_of(error, place)}") from error
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        names = [
            n for n, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__
        ]
        hint = f"; it has {', '.join(names)}" if names else ""
        raise ObjectiveError(f"{place} has no function {name}{hint}.")
    if not callable(found):
        raise ObjectiveError(f"{target} is a {type(found).__name__}, expected a function.")
    return found  # type: ignore[no-any-return]


def _import_file(path: Path) -> ModuleType:
    """The module in a file, whose folder is on the path as if the file had been run."""
    path = path.absolute()
    _put_on_path(str(path.parent))
    taken = sys.modules.get(path.stem)
    if taken is not None and getattr(taken, "__file__", None) == str(path):
        return taken
    name = path.stem if taken is None else f"betabo_objective_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _import_module(name: str) -> ModuleType:
    _put_on_path(str(Path.cwd()))
    return importlib.import_module(name)


def _put_on_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".rstrip(": ").split())


def _line_of(error: BaseException, place: str) -> str:
    """Where in the user's file an import failed."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).name == Path(place).name]
    return f" (line {lines[-1]} of {place})" if lines else ""


@contextmanager
def _time_limit(seconds: float | None) -> Iterator[None]:
    """Raise EvaluationFailedError in the main thread after a time; elsewhere there is no limit."""
    possible = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not possible:
        yield
        return

    def interrupt(_signal: int, _frame: FrameType | None) -> None:
        raise EvaluationFailedError(f"it took longer than the limit of {seconds:g} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)  # again and again, should the function catch it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

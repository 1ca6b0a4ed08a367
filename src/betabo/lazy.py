"""Things that happen when they are first needed: names of packages, and what belongs to a package of others."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


def loaded_when_used(
    package: str, homes: Mapping[str, Iterable[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package needs to load its names when they are first used.

    Type checkers see nothing of it: the package imports the same names under `TYPE_CHECKING`.

    Args:
        package: The package's `__name__`.
        homes: The names that are offered, by the module of the package in which they are; the name of another package's
            module is given in full.

    Returns:
        The package's `__getattr__` and its `__dir__`.

    Example:
        >>> __getattr__, __dir__ = loaded_when_used(__name__, {"plan": ["Plan", "open_study"]})
    """
    home = {name: _full(package, module) for module, names in homes.items() for name in names}

    def load(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(home[name]), name)

    return load, lambda: sorted(home)


def _full(package: str, module: str) -> str:
    return module if module.startswith("betabo.") else f"{package}.{module}"


def when_imported(module: str, home: str, name: str) -> None:
    """Call a function as soon as a module of another package has been imported, or now if it has been already.

    Args:
        module: Path of the module.
        home: Path of the module with the function, which is imported then.
        name: Name of the function, which takes no arguments.
    """
    if module in sys.modules:
        getattr(import_module(home), name)()
    else:
        sys.meta_path.insert(0, _Watch(module, lambda: getattr(import_module(home), name)()))


class _Watch(MetaPathFinder):
    """Finds one module, once, as the other finders do, and has something called after it."""

    def __init__(self, module: str, call: Callable[[], None]) -> None:
        self.module, self._call = module, call

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002
        target: ModuleType | None = None,  # noqa: ARG002
    ) -> ModuleSpec | None:
        """The module, if it is the one."""
        if fullname != self.module:
            return None
        sys.meta_path.remove(self)
        found = find_spec(fullname)
        if found is not None and found.loader is not None:
            execute = found.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                self._call()

            found.loader.exec_module = exec_module  # type: ignore[method-assign]
        return found

"""Packages whose names are loaded when they are first used, so that importing them is quick."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
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

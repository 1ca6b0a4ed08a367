"""What a run was made with."""

from __future__ import annotations

import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("betabo", "torch", "gpytorch", "botorch", "numpy", "scipy")
PEERS = ("optuna", "ax-platform", "smac", "nevergrad", "cma", "cmaes", "baybe", "pybads", "ioh", "coco-experiment")


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide on a run, by name."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "unknown"
    for package in PEERS:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found

"""Packages that only campaigns need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, extra: str = "bench") -> Any:
    """Import a package of an extra, or say how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(f"campaigns need {module.split('.')[0]}: pip install 'betabo[{extra}]'") from error

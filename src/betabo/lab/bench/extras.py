"""Packages that only campaigns need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from betabo.extras import needs_extra


def require(module: str, extra: str = "bench") -> Any:
    """Import a package of an extra, or say how to install it."""
    with needs_extra(extra, f"campaigns need {module.split('.')[0]}"):
        return import_module(module)

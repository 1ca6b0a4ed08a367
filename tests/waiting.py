"""Waiting in tests: until something is so, rather than for a while. A busy machine has all the time that it needs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LONG = 600.0
"""Seconds after which a test gives up; nothing takes so long that works, and what works is not waited for."""


def wait_for(condition: Callable[[], Any], seconds: float = LONG) -> None:
    """Wait until a condition holds.

    Raises:
        AssertionError: It does not hold after `seconds`.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)

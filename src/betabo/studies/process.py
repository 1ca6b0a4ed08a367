"""How to end a process with all that it has started."""

from __future__ import annotations

import os
import signal
from contextlib import suppress


def kill_group(pid: int) -> None:
    """Kill a process that leads a group, and the group; where there are no groups, the process."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGTERM)

"""Workers: the process that runs a trial, and whether it is still alive."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def _home() -> dict[str, str]:
    """The machine as seen from this process: host name, and what tells a reboot or another container apart."""
    if not sys.platform.startswith("linux"):
        return {"host": platform.node(), "boot": ""}
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return {"host": platform.node(), "boot": f"{boot} {os.readlink('/proc/self/ns/pid')}"}


def this_worker() -> dict[str, Any]:
    """The record of this process, as a trial's `betabo:worker` has it.

    Returns:
        `host`, `boot` (the machine since its last start, and its container), `pid`, and `started`, which tells another
        process with the same id later on apart.
    """
    return {**_home(), "pid": os.getpid(), "started": _started(os.getpid())}


def is_alive(record: Mapping[str, Any]) -> bool | None:
    """Whether the process of a record still runs; None if that cannot be known from here."""
    if {key: record.get(key) for key in ("host", "boot")} != _home() or not isinstance(record.get("pid"), int):
        return None
    if sys.platform == "win32":
        return None
    return _started(record["pid"]) == record.get("started")


def _started(pid: int) -> str | None:
    """When a process started, as an opaque text; None if it is not there or only its exit code is."""
    if sys.platform.startswith("linux"):
        try:
            # The second field is the program's name in parentheses, which may contain anything.
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] in "ZXx" else fields[19]
    if sys.platform == "win32":
        return ""
    listed = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return listed.stdout.strip() or None

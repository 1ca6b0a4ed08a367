"""Optimizers that need an environment of their own, run there as a process that is asked and told."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch

FOLDER = "BETABO_PEERS"
"""Variable with the folder of the environments, as `benchmarks/peer_environments.py` makes them."""

_SERVERS = Path(__file__).parent / "elsewhere"
_LINES = 8  # of what a process wrote before it died


class ElsewhereSearch(PeerSearch):
    """An optimizer behind a process that speaks the protocol of `elsewhere/protocol.py`.

    Args:
        name: The optimizer; `elsewhere/NAME_server.py` runs it in the environment NAME.

    Raises:
        ImportError: There is no such environment.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._python = Path(os.environ.get(FOLDER, "out/peer-environments")).absolute() / name / "bin" / "python"
        self._process: subprocess.Popen[str] | None = None
        if not self._python.exists():
            raise ImportError(
                f"the optimizer {name!r} needs an environment of its own: "
                f"python benchmarks/peer_environments.py DIR {name}, and then {FOLDER}=DIR"
            )

    def begin(self) -> None:
        """Start the process."""
        self._errors = TemporaryFile("w+")  # noqa: SIM115, closed by `end`
        self._process = subprocess.Popen(
            [self._python, _SERVERS / "protocol.py", _SERVERS / f"{self._name.replace('-', '_')}_server.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        )
        bounds = list(zip(self.low.tolist(), self.high.tolist(), strict=True))
        self._say({"bounds": bounds, "seed": self.seed, "starting_points": self.starts})

    def propose(self) -> Point:
        """The next point."""
        self._say({"ask": True})
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise self._death()
        return np.array(json.loads(line), dtype=np.float64)

    def observe(self, point: Point, value: float) -> None:
        """Tell the value."""
        self._say({"point": point.tolist(), "value": value})

    def fail(self, point: Point) -> None:
        """Tell that there is no value."""
        self._say({"point": point.tolist(), "value": None})

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None
            self._errors.close()

    def _say(self, message: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._death() from error

    def _death(self) -> RuntimeError:
        self._errors.seek(0)
        last = "\n".join(self._errors.read().splitlines()[-_LINES:])
        return RuntimeError(f"the process of {self._name!r} has ended:\n{last}")

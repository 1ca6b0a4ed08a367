"""What the tests of the scripts that train models share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SMALL = ("--device", "cpu", "--blocks", "2", "--width", "16", "--heads", "2", "--steps", "5", "--batch", "8")


def record_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return found

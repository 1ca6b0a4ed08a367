"""The stored compressions as a reproduction."""

from __future__ import annotations

import subprocess
import sys

import pytest

from betabo.lab.reproduce import Context, reproduction_by_name
from betabo.lab.reproduce.compression import draw, summarize


def test_its_summary_is_that_of_the_packaged_searches(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = Context(tmp_path)
    monkeypatch.setattr(draw, "summarize", lambda given: ("drawn", given))
    assert reproduction_by_name("compression").module().summarize is summarize
    assert summarize(context) == ("drawn", context)


def test_who_makes_searches_needs_nothing_to_draw_them_with() -> None:
    program = (
        "import sys\n"
        "import betabo.lab.reproduce.compression.searches\n"
        "sys.exit(bool({'matplotlib', 'pandas'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0

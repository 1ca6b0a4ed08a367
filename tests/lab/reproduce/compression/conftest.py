from __future__ import annotations

from pathlib import Path

import pytest

from betabo.lab.reproduce import Context, Summary
from betabo.lab.reproduce.compression.draw import draw
from stored_searches import write_stored


@pytest.fixture(scope="session")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stored(tmp_path_factory.mktemp("stored"))


@pytest.fixture(scope="session")
def drawn(stored: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Summary]:
    context = Context(tmp_path_factory.mktemp("drawn"))
    summary = draw(context, stored)
    assert sorted(path.name for path in context.out.iterdir()) == sorted(context.files)
    return context.out, summary

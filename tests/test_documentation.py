"""Every Python block in the README and the documentation runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TOURS = [ROOT / "CONTRIBUTING.md", ROOT / "docs" / "architecture.md"]
OPTIONAL = {"ax"}  # pages about packages that development does not need
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def pages_with_code() -> list[Path]:
    return [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages_with_code(), ids=lambda page: page.name)
def test_blocks_run_one_after_the_other(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if page.stem in OPTIONAL:
        pytest.importorskip(page.stem, reason=f"{page.name} needs an extra that `make test-slow` installs")
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            exec(compile(code, f"{page.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_local_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing


@pytest.mark.parametrize("page", TOURS, ids=lambda page: page.name)
def test_files_that_are_named_exist(page: Path) -> None:
    named = set(re.findall(r"`([\w/]+\.(?:py|toml|txt|md))`", page.read_text(encoding="utf-8")))
    files = [f"/{path.relative_to(ROOT).as_posix()}" for path in ROOT.rglob("*.*") if ".venv" not in path.parts]
    missing = {name for name in named if not any(file.endswith(f"/{name}") for file in files)}
    assert len(named) > 20
    assert not missing, f"name files that are there: {sorted(missing)}"

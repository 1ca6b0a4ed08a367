"""The README and the documentation: code runs, links lead somewhere, formulas are shown."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs"
MADE = {"reproduction", "results", "tutorials"}  # written by commands, not by hand
PAGES = [
    ROOT / "README.md",
    *(page for page in sorted(SITE.rglob("*.md")) if page.relative_to(SITE).parts[0] not in MADE),
]
TOURS = [ROOT / "CONTRIBUTING.md", SITE / "architecture.md", SITE / "reliability.md"]
OPTIONAL = re.compile(r"^(?:import|from) (ax|mlflow|skopt)\b", re.MULTILINE)  # packages that development does not need
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def pages_with_code() -> list[Path]:
    return [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", pages_with_code(), ids=name_of)
def test_blocks_run_one_after_the_other(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, code in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            needed = OPTIONAL.findall(code)
            if any(importlib.util.find_spec(package) is None for package in needed):
                continue
            exec(compile(code, f"{page.name}, block {number}", "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
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


def listed(page: Path) -> set[Path]:
    """The pages that a page lists in its tables of contents."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```|^\.\. toctree::\n(.*)", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in "".join(block).splitlines()]
    return {(page.parent / line).resolve() for line in lines if line and not line.startswith(":")}


def test_each_page_is_listed_once() -> None:
    pages = [page for page in PAGES if page.is_relative_to(SITE)] + sorted(SITE.glob("api*/*.rst")) + [SITE / "api.rst"]
    entries = sorted(str(entry.relative_to(SITE)) for page in pages for entry in listed(page))
    expected = {str(page.relative_to(SITE).with_suffix("")) for page in pages} - {"index"} | {"tutorials/index"}
    assert entries == sorted(expected), "add a page to the table of contents of its part, docs/PART/index.md"


def test_formulas_become_mathml(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("latex2mathml", reason="`make docs` installs it")
    pytest.importorskip("docutils", reason="`make docs` installs it")
    monkeypatch.syspath_prepend(str(SITE / "extensions"))
    from formulas import mathml

    assert mathml(r"\frac{1}{2}", block=True).count("<mfrac>") == 1
    assert '<mi mathvariant="normal">' in mathml(r"\ln\Gamma(x)", block=False)
    with pytest.raises(ValueError, match="nosuchcommand"):
        mathml(r"\nosuchcommand x", block=False)


def test_every_tutorial_has_its_place_and_a_picture_in_the_gallery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SITE / "extensions"))
    from order import TUTORIALS, TutorialOrder

    scripts = sorted(path.name for path in (ROOT / "examples" / "tutorials").glob("*.py"))
    assert sorted(scripts, key=TutorialOrder("")) == [f"{name}.py" for name in TUTORIALS]
    gallery = (SITE / "gallery.md").read_text(encoding="utf-8")
    assert all(f"sphx_glr_{name}_thumb.png" in gallery for name in TUTORIALS)
    pictures = re.findall(r":img-top: (images/\S+)", gallery)
    assert pictures
    assert all((SITE / picture).is_file() for picture in pictures)


def test_the_claims_counted_are_those_of_the_table() -> None:
    page = (SITE / "reproduction.md").read_text(encoding="utf-8")
    said = re.search(
        r"Of the paper's (\d+) claims below, (\d+) hold, (\d+) hold in part, (\d+) do not .*?, and (\d+)", page
    )
    assert said is not None
    table = page[page.index("| claim | paper |") : page.index("</details>")]
    verdicts = [line.rsplit("|", 2)[1].strip() for line in table.splitlines()[2:] if line and "(ours)" not in line]
    kinds = ("holds", "holds in part", "not under these settings", "does not hold")
    assert [int(number) for number in said.groups()] == [len(verdicts), *(verdicts.count(kind) for kind in kinds)]

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import betabo
from betabo.extras import install_extra, needs_extra

ROOT = Path(__file__).parent.parent


def test_a_package_that_is_missing_is_named_with_its_extra() -> None:
    with (
        pytest.raises(ImportError) as caught,
        needs_extra("report", "a report needs no_such_package"),
    ):
        importlib.import_module("no_such_package")
    assert str(caught.value) == "a report needs no_such_package: pip install 'betabo[report]'"
    assert caught.value.name == "no_such_package"
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(ValueError, match="broken"), needs_extra("report", "a report needs plotly"):
        raise ValueError("broken")


def test_a_package_that_is_there_is_imported() -> None:
    with needs_extra("report", "a report needs json"):
        json = importlib.import_module("json")
    assert json.loads("1") == 1


def test_several_extras_are_one_command() -> None:
    assert install_extra("plot,tables", "a figure needs pandas").endswith(": pip install 'betabo[plot,tables]'")


def test_every_extra_that_a_message_names_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    sources = "".join(path.read_text() for path in Path(betabo.__file__).parent.rglob("*.py"))
    named = re.findall(r"""(?:needs_extra|install_extra)\(\s*['"]([\w,]+)['"]""", sources)
    assert len(named) > 10
    assert {extra for names in named for extra in names.split(",")} <= set(extras)

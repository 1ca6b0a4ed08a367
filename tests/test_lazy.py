"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from betabo.lazy import loaded_when_used, when_imported

PACKAGES = ("betabo", "betabo.compress", "betabo.optuna", "betabo.studies")


def names_for_type_checkers(package: str) -> list[str]:
    """The names that a package imports under `TYPE_CHECKING`."""
    tree = ast.parse(Path(str(import_module(package).__file__)).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return [name.name for node in imports for name in node.names]


@pytest.mark.parametrize("package", PACKAGES)
class TestPackages:
    def test_every_name_is_the_one_that_type_checkers_see(self, package: str) -> None:
        module = import_module(package)
        names = names_for_type_checkers(package)
        assert dir(module) == sorted(names) == sorted(set(module.__all__) - {"__version__"})
        assert {getattr(getattr(module, name), "__name__", name) for name in names} == set(names)

    def test_other_names_are_refused(self, package: str) -> None:
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'BetaSamplar'"):
            import_module(package).BetaSamplar  # noqa: B018


@pytest.mark.parametrize(
    "statement",
    [
        "import betabo",
        "import betabo.compress",
        "from betabo.optuna import best_trials, read_trials",
        "from betabo.studies import export, list_studies, load_study",
    ],
)
def test_looking_does_not_import_torch(statement: str) -> None:
    program = f"import sys; {statement}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_module_is_imported_when_its_name_is_first_used() -> None:
    load, names = loaded_when_used("email", {"_parseaddr": ["mktime_tz"], "no_such_module": ["never"]})
    assert names() == ["mktime_tz", "never"]
    assert load("mktime_tz").__module__ == "email._parseaddr"
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load("never")


def test_a_function_is_called_once_its_module_has_been_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "later_module.py").write_text("value = 1\n")
    (tmp_path / "home_module.py").write_text(
        "import sys\ncalls = []\ndef call():\n    calls.append(sys.modules['later_module'].value)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    finders = list(sys.meta_path)
    when_imported("later_module", "home_module", "call")
    assert "home_module" not in sys.modules
    assert import_module("later_module").value == 1
    assert import_module("home_module").calls == [1]
    assert sys.meta_path == finders  # nothing is left behind
    when_imported("later_module", "home_module", "call")  # it is there already
    assert import_module("home_module").calls == [1, 1]

"""The words of `docs/architecture.md`: one thing has one name, and one name is of one thing."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "betabo"
ELSEWHERE = (
    SOURCE / "lab" / "bench" / "optimizers" / "elsewhere"
)  # scripts, each with the class that its protocol wants
PROBLEMS = SOURCE / "lab" / "problems"  # BoTorch's test functions have a `dim`
OTHER_WORDS = {"dim", "dimension", "dimensions", "n_dims", "ndims", "num_dims"}


def nodes() -> list[tuple[Path, ast.AST]]:
    modules = [path for path in SOURCE.rglob("*.py") if ELSEWHERE not in path.parents]
    return [(path, node) for path in modules for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def names_given(node: ast.AST) -> set[str]:
    """The names that a piece of code gives to something."""
    match node:
        case ast.arg(arg=name) | ast.FunctionDef(name=name):
            return {name}
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return {name}
    return set()


def test_no_two_public_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path, node in nodes():
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            places[node.name].append(path.relative_to(SOURCE).as_posix())
    assert len(places) > 100
    shared = {name: found for name, found in places.items() if len(found) > 1}
    assert not shared, f"give them names that differ: {shared}"


def test_the_number_of_coordinates_is_called_dims() -> None:
    given = [(path, names_given(node)) for path, node in nodes() if PROBLEMS not in path.parents]
    assert sum("dims" in names for _, names in given) > 20
    others = {
        path.relative_to(SOURCE).as_posix(): sorted(names & OTHER_WORDS) for path, names in given if names & OTHER_WORDS
    }
    assert not others, f"call it dims: {others}"

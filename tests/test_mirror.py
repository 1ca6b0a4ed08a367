"""Tests mirror the source: what is in `src/betabo/a/b.py` is tested in `tests/a/test_b.py`, and examples likewise."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src" / "betabo"
EXAMPLES = TESTS.parent / "examples"

# Tests of several modules together, or of something that is no module.
CROSS_CUTTING = {
    "cli/test_hostile_studies.py": "every command on studies that are damaged or forged",
    "cli/test_terminal.py": "the command as a whole, in a terminal of its own",
    "compress/tasks/test_public_data.py": "all tasks on real data sets",
    "examples/test_measured_scale.py": "what `benchmarks/scale.py` measured, and its table",
    "examples/test_measured_step.py": "what `benchmarks/step.py` measured, and its table",
    "kernels/test_cuda.py": "all kernels on a GPU",
    "kernels/test_models.py": "all kernels in models of BoTorch",
    "lab/bench/optimizers/test_conformance.py": "what every optimizer has to do",
    "lab/bench/optimizers/test_packages.py": "optimizers against the packages that they wrap",
    "lab/reproduce/compression/test_packaged.py": "the data that come with the package",
    "optimizer/test_damaged_searches.py": "saved searches with random damage",
    "optimizer/test_pairs.py": "every kernel with every acquisition function",
    "optimizer/test_state_machine.py": "random sequences of all that can be done to a search",
    "optuna/test_public_suite.py": "Optuna's own tests of samplers",
    "report/test_browser.py": "the page in a browser",
    "studies/test_kills.py": "studies whose workers are killed",
    "studies/test_postgres.py": "studies on a server",
    "test_before.py": "files of the version before",
    "test_documentation.py": "the documentation",
    "test_mirror.py": "the tests",
    "test_package.py": "the package as it is installed",
    "test_words.py": "the names in the source",
}

# Modules without a test file of their own: where they are tested, and why there.
COVERED_ELSEWHERE = {
    **{
        f"lab/bench/optimizers/elsewhere/{name}.py": (
            "lab/bench/optimizers/test_elsewhere_search.py",
            "it runs in an environment of its own",
        )
        for name in ("protocol", "bayes_opt_server", "hebo_server", "vizier_server")
    },
    **{
        f"lab/bench/optimizers/{name}_search.py": (
            "lab/bench/optimizers/test_conformance.py",
            "every optimizer is asked for the same",
        )
        for name in ("ax", "baybe", "nevergrad", "optuna", "pybads", "pycma", "pycma_lq", "random", "smac")
    },
}


def names_in(folder: Path, pattern: str) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob(pattern)}


def place_of_tests(module: str) -> str:
    """Where the tests of a module belong; those of a package beside its folder."""
    path = Path(module)
    path = path.parent if path.name == "__init__.py" else path.with_suffix("")
    return (path.parent / f"test_{path.name}.py").as_posix()


def has_logic(module: str) -> bool:
    """Whether some function does something; constants, bare classes and interfaces need no tests."""
    functions = [
        node
        for node in ast.walk(ast.parse((SOURCE / module).read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return any(
        not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Constant)
        for function in functions
        for statement in function.body
    )


MODULES = names_in(SOURCE, "*.py")
SCRIPTS = {f"examples/{name}" for name in names_in(EXAMPLES, "*.py")}
FILES = names_in(TESTS, "test_*.py")


def test_each_test_file_names_a_module() -> None:
    without = FILES - {place_of_tests(module) for module in MODULES | SCRIPTS} - set(CROSS_CUTTING)
    assert not without, f"rename them after the module that they test, or add them to CROSS_CUTTING: {sorted(without)}"


def test_each_module_with_logic_has_a_test_file() -> None:
    without = {module for module in MODULES if has_logic(module) and place_of_tests(module) not in FILES}
    without -= set(COVERED_ELSEWHERE)
    assert not without, f"write a test file, or say in COVERED_ELSEWHERE where they are tested: {sorted(without)}"


def test_the_lists_hold_nothing_that_is_gone_or_done() -> None:
    done = {module for module in COVERED_ELSEWHERE if place_of_tests(module) in FILES}
    gone = (set(COVERED_ELSEWHERE) - MODULES) | (set(CROSS_CUTTING) - FILES)
    gone |= {file for file, _ in COVERED_ELSEWHERE.values()} - FILES
    assert not done | gone, f"take them off the lists: {sorted(done | gone)}"

"""The searches behind the comparison on conditional spaces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def conditional() -> Iterator[ModuleType]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "experiments"))
        yield load_example("experiments/conditional")


def rows_of(title: str) -> list[list[str]]:
    page = (EXAMPLES.parent / "docs" / "experiments.md").read_text(encoding="utf-8")
    (block,) = [block for block in page.split("\n\n") if block.startswith(f"| {title}")]
    _, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()]
    return rows


def test_published_numbers_are_those_of_the_kept_searches(conditional: ModuleType) -> None:
    runs = conditional.read()
    rows = rows_of("our regret relative to")
    assert [row[0] for row in rows] == ["tpe-groups", "random"]
    for method, *cells in rows:
        assert cells == [conditional.cell(conditional.pairs(runs, method, count)) for count in (25, 50)]


def test_published_problems_are_those_of_the_kept_searches(conditional: ModuleType) -> None:
    by_problem = conditional.pairs(conditional.read(), "tpe-groups", 50)
    rows = rows_of("conditional problem")
    assert {row[0] for row in rows} == set(by_problem)
    for problem, cell in rows:
        assert cell == conditional.cell({problem: by_problem[problem]})
    losses = [math.log(float(row[1].split()[0])) for row in rows]
    assert losses == sorted(losses, reverse=True)


def test_the_table_of_real_models_is_that_of_the_kept_searches(conditional: ModuleType) -> None:
    runs = conditional.read(EXAMPLES.parent / "docs" / "results" / "conditional-models.csv")
    rows = rows_of("models of")
    assert {f"models-{name}" for name, *_ in rows} == {problem for problem, _, _ in runs}
    worse = 0
    for name, *cells in rows:
        last = {
            method: [runs[f"models-{name}", method, seed][-1] for seed in range(3)]
            for method in ("betabo", "tpe-groups")
        }
        pairs = list(zip(*last.values(), strict=True))
        counts = [sum(ours < theirs for ours, theirs in pairs), sum(ours > theirs for ours, theirs in pairs)]
        assert cells == [*map(str, counts), *(f"{sum(values) / 3:.4f}" for values in last.values())]
        worse += counts[1]
    faq = (EXAMPLES.parent / "docs" / "faq.md").read_text(encoding="utf-8")
    assert f"behind it in {worse} of 9 searches among real models" in faq


def test_seeds_are_paired(conditional: ModuleType) -> None:
    runs = conditional.read()
    seeds = {
        method: {(problem, seed) for problem, of, seed in runs if of == method} for method in ("betabo", "tpe-groups")
    }
    assert seeds["betabo"] == seeds["tpe-groups"]
    assert all(best == sorted(best, reverse=True) for best in runs.values())


def test_every_problem_has_parameters_that_do_not_always_exist(conditional: ModuleType) -> None:
    optuna = pytest.importorskip("optuna")
    pytest.importorskip("sklearn")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name in ("jenatton", "apart", "shared", "nested", "models-wine"):
        study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
        study.optimize(conditional.PROBLEMS[name], n_trials=8)
        assert len({frozenset(trial.params) for trial in study.trials}) > 1
    best = optuna.trial.FixedTrial({"x1": 0, "x2": 0, "r8": 0.0, "x4": 0.0})
    assert conditional.jenatton(best) == 0.1

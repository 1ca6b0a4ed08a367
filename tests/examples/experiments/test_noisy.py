"""The searches behind the comparison with noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from example_case import EXAMPLES, load_example


@pytest.fixture(scope="module")
def noisy() -> Iterator[ModuleType]:
    pytest.importorskip("pyarrow")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(EXAMPLES / "experiments"))  # where its functions are
        yield load_example("experiments/noisy")


@pytest.fixture(scope="module")
def runs(noisy: ModuleType) -> pd.DataFrame:
    return pd.read_parquet(noisy.RUNS)


def page() -> str:
    return (EXAMPLES.parent / "docs" / "noise.md").read_text(encoding="utf-8")


def test_published_numbers_are_those_of_the_kept_searches(noisy: ModuleType, runs: pd.DataFrame) -> None:
    found = [row for level in noisy.LEVELS for row in noisy.rows(level, runs)]
    (block,) = [block for block in page().split("\n\n") if block.startswith("| noise | method")]
    assert block.splitlines()[2:] == found
    assert len(found) >= 9


def test_what_a_fit_sees_without_noise_is_as_published(noisy: ModuleType, runs: pd.DataFrame) -> None:
    found = noisy.estimated(runs)
    assert len(found) == 32
    assert int((found >= 0.1).sum()) == 2
    assert int((found < 0.025).sum()) == 28
    assert "Of 32 searches without noise" in page()


def test_losses_and_times_are_as_published(noisy: ModuleType, runs: pd.DataFrame) -> None:
    text = " ".join(page().split())
    found = runs[runs["method"].isin(noisy.PEERS)]
    answers = found.pivot_table(index=["level", "problem", "seed"], columns="method", values="answer")
    for place, peer, told in (
        (("coco", "f117-3", 0), "optuna-gp", "51,561 for 126"),
        (("coco", "f114-2", 0), "optuna-gp", "26.9 for 0.6"),
        (("10%", "hartmann3", 1), "qlognei", "0.89 for 0.018"),
        (("10%", "styblinski-3-face", 0), "optuna-gp", "146 for 18"),
        (("50%", "rosenbrock-2-interior", 0), "qlognei", "35 for 1.0"),
    ):
        mine, other = (float(number.replace(",", "")) for number in told.split(" for "))
        assert told in text
        assert answers.loc[place, "betabo"] == pytest.approx(mine, rel=0.05)
        assert answers.loc[place, peer] == pytest.approx(other, rel=0.05)
    above = found[found["answer"] > found["start"]].groupby("method").size()
    assert above.to_dict() == {"betabo": 2, "optuna-gp": 4, "qlognei": 4}
    assert f"Two of the {len(answers)} searches end above" in text
    seconds = found.groupby(["level", "method"])["seconds"].median().unstack().agg(["min", "max"]).round(2)
    assert seconds.loc[:, ["betabo", "optuna-gp", "qlognei"]].T.to_numpy().tolist() == [
        [0.06, 0.07],
        [0.08, 0.11],
        [0.29, 0.45],
    ]
    assert "0.06 to 0.07 s a step, for 0.08 to 0.11 and 0.29 to 0.45 s" in text


def test_noise_of_a_run_is_that_of_its_level(noisy: ModuleType, runs: pd.DataFrame) -> None:
    assert len(set(noisy.LEVELS) & set(runs["level"])) >= 3
    for run in runs[runs["level"].isin(["none", "10%"])].to_dict("records"):
        errors = np.array(run["values"]) - np.array(run["truths"])
        assert (np.abs(errors).max() > 0) == (run["level"] == "10%")


def test_the_least_value_of_each_function_is_nothing(noisy: ModuleType, runs: pd.DataFrame) -> None:
    assert min(min(truths) for truths in runs["truths"]) > -1e-5
    names = {problem.name for problem in noisy.PROBLEMS}
    assert set(runs.loc[runs["method"] == "betabo", "problem"]) <= names


@pytest.mark.parametrize("number", [1, 4, 7, 10, 19, 28])
def test_the_middle_of_normal_noise_of_coco_is_the_value_without_noise(noisy: ModuleType, number: int) -> None:
    pytest.importorskip("cocoex")
    problem = noisy.Coco(number)
    u = np.random.default_rng(number).random(problem.dim)
    measured, true = problem.noisy(1), problem.true(1)
    logs = np.log([measured(u) for _ in range(4000)])
    assert logs.std() == pytest.approx(0.01 if number < 7 else 1.0, rel=0.1)
    assert math.log(true(u)) == pytest.approx(np.median(logs), abs=4 * 1.25 * logs.std() / math.sqrt(4000))


@pytest.mark.parametrize("number", range(1, 31, 4))
def test_values_of_coco_are_above_the_least_and_noise_begins_anew(noisy: ModuleType, number: int) -> None:
    pytest.importorskip("cocoex")
    problem = noisy.Coco(number)
    points = np.random.default_rng(number).random((5, problem.dim))
    true = problem.true(2)
    assert min(true(u) for u in points) > 0
    first, second = problem.noisy(2), None
    values = [first(u) for u in points]
    second = problem.noisy(2)
    assert values == [second(u) for u in points]
    assert values != [true(u) for u in points]


def test_the_three_kinds_of_noise_share_a_function_and_each_gets_all_dimensions(noisy: ModuleType) -> None:
    problems = [noisy.Coco(number) for number in range(1, 31)]
    for kind in range(3):
        assert {problem.dim for problem in problems[kind::3]} == {2, 3, 5}
    for first in range(0, 30, 3):
        assert {problem.dim for problem in problems[first : first + 3]} == {2, 3, 5}


def test_the_answer_of_botorch_is_an_evaluated_point_with_a_low_value(noisy: ModuleType) -> None:
    optimizer = noisy.make_optimizer("qlognei")
    start = np.random.default_rng(0).random((8, 2))
    optimizer.start([(0.0, 1.0)] * 2, start, 0)
    points = []
    for _ in range(10):
        points.append(optimizer.ask())
        optimizer.tell(points[-1], float(((points[-1] - 0.4) ** 2).sum()))
    answer = optimizer.answer()
    values = [float(((u - 0.4) ** 2).sum()) for u in points]
    (place,) = (i for i, u in enumerate(points) if np.allclose(u, answer))
    assert values[place] <= np.quantile(values, 0.2)

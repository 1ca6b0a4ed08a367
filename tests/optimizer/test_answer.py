"""The answer of a search: the lowest value without noise, the lowest mean with it, and what is believed of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from betabo import Int, Optimizer, minimize
from betabo.optimizer import Config, Data
from betabo.optimizer.answer import answer, pooled

NONE = np.empty((0, 2))
POINTS = np.random.default_rng(0).random((20, 2))


def bowl(x: Any) -> Any:
    return 4 * ((np.asarray(x) - 0.4) ** 2).sum(axis=-1)


def known(values: np.ndarray, points: np.ndarray = POINTS, **more: Any) -> Data:
    return Data(points, values, NONE, NONE, **more)


class TestPooling:
    points = np.array([[0.5, 0.5], [0.1, 0.1], [0.5, 0.5], [0.2, 0.2]])

    def test_values_of_one_point_have_a_mean(self) -> None:
        firsts, values = pooled(known(np.array([1.0, 2.0, 4.0, 0.1]), self.points))
        assert firsts.tolist() == [0, 1, 3]
        assert values.tolist() == [2.5, 2.0, 0.1]

    def test_values_of_known_accuracy_count_as_they_are_accurate(self) -> None:
        data = known(np.array([1.0, 2.0, 4.0, 0.1]), self.points, variances=np.array([1.0, 9.0, 0.5, np.nan]))
        assert pooled(data)[1] == pytest.approx([3.0, 2.0, 0.1])

    @pytest.mark.parametrize("variances", [[0.0, 1.0, 1.0, 1.0], [np.nan, 1.0, 1.0, 1.0]])
    def test_where_one_is_exact_or_unknown_all_count_alike(self, variances: list[float]) -> None:
        data = known(np.array([1.0, 2.0, 4.0, 0.1]), self.points, variances=np.array(variances))
        assert pooled(data)[1][0] == 2.5


def test_without_noise_it_is_the_lowest_value() -> None:
    found = answer(known(bowl(POINTS)), Config())
    assert found is not None
    assert found.index == found.observed == int(bowl(POINTS).argmin())
    assert not found.sees_noise
    assert found.estimate is not None
    assert found.estimate.mean == pytest.approx(found.value, abs=4 * found.estimate.deviation + 1e-3)


def test_a_lucky_value_is_not_the_answer() -> None:
    points = np.concatenate([POINTS, POINTS, POINTS])
    values = bowl(points) + 0.3 * np.random.default_rng(1).standard_normal(60)
    worst = int(bowl(POINTS).argmax())
    values[worst] = values.min() - 0.5
    found = answer(known(values, points), Config())
    assert found is not None
    assert found.sees_noise
    assert bowl(found.unit) < 0.3 < bowl(points[worst])
    assert found.value == pytest.approx(values[found.index :: 20].mean())


def test_it_scales_with_the_values() -> None:
    values = bowl(POINTS) + 0.3 * np.random.default_rng(1).standard_normal(20)
    plain, scaled = (answer(known(factor * values + shift), Config()) for factor, shift in ((1, 0), (1024, -4096)))
    assert plain is not None
    assert scaled is not None
    assert plain.estimate is not None
    assert scaled.estimate is not None
    assert scaled.index == plain.index
    assert scaled.estimate.mean == pytest.approx(1024 * plain.estimate.mean - 4096, rel=1e-3)
    assert scaled.estimate.deviation == pytest.approx(1024 * plain.estimate.deviation, rel=1e-2)


def test_a_point_that_violates_a_constraint_is_no_answer() -> None:
    values = bowl(POINTS) + 0.3 * np.random.default_rng(1).standard_normal(20)
    free = answer(known(values), Config())
    assert free is not None
    excess = np.full((20, 1), -1.0)
    excess[free.index] = 1.0
    held = answer(known(values, constraints=excess), Config())
    assert held is not None
    assert held.index != free.index
    assert excess[held.index, 0] < 0


@pytest.mark.parametrize("count", [0, 1])
def test_of_few_values_there_is_no_model(count: int) -> None:
    found = answer(known(bowl(POINTS[:count]), POINTS[:count]), Config())
    assert (found is None) == (count == 0)
    assert found is None or (found.estimate is None and found.index == 0)


def test_without_a_fit_the_last_hyperparameters_are_taken() -> None:
    data = known(bowl(POINTS))
    assert answer(data, Config(), refit=False).estimate is None  # type: ignore[union-attr]
    optimizer = Optimizer([(0, 1)] * 2, seed=0)
    for _ in range(8):
        x = optimizer.ask()
        optimizer.tell(x, bowl(x))
    quick = optimizer.result(refit=False)
    assert quick.x.tolist() == optimizer.result().x.tolist()
    assert quick.estimate is not None


class TestRecommendation:
    @staticmethod
    def noisy(direction: str = "minimize", space: Any = ((0, 1), (0, 1))) -> Optimizer:
        optimizer = Optimizer(space, objectives=direction, seed=0)
        sign = -1.0 if direction == "maximize" else 1.0
        noise = np.random.default_rng(0).standard_normal(20)
        for point, error in zip(POINTS, noise, strict=True):
            optimizer.tell(point, sign * (bowl(point) + 0.4 * error) + 10)
        return optimizer

    def test_looks_beyond_the_evaluated_points_if_asked(self) -> None:
        optimizer = self.noisy()
        here, anywhere = optimizer.recommend(), optimizer.recommend(anywhere=True)
        assert here.sees_noise
        assert here.value is not None
        assert anywhere.value is None
        assert anywhere.estimate.mean <= here.estimate.mean  # type: ignore[union-attr]
        assert bowl(anywhere.x) < 0.3

    def test_is_the_result_s(self) -> None:
        optimizer = self.noisy()
        found, result = optimizer.recommend(), optimizer.result()
        assert found.x.tolist() == result.x.tolist()
        assert (found.value, found.estimate, found.sees_noise) == (result.fun, result.estimate, result.sees_noise)

    def test_of_what_is_maximized_is_the_same_turned_round(self) -> None:
        least, most = self.noisy(), self.noisy("maximize")
        one, other = least.recommend(), most.recommend()
        assert one.x.tolist() == other.x.tolist()
        assert other.value == pytest.approx(20 - one.value)  # type: ignore[operator]
        assert other.estimate.mean == pytest.approx(20 - one.estimate.mean)  # type: ignore[union-attr]
        assert most.result().fun_observed >= most.result().fun

    def test_anywhere_is_admissible(self) -> None:
        optimizer = Optimizer({"n": Int(0, 9), "m": Int(0, 9)}, seed=0)
        noise = np.random.default_rng(0).standard_normal(16)
        for error in noise:
            point = optimizer.ask()
            optimizer.tell(point, (point["n"] - 4) ** 2 + (point["m"] - 6) ** 2 + 8 * error)
        found = optimizer.recommend(anywhere=True).x
        assert {type(value) for value in found.values()} == {int}

    def test_of_nothing_says_so(self) -> None:
        with pytest.raises(ValueError, match="no evaluation has succeeded yet"):
            Optimizer([(0, 1)]).recommend()

    def test_of_several_objectives_says_where_the_best_are(self) -> None:
        optimizer = Optimizer([(0, 1)], objectives={"a": "minimize", "b": "minimize"})
        with pytest.raises(ValueError, match=r"several objectives, expected one: of several, result\(\)\.front"):
            optimizer.recommend()

    def test_anywhere_knows_no_constraints(self) -> None:
        optimizer = Optimizer([(0, 1), (0, 1)], constraints={"t": "<= 1"})
        for x in POINTS[:6]:
            optimizer.tell(x, {"value": bowl(x), "t": 0.5})
        assert optimizer.recommend().value == bowl(POINTS[:6]).min()
        with pytest.raises(ValueError, match="anywhere is True with constraints"):
            optimizer.recommend(anywhere=True)


def test_minimize_says_both_and_which_is_which() -> None:
    noise = np.random.default_rng(0)
    result = minimize(lambda x: bowl(x) + 0.5 * noise.standard_normal(), [(0, 1)] * 2, budget=25, seed=0)
    assert result.sees_noise
    assert "x is the point that it believes best" in result.message
    assert result.fun_observed == min(
        np.mean([e.value for e in result.history if e.unit == other.unit]) for other in result.history
    )
    assert abs(result.estimate.mean - bowl(result.x)) < 4 * result.estimate.deviation
    calm = minimize(bowl, [(0, 1)] * 2, budget=10, seed=0)
    assert (calm.x == calm.x_observed).all()
    assert calm.fun == calm.fun_observed
    assert calm.message == "the budget of 10 evaluations is used up"


def test_of_many_values_a_choice_is_modelled() -> None:
    points = np.random.default_rng(0).random((1200, 2))
    values = bowl(points) + 0.5 * np.random.default_rng(1).standard_normal(1200)
    found = answer(known(values, points), Config())
    assert found is not None
    assert found.sees_noise
    assert bowl(found.unit) < 0.1

"""What is still to be gained: against grids, where draws can be counted."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from scipy.optimize import minimize as scipy_minimize
from scipy.special import expit, logit

from betabo import Config, Int, Optimizer, Space
from betabo.optimizer import Data, remaining
from betabo.optimizer.remaining import RemainingGain, remaining_gain
from betabo.optimizer.stopping import Regret


def searched(fun: Any, bounds: Any, count: int, **settings: Any) -> Optimizer:
    optimizer = Optimizer(bounds, seed=0, **settings)
    for _ in range(count):
        point = optimizer.ask()
        optimizer.tell(point, fun(point))
    return optimizer


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def test_shrinks_as_the_search_goes_on() -> None:
    early, late = (searched(bowl, [(-5, 10), (0, 15)], count).remaining_gain() for count in (6, 20))
    assert early.bound() > 20 * late.bound()
    assert late.bound() < 0.5
    assert (early.draws >= 0).all()
    assert (np.diff(early.draws) >= 0).all()


def test_the_best_value_is_that_of_the_search() -> None:
    optimizer = searched(bowl, [(-5, 10), (0, 15)], 7)
    assert optimizer.remaining_gain().best == optimizer.result().fun


def test_is_the_share_of_draws_of_a_process_on_a_grid() -> None:
    """With all points of a small space as places, gains are those of plain draws of the posterior there."""
    space = Space({"n": Int(0, 12)})
    optimizer = Optimizer(space, seed=0, kernel="rbf", starting_points=4, power_transform=False)
    for n in (0, 3, 6, 12):
        optimizer.tell({"n": n}, math.sin(n))
    gain = optimizer.remaining_gain()
    from betabo.optimizer.model import Surrogate

    data = optimizer._data()
    output = Surrogate.fit(data, optimizer.config, remaining.mix_seeds(0, 4)).objectives[0]
    grid = space.snap(np.linspace(0, 1, 13)[:, None])
    import torch

    posterior = output.process.posterior(torch.from_numpy(grid))
    draws = posterior.rsample(torch.Size([20_000])).squeeze(-1).numpy() * output.transform.spread
    best = draws[:, [0, 3, 6, 12][int(np.argmin(data.values))]]
    expected = (best - draws.min(axis=1)) * output.transform.scale
    for q in (0.5, 0.9):
        assert np.quantile(gain.draws, q) == pytest.approx(np.quantile(expected, q), abs=0.25 * expected.std())


def test_constraints_count() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((25, 1))
    values = points[:, 0] ** 2
    free = remaining_gain(Data(points, values, np.empty((0, 1)), np.empty((0, 1))), Config(kernel="rbf"))
    below = (0.5 - points) * 1.0  # holds from 0.5 on
    bound = remaining_gain(Data(points, values, np.empty((0, 1)), np.empty((0, 1)), below), Config(kernel="rbf"))
    assert bound.best == values[points[:, 0] >= 0.5].min()
    assert free.best == values.min()
    assert bound.bound(0.8) < 0.2
    never = remaining_gain(Data(points, values, np.empty((0, 1)), np.empty((0, 1)), below + 9), Config(kernel="rbf"))
    assert never.best == math.inf
    assert never.probability(1.0) > 0.5


def test_chances_fall_with_the_gain_and_are_never_0_or_1() -> None:
    gain = RemainingGain(np.linspace(0, 1, 256), 0.0)
    chances = [gain.probability(g) for g in (-1.0, 0.0, 0.5, 0.99, 2.0)]
    assert chances == sorted(chances, reverse=True)
    assert 0 < chances[-1] < chances[0] < 1
    assert gain.raw_probability(0.5) == pytest.approx(0.5, abs=0.01)
    assert gain.probability(gain.bound(0.8)) <= 0.2


def test_the_same_seed_gives_the_same_draws_and_leaves_the_random_state() -> None:
    import torch

    optimizer = searched(bowl, [(-5, 10), (0, 15)], 7)
    state = torch.random.get_rng_state()
    first = optimizer.remaining_gain()
    assert torch.equal(state, torch.random.get_rng_state())
    assert (first.draws == optimizer.remaining_gain().draws).all()


def test_what_has_no_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 0 values, expected at least 2"):
        Optimizer([(0, 1)]).remaining_gain()
    nothing = np.empty((0, 1))
    with pytest.raises(ValueError, match="there are 2 objectives, expected one"):
        remaining_gain(Data(np.zeros((3, 1)), np.zeros((3, 2)), nothing, nothing), Config())


class TestMeasured:
    """What `benchmarks/outlook.py` wrote down, and what the documentation says of it."""

    RUNS = pandas.read_parquet(Path(__file__).parents[2] / "docs" / "results" / "remaining-gain.parquet")

    @staticmethod
    def fitted(table: pandas.DataFrame) -> tuple[float, float]:
        odds, truth = logit(table["believed"].to_numpy()), table["exceeded"].to_numpy(dtype=float)

        def loss(x: Any) -> float:
            chance = expit(x[0] + x[1] * odds)
            return -float(np.mean(truth * np.log(chance) + (1 - truth) * np.log(1 - chance)))

        intercept, slope = scipy_minimize(loss, [0.0, 1.0]).x
        return float(intercept), float(slope)

    def test_the_calibration_is_that_of_the_runs(self) -> None:
        assert self.fitted(self.RUNS) == pytest.approx(remaining.CALIBRATION, abs=0.006)

    def test_chances_hold_on_functions_that_were_left_out(self) -> None:
        names = sorted(self.RUNS["problem"].unique())
        chances = np.empty(len(self.RUNS))
        for group in range(8):
            out = self.RUNS["problem"].isin(names[group::8]).to_numpy()
            intercept, slope = self.fitted(self.RUNS[~out])
            chances[out] = expit(intercept + slope * logit(self.RUNS["believed"].to_numpy()[out]))
        truth = self.RUNS["exceeded"].to_numpy()
        shares = {}
        for low, high in ((0.0, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.0)):
            here = (chances > low) & (chances <= high)
            shares[high] = (round(float(chances[here].mean()), 2), round(float(truth[here].mean()), 2))
        assert shares == {0.2: (0.14, 0.2), 0.4: (0.3, 0.28), 0.6: (0.5, 0.47), 0.8: (0.7, 0.69), 1.0: (0.85, 0.87)}

    def test_searches_that_the_rule_would_have_ended(self) -> None:
        ended = []
        for (problem, _), run in self.RUNS[self.RUNS["share"] == 0.01].groupby(["problem", "seed"]):
            intercept, slope = remaining.CALIBRATION
            chances = expit(intercept + slope * logit(run.sort_values("evaluations")["believed"].to_numpy()))
            first = np.flatnonzero(chances <= Regret().risk)
            if len(first):
                ended.append((problem, bool(run.sort_values("evaluations")["exceeded"].to_numpy()[first[0]])))
        assert self.RUNS.groupby(["problem", "seed"]).ngroups == 72
        assert len(ended) == 23
        assert [problem for problem, wrong in ended if wrong] == ["hartmann6"] * 2 + ["shekel"] * 3 + ["styblinski3"]

"""Steps near the best point."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from betabo import Categorical, Float, Int, Optimizer, Space
from betabo.optimizer import local
from betabo.optimizer.data import Data, Points
from betabo.optimizer.local import local_step

NONE = np.empty((0, 3))
TURN = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
BOTTOM = np.array([0.42, 0.55, 0.61])


def bowl(points: Points) -> Points:
    """An ellipsoid in directions that are no coordinates."""
    turned = (points - BOTTOM) @ TURN.T
    return np.asarray(turned**2 @ np.array([1.0, 30.0, 1000.0]))


def known(count: int = 14, failed: Points = NONE, pending: Points = NONE) -> Data:
    points = np.random.default_rng(0).random((count, 3))
    return Data(points, bowl(points), failed, pending)


def test_finds_the_bottom_of_a_turned_bowl_once_its_coefficients_are_known() -> None:
    data = known()
    found = local_step(data, NONE, 0.5, seed=0)
    assert found is not None
    assert bowl(found.ranked[:1])[0] < 1e-4 * data.values.min()


@pytest.mark.parametrize("radius", [0.3, 0.01, 1e-4])
def test_stays_within_the_radius_and_the_cube(radius: float) -> None:
    points = np.array([[0.0, 1.0, 0.5], *known().points])
    data = Data(points, np.array([-1.0, *bowl(points[1:])]), NONE, NONE)
    found = local_step(data, NONE, radius, seed=0)
    assert found is not None
    assert np.abs(found.ranked - points[0]).max() <= radius * (1 + 1e-9)
    assert found.ranked.min() >= 0
    assert found.ranked.max() <= 1


def test_the_same_arguments_give_the_same_points() -> None:
    first, second = (local_step(known(), NONE, 0.2, seed=3) for _ in range(2))
    assert first is not None
    assert second is not None
    assert np.array_equal(first.ranked, second.ranked)


def test_values_may_have_any_scale_and_offset() -> None:
    data = known()
    steps = [
        local_step(Data(data.points, scale * data.values + offset, NONE, NONE), NONE, 0.2, seed=0)
        for scale, offset in ((1.0, 0.0), (1e-9, 0.0), (1e9, -1e9))
    ]
    plain, *others = (step.ranked[0] for step in steps if step is not None)
    assert len(others) == 2
    for other in others:
        np.testing.assert_allclose(other, plain, atol=1e-3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("largest", [1e160, 1e300, sys.float_info.max])
def test_values_may_be_as_large_as_numbers_are(largest: float) -> None:
    data = known()
    values = np.where(np.arange(len(data.values)) % 4 == 1, largest, data.values)
    for told in (values, -values, values * (-1.0) ** np.arange(len(values))):
        found = local_step(Data(data.points, told, NONE, NONE), NONE, 0.2, seed=0, noise=1e-6)
        assert found is not None
        assert np.isfinite(found.ranked).all()


def test_keeps_away_from_failed_points() -> None:
    first = local_step(known(), NONE, 0.2, seed=0)
    assert first is not None
    found = local_step(known(failed=first.ranked[:1]), NONE, 0.2, seed=0)
    assert found is not None
    assert np.abs(found.ranked[0] - first.ranked[0]).max() > 1e-3


def test_what_is_not_quadratic_is_no_noise() -> None:
    """The process goes through the values near the best one, whatever the best quadratic function leaves over."""
    points = np.random.default_rng(2).random((30, 3))
    values = bowl(points) + 50 * np.sin(7 * points).sum(axis=1)
    centre = points[np.argmin(values)]
    process, figures = local._fit(points - centre, values, np.full(30, np.nan))
    mean, _ = (moment.numpy() for moment in process.leave_one_out())
    fitted = process.posterior(process.x.unsqueeze(-2)).mean.flatten().detach().numpy()
    np.testing.assert_allclose(fitted, process.y.numpy(), atol=1e-4)
    assert figures["remainder"] > 1e-8
    assert np.abs(mean - process.y.numpy()).max() < 3


def test_noise_that_is_known_is_smoothed() -> None:
    points = np.random.default_rng(3).random((60, 2)) - 0.5
    noise = np.random.default_rng(4).normal(0, 0.2, 60)
    truth = (points**2).sum(axis=1) * 10
    process, _ = local._fit(points, truth + noise, np.full(60, 0.04))
    scale = (truth + noise - (truth + noise).min()).std()
    fitted = process.posterior(process.x.unsqueeze(-2)).mean.flatten().detach().numpy() * scale + (truth + noise).min()
    assert np.sqrt(np.mean((fitted - truth) ** 2)) < 0.5 * np.std(noise)


def test_the_most_likely_hyperparameters_are_those_of_the_marginal_likelihood() -> None:
    """The cost agrees with GPyTorch's normal density of the values, up to the constant of the prior."""
    points = np.random.default_rng(5).random((12, 2))
    y = bowl(np.column_stack([points, points[:, 0]]))
    y = (y - y.min()) / y.std()
    evidence = local._Evidence(points, y, np.zeros(12))

    def density(share: float, length: float) -> float:
        fit = evidence.of(share, length)
        kernel = local.local_covariance(fit.amplitude, share, length)
        covariance = kernel(torch.from_numpy(points)).to_dense().detach()
        covariance += local._ROUNDING * fit.amplitude * (1 + share) * torch.eye(12)
        ones, inverse = torch.ones(12, dtype=torch.float64), torch.linalg.inv(covariance)
        mean = (ones @ inverse @ torch.from_numpy(y)) / (ones @ inverse @ ones)
        normal = torch.distributions.MultivariateNormal(mean.expand(12), covariance_matrix=covariance)
        return float(normal.log_prob(torch.from_numpy(y)))

    for share in (1e-2, 1.0):
        prior = 0.5 * (np.log(share / 1e-2) / 5.7) ** 2
        expected = density(1e-2, 2.0) - density(share, 2.0)
        assert evidence.of(share, 2.0).cost - prior - evidence.of(1e-2, 2.0).cost == pytest.approx(expected, abs=1e-3)


def test_where_the_bottom_is_under_way_it_looks_elsewhere() -> None:
    bottom = local_step(known(), NONE, 0.5, seed=0)
    assert bottom is not None
    found = local_step(known(), bottom.ranked[:1], 0.5, seed=0)
    assert found is not None
    assert np.abs(found.ranked[0] - bottom.ranked[0]).max() > 1e-3


def test_equal_values_are_no_obstacle() -> None:
    data = known()
    found = local_step(Data(data.points, np.zeros(14), NONE, NONE), NONE, 0.2, seed=0)
    assert found is not None
    assert np.isfinite(found.ranked).all()


def test_one_point_is_too_little() -> None:
    data = known()
    few = Data(data.points[:4], data.values[:4], NONE, NONE)
    assert local_step(few, NONE, 0.2, seed=0) is None


def test_holds_categories_and_steps_integers() -> None:
    space = Space({"x": Float(0, 1), "n": Int(0, 5), "kind": Categorical(["a", "b", "c"])})
    points = space.snap(np.random.default_rng(0).random((30, space.dims)))
    values = (points[:, 0] - 0.3) ** 2 + (points[:, 1] - 0.6) ** 2 + points[:, 2]
    data = Data(points, values, np.empty((0, 5)), np.empty((0, 5)))
    found = local_step(
        data,
        np.empty((0, 5)),
        0.01,
        seed=0,
        numeric=space.numeric,
        snap=space.snap,
        neighbours=space.neighbours,
    )
    assert found is not None
    best = points[values.argmin()]
    assert np.array_equal(found.ranked, space.snap(found.ranked))
    assert (found.ranked[:, 2:] == best[2:]).all()
    assert len(np.unique(found.ranked[:, 1])) > 1  # the next integers can be reached, though they are far


@pytest.mark.parametrize("radius", [0.0125, 0.1, 0.2, 0.4])
def test_an_integer_may_lie_half_a_step_beyond_the_radius(radius: float) -> None:
    space = Space({"x": Float(0, 1), "n": Int(1, 8), "m": Int(8, 128, log=True)})
    points = space.snap(np.random.default_rng(0).random((30, 3)))
    found = local_step(Data(points, bowl(points), NONE, NONE), NONE, radius, seed=0, snap=space.snap)
    assert found is not None
    assert np.array_equal(found.ranked, space.snap(found.ranked))
    centre = points[np.argmin(bowl(points))]
    assert np.abs(found.ranked - centre).max() <= radius + 0.5 / 7 + 1e-9


def test_there_is_none_where_all_is_a_choice() -> None:
    points = np.eye(4)
    data = Data(points, np.arange(4.0), np.empty((0, 4)), np.empty((0, 4)))
    assert local_step(data, np.empty((0, 4)), 0.2, seed=0, numeric=np.zeros(4, dtype=bool)) is None


class TestInASearch:
    def test_a_saved_search_goes_on_exactly(self) -> None:
        search = Optimizer([(0, 1)] * 3, seed=5)
        for _ in range(16):
            point = search.ask()
            search.tell(point, float(bowl(np.asarray(point)[None])[0]))
        assert {"model", "local"} <= {e.origin for e in search.history}
        resumed = Optimizer.from_json(search.to_json())
        assert np.array_equal(resumed.ask(3), search.ask(3))

    def test_beats_the_model_of_the_whole_box_in_a_turned_bowl(self) -> None:
        def regret(**settings: bool) -> float:
            search = Optimizer([(0, 1)] * 3, seed=5, **settings)
            for _ in range(28):
                point = search.ask()
                search.tell(point, float(bowl(np.asarray(point)[None])[0]))
            return float(search.result().fun)

        assert regret() < 0.1 * regret(local_steps=False)

    @pytest.mark.parametrize("settings", [{"kernel": "rbf"}, {"acquisition": "ucb"}, {"local_steps": False}])
    def test_there_are_none_unless_the_default_is_searched_with(self, settings: dict[str, object]) -> None:
        search = Optimizer([(0, 1)] * 2, seed=0, **settings)
        for _ in range(9):
            point = search.ask()
            search.tell(point, float(np.sum(point)))
        assert "local" not in {e.origin for e in search.history}

    def test_they_can_be_asked_for_with_any_kernel(self) -> None:
        search = Optimizer([(0, 1)] * 2, seed=0, kernel="rbf", local_steps=True)
        for _ in range(8):
            point = search.ask()
            search.tell(point, float(np.sum(point)))
        assert "local" in {e.origin for e in search.history}

    def test_a_batch_has_different_points(self) -> None:
        search = Optimizer([(0, 1)] * 2, seed=0)
        for point in search.ask(8):
            search.tell(point, float((point[0] - 0.3) ** 2 + point[1]))
        batch = np.array(search.ask(6))
        gaps = np.abs(batch[:, None] - batch[None]).max(axis=-1)[np.triu_indices(6, 1)]
        assert gaps.min() > 1e-3


def test_in_many_dimensions_it_takes_as_many_points_as_a_process_can_bear() -> None:
    points = np.random.default_rng(0).random((560, 40))
    data = Data(points, np.square(points - 0.5).sum(axis=1), np.empty((0, 40)), np.empty((0, 40)))
    with pytest.MonkeyPatch.context() as patch:
        sizes: list[int] = []
        whole = local._fit
        patch.setattr(local, "_fit", lambda z, *rest: (sizes.append(len(z)), whole(z, *rest))[1])
        assert local_step(data, np.empty((0, 40)), 0.2, seed=0) is not None
    assert sizes == [500]

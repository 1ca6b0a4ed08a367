"""One step of a search as a function of what is known, and the configuration that steers it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.spatial.distance import pdist

from betabo.acquisition.catalogue import srinivas_schedule
from betabo.optimizer import Config, Data, Proposal, propose
from betabo.optimizer.core import Snap
from betabo.optimizer.data import Points

QUICK = Config(kernel="rbf", starting_points=3)


def known(
    n: int = 8, dims: int = 2, scale: float = 1.0, failed: Any = (), pending: Any = (), values: Any = None
) -> Data:
    points = np.random.default_rng(0).random((n, dims))
    found = scale * ((points - 0.3) ** 2).sum(axis=1) if values is None else np.array(values, dtype=np.float64)
    rows = [np.array(rows, dtype=np.float64).reshape(-1, dims) for rows in (failed, pending)]
    return Data(points, found, *rows)


def nothing(dims: int = 2) -> Data:
    return known(0, dims)


def same(first: Proposal, second: Proposal) -> bool:
    return np.array_equal(first.points, second.points)


class TestStartingDesign:
    @pytest.mark.parametrize("dims", [1, 2, 7])
    def test_has_one_point_in_each_eighth_of_each_coordinate(self, dims: int) -> None:
        points = propose(nothing(dims), Config(starting_points=8), count=8, seed=4).points
        assert points.shape == (8, dims)
        assert (np.sort((points * 8).astype(int), axis=0) == np.arange(8)[:, None]).all()

    def test_does_not_depend_on_how_many_are_asked_for_at_once(self) -> None:
        together = propose(nothing(), QUICK, count=3, seed=1).points
        pending = np.empty((0, 2))
        for _ in range(3):
            one = propose(known(0, pending=pending), QUICK, seed=1).points
            pending = np.concatenate([pending, one])
        assert np.array_equal(together, pending)

    def test_goes_on_until_two_evaluations_have_a_value(self) -> None:
        failed = np.random.default_rng(1).random((6, 2))
        for n, from_model in ((0, False), (1, False), (2, True)):
            proposal = propose(known(n, failed=failed), QUICK)
            assert bool(proposal.diagnostics) == bool(proposal.states) == from_model

    def test_takes_new_points_while_there_are_any(self) -> None:
        def snap(points: Points) -> Points:
            return np.round(points * 2) / 2

        points = propose(nothing(1), Config(starting_points=3), count=3, snap=snap).points
        assert sorted(points[:, 0]) == [0.0, 0.5, 1.0]


class TestModelStep:
    def test_same_arguments_give_the_same_points_whatever_the_state_of_torch(self) -> None:
        first = propose(known(), QUICK, seed=5)
        torch.manual_seed(99)
        torch.rand(3)
        assert same(first, propose(known(), QUICK, seed=5))
        assert not same(first, propose(known(), QUICK, seed=6))

    def test_random_numbers_of_the_caller_are_left_alone(self) -> None:
        torch.manual_seed(1)
        np.random.seed(1)  # noqa: NPY002
        expected = torch.rand(3), np.random.rand(3)  # noqa: NPY002
        torch.manual_seed(1)
        np.random.seed(1)  # noqa: NPY002
        propose(known(), QUICK)
        assert torch.equal(torch.rand(3), expected[0])
        assert np.array_equal(np.random.rand(3), expected[1])  # noqa: NPY002

    def test_arguments_are_left_alone(self) -> None:
        data = known(failed=[[0.9, 0.9]], pending=[[0.1, 0.9]])
        before = [array.copy() for array in (data.points, data.values, data.failed, data.pending)]
        propose(data, QUICK, count=2)
        after = (data.points, data.values, data.failed, data.pending)
        assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))

    def test_improves_on_what_is_known(self) -> None:
        data = known(10)
        (point,) = propose(data, QUICK).points
        assert ((point - 0.3) ** 2).sum() < data.values.min()

    def test_reports_the_fit_and_returns_where_to_start_the_next(self) -> None:
        proposal = propose(known(), Config(starting_points=3, local_steps=False))
        figures = proposal.diagnostics
        assert figures["fit"] == "fitted"
        assert figures["fit_messages"] == []
        assert figures["fit_seconds"] > 0
        assert figures["acquisition_seconds"] > 0
        assert len(figures["bandwidth"]) == 1
        assert len(figures["lengthscale"]) == 2
        assert figures["boundary_weight"] == 0
        (state,) = proposal.states
        assert figures["noise"] == state.noise
        again = propose(known(), Config(starting_points=3, local_steps=False), states=proposal.states)
        assert again.diagnostics["fit_evaluations"] < figures["fit_evaluations"]

    @pytest.mark.parametrize("acquisition", ["log_ei", "pi", "corrected_ei", "ucb"])
    def test_points_of_a_batch_keep_their_distance(self, acquisition: str) -> None:
        config = Config(kernel="rbf", acquisition=acquisition, starting_points=3, noise="none")
        proposal = propose(known(), config, count=3)
        assert proposal.points.shape == (3, 2)
        assert pdist(proposal.points, "chebyshev").min() > 1e-3

    def test_points_of_a_batch_stay_apart_where_the_model_is_sure(self) -> None:
        points = np.random.default_rng(0).random((14, 2))
        bowl = ((points - 0.4) ** 2).sum(axis=1)
        data = Data(points, bowl, np.empty((0, 2)), np.empty((0, 2)))
        proposal = propose(data, Config(kernel="rbf", starting_points=3, noise="none"), count=4)
        assert np.abs(proposal.points[:, None] - proposal.points).max(axis=-1)[np.triu_indices(4, 1)].min() > 1e-3

    def test_first_point_of_a_batch_is_the_point_alone(self) -> None:
        assert np.array_equal(propose(known(), QUICK, count=2).points[:1], propose(known(), QUICK).points)

    def test_pending_and_failed_points_are_avoided(self) -> None:
        config = Config(kernel="rbf", starting_points=3, acquisition="ucb")
        wanted = propose(known(), config, seed=2).points
        for data in (known(pending=wanted), known(failed=wanted)):
            other = propose(data, config, seed=2).points
            assert np.abs(other - wanted).max() > 0.05

    def test_units_of_the_values_do_not_matter(self) -> None:
        # Powers of two, so that nothing is rounded.
        expected = propose(known(), QUICK)
        for scale in (2.0**40, 2.0**-40, 2.0**500):
            assert same(propose(known(scale=scale), QUICK), expected)

    @pytest.mark.parametrize("scale", [2.0**20, 2.0**-20])
    def test_noise_is_a_variance_in_the_units_of_the_values(self, scale: float) -> None:
        loud = Config(kernel="rbf", acquisition="ei", starting_points=3, noise=0.1)
        expected = propose(known(), loud)
        assert expected.diagnostics["noise"] > 0.5
        scaled = Config(kernel="rbf", acquisition="ei", starting_points=3, noise=0.1 * scale**2)
        assert same(propose(known(scale=scale), scaled), expected)
        assert not same(propose(known(scale=scale), loud), expected)

    @pytest.mark.parametrize("scale", [1e-300, 1e300])
    @pytest.mark.parametrize("noise", [0.0, 1e-3, "none", "unknown"])
    def test_extreme_values_with_any_noise_are_survived(self, scale: float, noise: Any) -> None:
        proposal = propose(known(scale=scale), Config(kernel="rbf", starting_points=3, noise=noise))
        assert proposal.diagnostics["fit"] == "fitted"
        assert math.isfinite(proposal.diagnostics["noise"])
        assert ((proposal.points >= 0) & (proposal.points <= 1)).all()

    def test_power_transform_can_be_switched_off(self) -> None:
        values = np.exp(8 * known(12).points.sum(axis=1))
        on, off = (
            propose(known(12, values=values), Config(kernel="rbf", starting_points=3, power_transform=power))
            for power in (True, False)
        )
        assert not same(on, off)

    def test_equal_values_lead_somewhere_new(self) -> None:
        data = known(values=[3.0] * 8)
        proposal = propose(data, QUICK, count=2)
        assert proposal.diagnostics["fit"] == "constant"
        assert np.abs(proposal.points[:, None] - data.points).max(axis=-1).min() > 0.01

    def test_discrete_coordinates_are_respected(self) -> None:
        def snap(points: Points) -> Points:
            return np.round(points * 10) / 10

        points = propose(known(), QUICK, count=2, snap=snap).points
        assert np.array_equal(snap(points), points)

    def test_a_better_neighbour_is_taken(self) -> None:
        # Where only the corners of a fine grid are reachable by rounding, the neighbours are the way to the optimum.
        def snap(points: Points) -> Points:
            return np.round(points)

        offered = np.array([[0.3, 0.3], [0.9, 0.1]])

        def neighbours(point: Points) -> Points:
            assert np.array_equal(snap(point), point)
            return offered

        (point,) = propose(known(12), QUICK, snap=snap, neighbours=neighbours).points
        assert point.tolist() == [0.3, 0.3]

    def test_beta_may_be_a_number_or_a_schedule(self) -> None:
        greedy, curious = (
            propose(known(), Config(kernel="rbf", acquisition="ucb", beta=beta, starting_points=3)).points
            for beta in (0.0, 100.0)
        )
        assert np.abs(greedy - 0.3).max() < np.abs(curious - 0.3).max()
        scheduled = Config(kernel="rbf", acquisition="ucb", beta=srinivas_schedule, starting_points=3)
        number = srinivas_schedule(8, 2)
        fixed = Config(kernel="rbf", acquisition="ucb", beta=number, starting_points=3)
        assert same(propose(known(), scheduled), propose(known(), fixed))


class TestDuplicates:
    @staticmethod
    def three(points: Points) -> Points:
        return np.round(points * 2) / 2

    def propose(self, config: Config, snap: Snap) -> float:
        data = Data(np.array([[0.0], [0.5]]), np.array([1.0, 0.0]), np.empty((0, 1)), np.empty((0, 1)))
        return float(propose(data, config, snap=snap).points[0, 0])

    @pytest.mark.parametrize("noise", ["none", "unknown", 0.0])
    def test_are_not_proposed_while_there_is_something_new(self, noise: Any) -> None:
        assert self.propose(Config(kernel="rbf", noise=noise, starting_points=2), self.three) == 1.0

    def test_are_proposed_where_there_is_nothing_new(self) -> None:
        config = Config(kernel="rbf", starting_points=2)
        assert self.propose(config, lambda points: self.three(points) / 2) in (0.0, 0.25, 0.5)
        assert self.propose(config, lambda points: 0.5 * np.round(points)) in (0.0, 0.5)

    def test_count_within_the_tolerance(self) -> None:
        # Points of a grid that is shifted by less than the tolerance are the same points.
        def shifted(points: Points) -> Points:
            return np.minimum(self.three(points) + 0.01, 1.0)

        wide = Config(kernel="rbf", starting_points=2, duplicate_tolerance=0.02)
        assert self.propose(wide, shifted) == 1.0

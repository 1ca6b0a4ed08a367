"""The maximum of an acquisition function: on faces and at vertices too, where gradient ascent alone does not look."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement
from botorch.models.deterministic import GenericDeterministicModel
from botorch.optim import optimize_acqf
from torch import Tensor

from betabo.acquisition.maximize import MaximizeOptions, climb, maximize, starting_points, with_slopes
from betabo.kernels.catalogue import KERNELS
from betabo.surrogate import GaussianProcess

DIMS = 20
VERTEX = torch.tensor([0.0, 1.0] * (DIMS // 2), dtype=torch.float64)
CENTRE = torch.full((DIMS,), 0.5, dtype=torch.float64)


class Function(AcquisitionFunction):
    """A given function of the points as an acquisition function."""

    def __init__(self, function: object) -> None:
        super().__init__(GenericDeterministicModel(lambda x: x[..., :1]))
        self.function = function
        self.calls = 0

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        self.calls += 1
        return self.function(X.squeeze(-2))  # type: ignore[operator,no-any-return]


def bump(centre: Tensor, width: float, height: float = 1.0) -> object:
    return lambda x: height * torch.exp(-(x - centre).square().sum(dim=-1) / (2 * width**2))


def hill_and_peak(top: Tensor) -> Function:
    """A broad hill at the centre, of height 1, and a narrow peak, of height 2."""
    hill, peak = bump(CENTRE, 1.0), bump(top, 0.4, 2.0)
    return Function(lambda x: torch.maximum(hill(x), peak(x)))  # type: ignore[operator]


def plain_search(function: AcquisitionFunction, dims: int, raw_samples: int, restarts: int) -> tuple[Tensor, Tensor]:
    """Raw samples and gradient ascent, as in BoTorch."""
    box = torch.tensor([[0.0] * dims, [1.0] * dims], dtype=torch.float64)
    point, value = optimize_acqf(function, box, 1, restarts, raw_samples, options={"seed": 0})
    return point.squeeze(-2), value


def near_vertex(distance: float, moved: int = DIMS) -> Tensor:
    """Points next to the faces that meet at the vertex, the first of them the best, `k x d`."""
    generator = torch.Generator().manual_seed(0)
    shift = distance * torch.rand(3, DIMS, generator=generator, dtype=torch.float64)
    shift[:, moved:] = 0
    return (VERTEX - shift).abs()


@pytest.mark.parametrize("seed", range(3))
def test_a_peak_at_a_vertex_is_found_where_gradient_ascent_ends_at_the_hill(seed: int) -> None:
    function = hill_and_peak(VERTEX)
    points, values = maximize(function, near_vertex(0.45), seed=seed)
    assert torch.equal(points[0], VERTEX)
    assert values[0] == 2
    everything = MaximizeOptions()
    samples = everything.raw_samples + 3 * everything.local_samples
    found, value = plain_search(function, DIMS, samples, 4 * everything.starts)
    assert value == pytest.approx(1, abs=1e-3)
    assert (found - CENTRE).abs().max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_a_peak_on_a_face_is_found_from_an_incumbent_beside_it(seed: int) -> None:
    top = VERTEX.clone()
    top[:5] = 0.5  # on a face of five dimensions
    incumbents = near_vertex(0.3)
    incumbents[:, :5] = 0.6
    function = hill_and_peak(top)
    points, values = maximize(function, incumbents, seed=seed)
    assert torch.equal(points[0, 5:], VERTEX[5:])
    assert points[0, :5].tolist() == pytest.approx([0.5] * 5, abs=0.05)
    assert values[0] > 1.9
    _, value = plain_search(function, DIMS, 640, 8)
    assert value == pytest.approx(1, abs=1e-3)


def test_the_maximum_inside_is_found_too() -> None:
    centre = torch.tensor([0.37, 0.81, 0.55], dtype=torch.float64)
    points, values = maximize(Function(bump(centre, 0.1)), torch.zeros(1, 3, dtype=torch.float64), seed=0)
    assert points[0].tolist() == pytest.approx(centre.tolist(), abs=1e-4)
    assert values[0].item() == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("dims", [1, 2, 20])
def test_a_linear_function_is_largest_exactly_at_a_vertex(dims: int) -> None:
    slopes = torch.tensor([(-1) ** i * (i + 1) / dims for i in range(dims)], dtype=torch.float64)
    points, values = maximize(Function(lambda x: x @ slopes), torch.full((1, dims), 0.5).double(), seed=0)
    assert torch.equal(points[0], (slopes > 0).double())
    assert values[0].item() == pytest.approx(slopes.clamp_min(0).sum().item())


def improvement(dims: int = 4) -> LogExpectedImprovement:
    x = torch.rand(10, dims, dtype=torch.float64)
    y = (x - 0.2).square().sum(dim=-1)
    process = GaussianProcess(x, y, KERNELS["beta-matern"].make(dims).double(), 1e-4)
    return LogExpectedImprovement(process, best_f=y.min(), maximize=False)


def test_points_lie_in_the_cube_and_are_sorted_with_their_values() -> None:
    function = improvement()
    points, values = maximize(function, torch.rand(5, 4, dtype=torch.float64), seed=1)
    assert points.shape == (len(values), 4)
    assert ((points >= 0) & (points <= 1)).all()
    assert (values.diff() <= 0).all()
    with torch.no_grad():
        torch.testing.assert_close(function(points.unsqueeze(-2)), values)
    assert not points.requires_grad
    assert not values.requires_grad
    assert len(torch.unique(points, dim=0)) > 100  # enough to choose another one from


def test_it_is_at_least_as_good_as_raw_samples_and_gradient_ascent() -> None:
    function = improvement()
    _, values = maximize(function, torch.rand(5, 4, dtype=torch.float64), seed=1)
    _, value = plain_search(function, 4, 256, 4)
    assert values[0] > value - 1e-4


def test_the_same_seed_gives_the_same_points_whatever_the_state_of_torch() -> None:
    function, incumbents = improvement(), torch.rand(5, 4, dtype=torch.float64)
    results = []
    for seed in (7, 7, 8):
        torch.manual_seed(len(results))
        results.append(maximize(function, incumbents, seed=seed))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])
    assert not torch.equal(results[0][0], results[2][0])


def test_snapped_points_are_all_that_is_returned() -> None:
    def snap(points: Tensor) -> Tensor:
        return torch.cat([(points[:, :2] * 4).round() / 4, points[:, 2:]], dim=-1)

    top = torch.tensor([0.6, 0.1, 0.7], dtype=torch.float64)
    function = Function(bump(top, 0.3))
    points, values = maximize(function, torch.rand(2, 3, dtype=torch.float64), seed=0, snap=snap)
    assert torch.equal(snap(points), points)
    assert points[0].tolist() == pytest.approx([0.5, 0.0, 0.7], abs=1e-3)
    torch.testing.assert_close(function(points.unsqueeze(-2)), values)


def test_options_say_how_hard_to_look() -> None:
    function = Function(bump(CENTRE[:2], 0.3))
    few = MaximizeOptions(raw_samples=8, local_samples=4, starts=1, max_iterations=1)
    points, _ = maximize(function, torch.rand(1, 2, dtype=torch.float64), seed=0, options=few)
    calls, function.calls = function.calls, 0
    more_points, _ = maximize(function, torch.rand(1, 2, dtype=torch.float64), seed=0)
    assert len(points) < len(more_points)
    assert calls < function.calls


def flat(x: Tensor) -> Tensor:
    return 0 * x.sum(dim=-1)


def cliff(x: Tensor) -> Tensor:
    return torch.where(x[..., 0] > 0.5, 1e8, 0.0) + x.sum(dim=-1)


def kink(x: Tensor) -> Tensor:
    return -(x - 0.123).abs().sum(dim=-1).sqrt()


def lost_in_places(x: Tensor) -> Tensor:
    return torch.where(x[..., 0] > 0.7, torch.nan, 0.0) - (x - 0.3).square().sum(dim=-1)


def huge(x: Tensor) -> Tensor:
    return 1e300 * x.sum(dim=-1)


@pytest.mark.parametrize("function", [flat, cliff, kink, huge, lost_in_places], ids=lambda f: f.__name__)
def test_awkward_functions_neither_warn_nor_fail(function: object) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points, values = maximize(Function(function), torch.rand(3, 2, dtype=torch.float64), seed=0)
    assert ((points >= 0) & (points <= 1)).all()
    best = function(points).nan_to_num(nan=-torch.inf).max()  # type: ignore[operator]
    assert values[0] == best > -torch.inf
    assert not values.isnan().any()


def test_one_incumbent_in_one_dimension_is_enough() -> None:
    points, _ = maximize(Function(bump(torch.tensor([0.9]).double(), 0.1)), torch.zeros(1, 1).double(), seed=0)
    assert points[0].item() == pytest.approx(0.9, abs=1e-4)


def test_in_very_many_dimensions_some_coordinates_take_their_turn_on_a_face() -> None:
    incumbents = torch.full((1, 300), 0.5, dtype=torch.float64)
    _, _, faces, _ = starting_points(incumbents, MaximizeOptions(), seed=0)
    single = faces[-256:]
    assert ((single != 0.5).sum(dim=1) == 1).all()
    assert sorted(torch.unique(single).tolist()) == [0.0, 0.5, 1.0]
    assert ((single != 0.5).sum(dim=0) <= 2).all()
    assert len(starting_points(incumbents[:, :100], MaximizeOptions(), seed=0)[2]) == 128 + 200


class Bump(AcquisitionFunction):
    """A hill of which the slopes are known."""

    def __init__(self, top: Tensor) -> None:
        super().__init__(model=None)
        self.top, self.asked = top, 0

    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        return -(X.squeeze(-2) - self.top).square().sum(dim=-1)


class BumpWithSlopes(Bump):
    def with_slopes(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked += 1
        off = points - self.top.numpy()
        return -(off**2).sum(axis=1), -2 * off


@pytest.mark.parametrize("kind", [Bump, BumpWithSlopes])
def test_a_climb_ends_at_the_top_of_the_cube(kind: type[Bump]) -> None:
    top = torch.tensor([0.3, 1.4, -0.2], dtype=torch.float64)
    hill = kind(top)
    found = climb(hill, torch.rand(4, 3, dtype=torch.float64), 50)
    torch.testing.assert_close(found, top.clamp(0, 1).expand(4, 3), rtol=0, atol=1e-5)
    assert (hill.asked > 0) == (kind is BumpWithSlopes)


def test_slopes_of_its_own_are_those_of_autograd() -> None:
    points = torch.rand(5, 3, dtype=torch.float64)
    hill = BumpWithSlopes(torch.full((3,), 0.4, dtype=torch.float64))
    own, others = with_slopes(hill)(points.numpy()), with_slopes(Bump(hill.top))(points.numpy())
    np.testing.assert_allclose(own[0], others[0], rtol=1e-12)
    np.testing.assert_allclose(own[1], others[1], rtol=1e-12)

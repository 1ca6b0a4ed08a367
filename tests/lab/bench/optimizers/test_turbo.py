from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from betabo.lab.bench.optimizers.turbo import TurboSearch, candidates, fitted_model, lowest_of_sample, region_sides

BOUNDS = [(-5.0, 10.0), (0.0, 1.0)]
STARTS = np.array([[0.0, 0.5], [9.0, 0.1], [-5.0, 1.0], [3.0, 0.3]])


def begun(values: list[float]) -> TurboSearch:
    search = TurboSearch()
    search.start(BOUNDS, STARTS.copy(), seed=0)
    for value in values:
        search.tell(search.ask(), value)
    return search


def told(search: TurboSearch, *values: float) -> float:
    """Tell the values of the next points, and give the length of the region."""
    for value in values:
        search.tell(search.ask(), value)
    return search._length


def test_sides_follow_the_length_scales_and_keep_the_volume() -> None:
    sides = region_sides(torch.tensor([0.1, 0.4, 1.6], dtype=torch.float64), 0.8)
    assert sides.tolist() == pytest.approx([0.2, 0.8, 3.2])
    assert sides.prod().item() == pytest.approx(0.8**3)


def test_candidates_lie_in_the_region_and_move_about_twenty_coordinates() -> None:
    centre = torch.full((40,), 0.9, dtype=torch.float64)
    points = candidates(centre, torch.full((40,), 0.4, dtype=torch.float64))
    assert points.shape == (4000, 40)
    assert points.min() >= 0.7
    assert points.max() <= 1.0
    moved = (points != centre).sum(-1)
    assert moved.min() >= 1
    assert moved.double().mean().item() == pytest.approx(20, abs=0.3)


def test_low_dimensions_move_all_coordinates() -> None:
    centre = torch.full((3,), 0.5, dtype=torch.float64)
    assert (candidates(centre, torch.full((3,), 0.4, dtype=torch.float64)) != centre).all()


def test_hyperparameters_stay_in_the_published_intervals() -> None:
    x = torch.rand(20, 3, dtype=torch.float64)
    model = fitted_model(x, (x - 0.3).square().sum(-1))
    assert model.covar_module.base_kernel.nu == 2.5
    assert (
        (model.covar_module.base_kernel.lengthscale > 0.005) & (model.covar_module.base_kernel.lengthscale < 2)
    ).all()
    assert 0.05 < model.covar_module.outputscale.item() < 20
    assert 5e-4 <= model.likelihood.noise.item() < 0.1


def test_a_sure_model_picks_the_lowest_candidate() -> None:
    x = torch.linspace(0, 1, 30, dtype=torch.float64).unsqueeze(-1)
    model = fitted_model(x, (x - 0.35).square().squeeze(-1))
    points = torch.tensor([[0.05], [0.36], [0.8]], dtype=torch.float64)
    assert lowest_of_sample(model, points).item() == 0.36


def test_three_successes_double_and_four_failures_halve_the_region() -> None:
    search = begun([4.0, 3.0, 2.0, 5.0])
    assert told(search, 1.0, 0.9) == 0.8
    assert told(search, 0.8) == 1.6
    assert told(search, 0.7, 0.6, 0.5) == 1.6  # the longest
    assert told(search, 9.0, 9.0, 9.0) == 1.6
    assert told(search, 0.4) == 1.6  # a success ends the row
    assert told(search, 9.0, 9.0, math.nan) == 1.6
    assert told(search, 9.0) == 0.8


def test_a_tiny_gain_is_no_success() -> None:
    search = begun([4.0, 3.0, 2.0, 5.0])
    assert told(search, 2.0 - 1e-3, 2.0 - 1.5e-3, 2.0 - 2e-3, 2.0 - 2.5e-3) == 0.4


def test_starting_points_do_not_count() -> None:
    assert begun([5.0, 4.0, 3.0, 2.0])._length == 0.8


def test_a_region_that_is_too_short_is_followed_by_a_new_one_with_its_own_design(monkeypatch) -> None:
    monkeypatch.setattr("betabo.lab.bench.optimizers.turbo._SHORTEST", 0.5)
    search = begun([4.0, 3.0, 2.0, 5.0])
    assert told(search, 9.0, 9.0, 9.0, 9.0) == 0.8
    assert search._observed.empty
    design = []
    for _ in range(4):
        design.append(search.ask())
        search.tell(design[-1], 9.0)
    assert not search._in_region
    assert np.unique(np.floor(search.to_unit(np.array(design)) * 4), axis=0).shape == (4, 2)  # spread as Sobol points
    search.ask()
    assert search._in_region


def test_figures_of_the_model_are_handed_out() -> None:
    search = begun([4.0, 3.0, 2.0, 5.0])
    assert search.diagnostics() == {}
    told(search, 1.0)
    assert len(search.diagnostics()["lengthscale"]) == 2
    assert search.diagnostics()["fit_seconds"] > 0

"""What a search believes: one process for each objective and constraint, and the best points among them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import torch

from betabo.optimizer import Config, Data
from betabo.optimizer.model import Output, Surrogate

CONFIG = Config(kernel="rbf", noise="none")
POINTS = np.random.default_rng(0).random((8, 2))
NONE = np.empty((0, 2))
BOWL = ((POINTS - 0.3) ** 2).sum(axis=1)


def known(values: np.ndarray, constraints: np.ndarray | None = None) -> Data:
    return Data(POINTS, values, NONE, NONE, np.empty((0, 0)) if constraints is None else constraints)


class TestOutput:
    def test_has_quantiles_around_what_it_saw(self) -> None:
        output = Output.fit(known(BOWL), 100 * BOWL, CONFIG, seed=0, state=None)
        low, middle, high = output.quantiles(POINTS, [0.05, 0.5, 0.95])
        assert middle == pytest.approx(100 * BOWL, abs=0.5)
        assert (low <= middle).all()
        assert (middle <= high).all()

    def test_ends_three_ranges_beyond_the_values(self) -> None:
        output = Output.fit(known(BOWL), BOWL, CONFIG, seed=0, state=None)
        reach = 3 * (BOWL.max() - BOWL.min())
        quantiles = output.quantiles(np.random.default_rng(1).random((50, 2)), [1e-300, 1 - 1e-16])
        assert quantiles.min() >= BOWL.min() - reach
        assert quantiles.max() <= BOWL.max() + reach

    @pytest.mark.filterwarnings("error")
    @pytest.mark.parametrize("largest", [1e160, sys.float_info.max])
    def test_says_finite_numbers_of_values_as_large_as_numbers_are(self, largest: float) -> None:
        for values in (np.where(np.arange(8) == 2, largest, BOWL), largest * (-1.0) ** np.arange(8)):
            output = Output.fit(known(values), values, CONFIG, seed=0, state=None)
            low, high = output.quantiles(POINTS, [0.001, 0.999])
            assert np.isfinite(high - low).all()
            for point in POINTS:
                mean, deviation = output.moments(point)
                assert np.isfinite(mean)
                assert 0 <= deviation <= largest

    def test_expects_little_where_an_evaluation_failed(self) -> None:
        data = Data(POINTS, BOWL, np.array([[0.3, 0.3]]), NONE)
        without, with_failure = (Output.fit(d, BOWL, CONFIG, seed=0, state=None) for d in (known(BOWL), data))
        ((before,),) = without.quantiles([[0.3, 0.3]], [0.5])
        ((after,),) = with_failure.quantiles([[0.3, 0.3]], [0.5])
        assert before < after
        assert after == pytest.approx(BOWL.max(), rel=0.05)

    def test_trusts_a_value_as_far_as_its_variance_says(self) -> None:
        values = 100 * BOWL
        worse = values.copy()
        worst = int(values.argmax())
        worse[worst] = values.min() - 50  # a wild value
        variances = np.full(8, 1e-6)
        trusted = Output.fit(known(worse), worse, CONFIG, 0, None, variances)
        variances[worst] = 1e4
        doubted = Output.fit(known(worse), worse, CONFIG, 0, None, variances)
        ((there,),), ((elsewhere,),) = (o.quantiles(POINTS[[worst]], [0.5]) for o in (trusted, doubted))
        assert there == pytest.approx(worse[worst], abs=1.0)
        assert elsewhere > values.min()


class TestSurrogate:
    def test_has_a_model_for_each_objective_and_each_constraint(self) -> None:
        data = known(np.stack([BOWL, -BOWL], axis=1), (BOWL - 0.1)[:, None])
        found = Surrogate.fit(data, CONFIG, seed=0)
        assert (len(found.objectives), len(found.constraints), len(found.states)) == (2, 1, 3)
        diagnostics = found.diagnostics()
        assert len(diagnostics["models"]) == 3
        assert diagnostics["fit_seconds"] == pytest.approx(sum(m["fit_seconds"] for m in diagnostics["models"]))

    def test_of_one_objective_says_no_more_than_needed(self) -> None:
        assert "models" not in Surrogate.fit(known(BOWL), CONFIG, seed=0).diagnostics()

    def test_knows_the_lowest_values(self) -> None:
        data = known(BOWL)
        found = Surrogate.fit(data, CONFIG, seed=0).incumbents(data, 3)
        assert torch.equal(found, torch.from_numpy(POINTS[np.argsort(BOWL)[:3]]))

    def test_puts_what_violates_a_constraint_last(self) -> None:
        violation = np.where(np.argsort(np.argsort(BOWL)) < 2, 1.0, -1.0)  # the two lowest values
        data = known(BOWL, violation[:, None])
        found = Surrogate.fit(data, CONFIG, seed=0).incumbents(data, len(POINTS))
        order = np.argsort(BOWL)
        assert torch.equal(found[:-2], torch.from_numpy(POINTS[order[2:]]))

    def test_puts_the_front_first(self) -> None:
        values = np.array([[0, 7], [1, 5], [2, 2], [6, 1], [3, 3], [7, 7], [6, 6], [4, 8]], dtype=float)
        data = known(values)
        found = Surrogate.fit(data, CONFIG, seed=0).incumbents(data, 4)
        assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in POINTS[:4].tolist()}

    def test_the_variance_of_the_objective_is_not_that_of_a_constraint(self) -> None:
        small = 0.01 * (POINTS[:, :1] - 0.3)  # of an accuracy that says nothing of the objective's
        found = Surrogate.fit(known(100 * BOWL, small), Config(kernel="rbf", noise=4.0), seed=0)
        low, high = found.constraints[0].quantiles([[0.05, 0.5], [0.95, 0.5]], [0.5])[0]
        assert low < 0 < high


def test_a_thorough_fit_finds_back_from_noise_that_was_taken_for_signal() -> None:
    points = np.hstack([np.random.default_rng(0).random((24, 2)), np.eye(2)[np.arange(24) % 2]])
    noise = 0.4 * np.random.default_rng(0).standard_normal(24)
    values = 4 * ((points[:, :2] - 0.4) ** 2).sum(axis=1) + noise
    data = Data(points, values, np.empty((0, 4)), np.empty((0, 4)))
    usual = Output.fit(data, values, Config(), 0, None)
    thorough = Output.fit(data, values, Config(), 0, None, effort="thorough")
    assert usual.state.noise < 0.01 < 0.05 < thorough.state.noise
    again = Output.fit(data, values, Config(), 0, usual.state, effort="thorough")
    assert again.state.noise > 0.05


def test_a_thorough_fit_of_values_without_noise_is_the_usual_one() -> None:
    usual = Output.fit(known(BOWL), BOWL, Config(), 0, None)
    thorough = Output.fit(known(BOWL), BOWL, Config(), 0, None, effort="thorough")
    assert thorough.state == usual.state


def test_the_default_kernel_knows_of_a_profile_and_others_stay_as_they_are() -> None:
    generator = np.random.default_rng(0)
    points = generator.random((14, 9))
    none = np.empty((0, 9))
    plain = Data(points, points[:, :8].mean(axis=1) ** 2, none, none)
    ordered = Data(points, plain.values, none, none, profiles=(tuple(range(8)),))
    waves = "kernels.2.base_kernel.raw_lengthscale"
    assert len(Surrogate.fit(ordered, Config(), 0).states[0].parameters[waves]) == 5
    assert waves not in Surrogate.fit(plain, Config(), 0).states[0].parameters
    assert waves not in Surrogate.fit(ordered, Config(kernel="matern"), 0).states[0].parameters


def test_a_profile_that_acts_by_its_mean_is_learned_from_few_points() -> None:
    generator = np.random.default_rng(1)
    points, others = generator.random((25, 16)), generator.random((200, 16))
    none = np.empty((0, 16))

    def values(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.sin(12 * x.mean(axis=1)))

    errors = {}
    for profiles in ((), (tuple(range(16)),)):
        model = Surrogate.fit(Data(points, values(points), none, none, profiles=profiles), Config(), 0).objectives[0]
        errors[profiles] = float(np.std(model.quantiles(others, [0.5])[0] - values(others)))
    assert errors[tuple(range(16)),] < 0.5 * errors[()]

"""The catalogue: every name makes a function that can be maximized, and mistakes are explained."""

from __future__ import annotations

import math

import pytest
import torch
from botorch.acquisition import (
    AcquisitionFunction,
    ExpectedImprovement,
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    UpperConfidenceBound,
)
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from torch import Tensor

from betabo import beta_covariance
from betabo.acquisition import (
    ACQUISITIONS,
    DEFAULT_BETA,
    AcquisitionContext,
    LogCorrectedExpectedImprovement,
    LogCorrectedProbabilityOfImprovement,
    make_acquisition,
    srinivas_schedule,
)
from betabo.testing import AcquisitionTests

KINDS = {
    "ucb": UpperConfidenceBound,
    "pi": ProbabilityOfImprovement,
    "ei": ExpectedImprovement,
    "log_ei": LogExpectedImprovement,
    "corrected_pi": LogCorrectedProbabilityOfImprovement,
    "corrected_ei": LogCorrectedExpectedImprovement,
}


def context(n: int = 15, dims: int = 3, **changes: object) -> AcquisitionContext:
    """A bowl around 0.3, observed at random points."""
    x = torch.rand(n, dims, dtype=torch.float64)
    y = (x - 0.3).square().sum(dim=-1, keepdim=True)
    y = (y - y.mean()) / y.std()
    model = SingleTaskGP(x, y, covar_module=beta_covariance(dims), outcome_transform=None).eval()
    known = {"model": model, "best_f": y.min(), "X_observed": x, "step": n, "dims": dims}
    return AcquisitionContext(**(known | changes))  # type: ignore[arg-type]


def candidates(n: int = 200, dims: int = 3) -> Tensor:
    return torch.rand(n, 1, dims, dtype=torch.float64)


class TestConformance(AcquisitionTests):
    """Every function of the catalogue does what is expected of one."""

    @pytest.fixture(autouse=True, params=list(KINDS))
    def _entry(self, request: pytest.FixtureRequest) -> None:
        self.entry = ACQUISITIONS[request.param]
        self.has_closed_form = not request.param.startswith("corrected")

    def make(self, context: AcquisitionContext) -> AcquisitionFunction:
        return self.entry.make(context)


def test_entries_are_the_six_that_are_documented() -> None:
    assert list(ACQUISITIONS) == list(KINDS)
    for name, entry in ACQUISITIONS.items():
        assert entry.name == name
        assert entry.description.endswith(".")
        assert "\n" not in entry.description


@pytest.mark.parametrize("name", KINDS)
def test_every_name_makes_a_function_that_can_be_maximized(name: str) -> None:
    known = context()
    acquisition = make_acquisition(name, known)
    assert type(acquisition) is KINDS[name]
    assert acquisition.maximize is False
    bounds = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)
    candidate, value = optimize_acqf(
        acquisition,
        bounds=bounds,
        q=1,
        num_restarts=4,
        raw_samples=64,
        retry_on_optimization_warning=False,  # corrected PI is not smooth at the incumbent
    )
    assert ((candidate >= 0) & (candidate <= 1)).all()
    assert value >= acquisition(candidates()).max()


@pytest.mark.parametrize("name", KINDS)
def test_all_of_them_prefer_the_lower_of_two_known_points(name: str) -> None:
    known = context(n=60)
    low, high = torch.full((1, 3), 0.3, dtype=torch.float64), torch.full((1, 3), 0.6, dtype=torch.float64)
    acquisition = make_acquisition(name, known)
    assert acquisition(low) > acquisition(high)


def test_ei_and_log_ei_are_the_same_function_on_two_scales() -> None:
    known = context()
    points = candidates()
    ei, log_ei = (make_acquisition(name, known)(points) for name in ("ei", "log_ei"))
    torch.testing.assert_close(ei, log_ei.exp(), rtol=1e-6, atol=1e-15)


def test_ucb_lies_the_root_of_beta_standard_deviations_below_the_mean() -> None:
    known = context(beta=9.0)
    points = candidates()
    posterior = known.model.posterior(points)
    expected = -(posterior.mean - 3 * posterior.variance.sqrt()).flatten()
    torch.testing.assert_close(make_acquisition("ucb", known)(points), expected)


def test_ucb_takes_two_standard_deviations_by_default() -> None:
    assert DEFAULT_BETA == 4.0
    assert make_acquisition("ucb", context()).beta == 4.0


def test_ucb_follows_a_schedule_of_step_and_dimensions() -> None:
    asked = []

    def schedule(step: int, dims: int) -> float:
        asked.append((step, dims))
        return 0.5 * step

    assert make_acquisition("ucb", context(step=7, beta=schedule)).beta == 3.5
    assert asked == [(7, 3)]
    beta = make_acquisition("ucb", context(step=40, beta=srinivas_schedule)).beta
    assert float(beta) == pytest.approx(0.2 * 3 * math.log(80), rel=1e-15)


def test_srinivas_schedule_grows_from_the_first_step() -> None:
    weights = [srinivas_schedule(step, 5) for step in range(1, 200)]
    assert weights[0] == pytest.approx(math.log(2))
    assert weights == sorted(weights)
    with pytest.raises(ValueError, match="step is 0 and dims is 5, expected at least 1"):
        srinivas_schedule(0, 5)


@pytest.mark.parametrize("beta", [-1.0, math.nan, math.inf])
def test_ucb_refuses_impossible_weights(beta: float) -> None:
    with pytest.raises(ValueError, match=r"beta is .*, expected a finite number >= 0"):
        make_acquisition("ucb", context(beta=beta))
    with pytest.raises(ValueError, match="at step 15 in 3 dimensions"):
        make_acquisition("ucb", context(beta=lambda step, dims: beta))


def test_any_factory_is_taken() -> None:
    known = context()
    acquisition = make_acquisition(lambda c: PosteriorMean(c.model, maximize=False), known)
    assert isinstance(acquisition, PosteriorMean)
    assert acquisition.model is known.model


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("logei", "log_ei"), ("LOG_EI", "log_ei"), ("corected_ei", "corrected_ei"), ("EI", "ei"), ("lcb", "ucb")],
)
def test_unknown_names_are_answered_with_the_known_ones_and_the_closest(typo: str, meant: str) -> None:
    with pytest.raises(ValueError, match=f"acquisition is '{typo}', expected one of 'ucb', 'pi', .*") as caught:
        make_acquisition(typo, context())
    assert str(caught.value).endswith(f"Did you mean {meant!r}?")


def test_names_like_nothing_get_no_guess() -> None:
    with pytest.raises(ValueError, match="expected one of") as caught:
        make_acquisition("thompson", context())
    assert "Did you mean" not in str(caught.value)


@pytest.mark.parametrize("made", [None, 3.0, AcquisitionFunction])
def test_factories_must_return_an_acquisition_function(made: object) -> None:
    with pytest.raises(TypeError, match=r"factory .* returned .*, expected a BoTorch AcquisitionFunction"):
        make_acquisition(lambda c: made, context())


def test_other_things_than_names_and_factories_are_refused() -> None:
    with pytest.raises(TypeError, match="acquisition is 3, expected a name or a function"):
        make_acquisition(3, context())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X_observed": torch.zeros(15, 4)}, r"X_observed has shape \(15, 4\), expected n x d with d = dims = 3"),
        ({"best_f": torch.zeros(2)}, r"best_f has shape \(2,\), expected a scalar"),
        ({"step": -1}, "step is -1, expected the number of finished evaluations"),
    ],
)
def test_context_is_checked_at_once(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        context(**changes)

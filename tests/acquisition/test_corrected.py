"""Corrected EI and PI against samples, closed forms, mpmath, and BoTorch's own functions where they must agree."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
import torch
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement
from botorch.acquisition.analytic import LogProbabilityOfImprovement
from botorch.acquisition.objective import ScalarizedPosteriorTransform
from botorch.exceptions.errors import UnsupportedError
from botorch.models import ModelListGP, SingleTaskGP
from botorch.models.model import Model
from botorch.models.transforms import Log, Standardize
from botorch.optim import optimize_acqf
from botorch.posteriors.fully_bayesian import GaussianMixturePosterior
from botorch.posteriors.gpytorch import GPyTorchPosterior
from gpytorch.distributions import MultivariateNormal
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel
from linear_operator import to_linear_operator
from scipy import stats
from torch import Tensor

from betabo import beta_covariance, beta_matern_covariance
from betabo.acquisition import (
    CorrectedExpectedImprovement,
    CorrectedProbabilityOfImprovement,
    LogCorrectedExpectedImprovement,
    LogCorrectedProbabilityOfImprovement,
)

PLAIN = [CorrectedExpectedImprovement, CorrectedProbabilityOfImprovement]
LOG = [LogCorrectedExpectedImprovement, LogCorrectedProbabilityOfImprovement]
ALL = PLAIN + LOG
PAIRS = list(zip(PLAIN, LOG, strict=True))
FLOAT32 = pytest.mark.filterwarnings("ignore:The model inputs are of type torch.float32")
UNIT_BOX = torch.tensor([[0.0] * 3, [1.0] * 3], dtype=torch.float64)


def data(n: int = 12, dims: int = 3, dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    x = torch.rand(n, dims, dtype=torch.float64)
    y = torch.sin(6 * x).sum(dim=-1, keepdim=True) + 0.3 * torch.randn(n, 1, dtype=torch.float64)
    if n > 1:
        y = (y - y.mean()) / y.std()
    return x.to(dtype), y.to(dtype)


def gaussian_process(x: Tensor, y: Tensor, kernel: Kernel | None = None, noise: float = 0.3) -> SingleTaskGP:
    """A model with fixed hyperparameters and mean zero."""
    if kernel is None:
        kernel = RBFKernel()
        kernel.lengthscale = 0.3
    model = SingleTaskGP(x, y, covar_module=kernel, outcome_transform=None)
    model.likelihood.noise = noise
    return model.to(x).eval()


class LinearModel(Model):
    """f(x) = w . (1, x) with w normal: every joint posterior is known by hand."""

    num_outputs = 1
    batch_shape = torch.Size()

    def __init__(self, mean: list[float], variance: list[float]) -> None:
        super().__init__()
        self.weight_mean = torch.tensor(mean, dtype=torch.float64)
        self.weight_variance = torch.tensor(variance, dtype=torch.float64)

    def posterior(self, X: Tensor, *args: object, **kwargs: object) -> GPyTorchPosterior:  # noqa: N803
        features = torch.cat([torch.ones_like(X[..., :1]), X], dim=-1)
        mean, variance = self.weight_mean.to(X), self.weight_variance.to(X)
        covariance = to_linear_operator(features * variance @ features.mT)  # not factored: it may be singular
        return GPyTorchPosterior(MultivariateNormal(features @ mean, covariance))


class Ensemble(SingleTaskGP):
    """Members of a batch as one ensemble, as BoTorch's fully Bayesian models have it."""

    _is_ensemble = True

    def posterior(self, X: Tensor, **kwargs: object) -> GaussianMixturePosterior:  # noqa: N803
        return GaussianMixturePosterior(super().posterior(X.unsqueeze(-3)).distribution)


def at_improvement(u: float, dtype: torch.dtype = torch.float64) -> tuple[LinearModel, Tensor]:
    """A model in which f(0) is the lowest and every x > 0 has the given u < 0, with s = x."""
    return LinearModel([0.0, -u], [0.3, 1.0]), torch.tensor([[0.0], [1.0]], dtype=dtype)


class TestValues:
    @pytest.mark.parametrize("maximize", [False, True])
    def test_equal_averages_over_samples_of_the_joint_posterior(self, maximize: bool) -> None:
        x, y = data()
        model = gaussian_process(x, y)
        mean = model.posterior(x).mean.squeeze(-1)
        incumbent = x[mean.argmax() if maximize else mean.argmin()]
        candidates = torch.rand(6, 1, 3, dtype=torch.float64)
        pairs = torch.cat([candidates, incumbent.expand(6, 1, 3)], dim=-2)
        samples = 40_000
        with torch.no_grad():
            f, f_best = model.posterior(pairs).rsample(torch.Size([samples])).squeeze(-1).unbind(dim=-1)
        gain = f - f_best if maximize else f_best - f
        for drawn, corrected in (
            (gain.clamp_min(0), CorrectedExpectedImprovement),
            ((gain > 0).double(), CorrectedProbabilityOfImprovement),
        ):
            value = corrected(model, X_observed=x, maximize=maximize)(candidates)
            assert value.shape == (6,)
            error = drawn.std(dim=0) / math.sqrt(samples)
            assert ((value - drawn.mean(dim=0)).abs() < 4 * error).all()

    def test_equal_closed_forms_of_a_linear_model(self) -> None:
        model = LinearModel([0.2, -0.5, 1.0], [0.4, 0.7, 0.2])
        observed = torch.tensor([[0.9, 0.1], [0.1, 0.8]], dtype=torch.float64)  # f(observed) = -0.15, 0.95
        candidate = torch.tensor([[[0.3, 0.4]]], dtype=torch.float64)  # f = 0.45
        s = math.sqrt(0.7 * 0.6**2 + 0.2 * 0.3**2)  # the variance of the bias cancels
        u = (-0.15 - 0.45) / s
        ei = CorrectedExpectedImprovement(model, X_observed=observed, maximize=False)(candidate)
        pi = CorrectedProbabilityOfImprovement(model, X_observed=observed, maximize=False)(candidate)
        assert ei.item() == pytest.approx(s * (stats.norm.pdf(u) + u * stats.norm.cdf(u)), rel=1e-12)
        assert pi.item() == pytest.approx(stats.norm.cdf(u), rel=1e-12)

    def test_are_the_usual_ones_when_the_value_of_the_incumbent_is_known(self) -> None:
        model = LinearModel([0.2, 0.5, 1.0], [0.0, 0.7, 0.2])
        observed = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64)  # f(0) = 0.2 for certain
        candidates = torch.rand(20, 1, 2, dtype=torch.float64)
        for corrected, usual in zip(LOG, (LogExpectedImprovement, LogProbabilityOfImprovement), strict=True):
            value = corrected(model, X_observed=observed, maximize=False)(candidates)
            expected = usual(model, best_f=candidates.new_tensor(0.2), maximize=False)(candidates)
            torch.testing.assert_close(value, expected, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize(("plain", "log"), PAIRS)
    def test_log_forms_are_logarithms(self, plain: type, log: type) -> None:
        x, y = data()
        model = gaussian_process(x, y)
        candidates = torch.rand(4, 5, 1, 3, dtype=torch.float64)
        values = [acquisition(model, X_observed=x, maximize=False)(candidates) for acquisition in (plain, log)]
        torch.testing.assert_close(values[0].log(), values[1], rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize(("plain", "log"), PAIRS)
    def test_log_forms_are_finite_where_the_plain_ones_underflow(
        self, plain: type, log: type, dtype: torch.dtype
    ) -> None:
        model, observed = at_improvement(-40.0, dtype)
        candidate = torch.full((1, 1, 1), 0.5, dtype=dtype, requires_grad=True)
        assert plain(model, X_observed=observed, maximize=False)(candidate) == 0
        value = log(model, X_observed=observed, maximize=False)(candidate)
        (gradient,) = torch.autograd.grad(value.sum(), candidate)
        with mp.workdps(60):
            improvement = mp.npdf(-40) - 40 * mp.ncdf(-40)
            exact = float(mp.log(improvement / 2 if log is LogCorrectedExpectedImprovement else mp.ncdf(-40)))
        assert value.item() == pytest.approx(exact, rel=1e-6)
        assert gradient.isfinite().all()

    @pytest.mark.parametrize("acquisition", ALL)
    def test_maximizing_mirrors_minimizing_the_negative(self, acquisition: type) -> None:
        x, y = data()
        candidates = torch.rand(20, 1, 3, dtype=torch.float64)
        up = acquisition(gaussian_process(x, y), X_observed=x, maximize=True)
        down = acquisition(gaussian_process(x, -y), X_observed=x, maximize=False)
        assert up.incumbent.equal(down.incumbent)
        torch.testing.assert_close(up(candidates), down(candidates), rtol=1e-12, atol=0)

    def test_maximization_is_the_default_as_in_botorch(self) -> None:
        x, y = data()
        assert LogCorrectedExpectedImprovement(gaussian_process(x, y), x).maximize

    @FLOAT32
    @pytest.mark.parametrize("acquisition", ALL)
    def test_float32_agrees_with_float64(self, acquisition: type) -> None:
        x, y = data()
        candidates = torch.rand(20, 1, 3, dtype=torch.float64)
        double = acquisition(gaussian_process(x, y), X_observed=x, maximize=False)(candidates)
        single = acquisition(gaussian_process(x.float(), y.float()), X_observed=x.float(), maximize=False)(
            candidates.float()
        )
        assert single.dtype == torch.float32
        torch.testing.assert_close(single.double(), double, rtol=1e-3, atol=1e-4)

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    def test_units_of_the_output_only_scale_the_improvement(self, scale: float) -> None:
        x, y = data()
        models = [
            SingleTaskGP(x, values, covar_module=RBFKernel(), outcome_transform=Standardize(1)).eval()
            for values in (y, scale * y)
        ]
        for acquisition, factor in zip(PLAIN, (scale, 1.0), strict=True):
            one, other = (acquisition(model, X_observed=x, maximize=False) for model in models)
            candidates = (one.incumbent + torch.tensor([0.0, 1e-8, 1e-5, 0.1])[:, None, None]).clamp(0, 1)
            torch.testing.assert_close(other(candidates), factor * one(candidates), rtol=1e-3, atol=0)


class TestIncumbent:
    def test_is_the_argmin_of_the_posterior_mean_not_of_the_noisy_data(self) -> None:
        x = torch.linspace(0, 1, 21, dtype=torch.float64).unsqueeze(-1)
        y = (x - 0.7).square()
        y[2] = -0.2  # an outlier, lower than anything else
        acquisition = LogCorrectedExpectedImprovement(gaussian_process(x, y, noise=0.5), X_observed=x, maximize=False)
        assert x[y.argmin()].item() == pytest.approx(0.1)
        assert acquisition.incumbent.shape == (1, 1)
        assert abs(acquisition.incumbent.item() - 0.7) < 0.15

    def test_is_one_of_the_points_that_were_given(self) -> None:
        x, y = data()
        model = gaussian_process(x, y)
        acquisition = CorrectedExpectedImprovement(model, X_observed=x[3:7], maximize=False)
        assert (acquisition.incumbent == x[3:7]).all(dim=-1).sum() == 1

    @FLOAT32
    @pytest.mark.parametrize("acquisition", ALL)
    @pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
    @pytest.mark.parametrize("kernel", ["beta", "beta-matern", "matern"])
    def test_value_and_gradient_are_finite_there(self, acquisition: type, dtype: torch.dtype, kernel: str) -> None:
        x, y = data(dtype=dtype)
        made = {"beta": beta_covariance, "beta-matern": beta_matern_covariance, "matern": lambda d: MaternKernel()}
        function = acquisition(gaussian_process(x, y, made[kernel](3)), X_observed=x, maximize=False)
        steps = torch.tensor([0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-3], dtype=dtype)
        candidates = (function.incumbent + steps[:, None, None]).clamp(0, 1).requires_grad_()
        value = function(candidates)
        (gradient,) = torch.autograd.grad(value.sum(), candidates)
        assert value.isfinite().all()
        assert gradient.isfinite().all()

    def test_nothing_is_expected_of_evaluating_it_again(self) -> None:
        x, y = data()
        model = gaussian_process(x, y)
        acquisition = CorrectedExpectedImprovement(model, X_observed=x, maximize=False)
        assert acquisition(acquisition.incumbent) < 1e-6 * acquisition(torch.rand(50, 1, 3, dtype=torch.float64)).max()

    def test_is_found_without_a_graph(self) -> None:
        x, y = data()
        acquisition = LogCorrectedExpectedImprovement(
            gaussian_process(x, y), X_observed=x.clone().requires_grad_(), maximize=False
        )
        assert not acquisition.incumbent.requires_grad

    def test_is_the_only_point_when_there_is_one(self) -> None:
        x, y = data(n=1)
        acquisition = LogCorrectedExpectedImprovement(gaussian_process(x, y), X_observed=x, maximize=False)
        candidates = torch.cat([x, torch.rand(4, 3, dtype=torch.float64)]).unsqueeze(-2)
        assert acquisition.incumbent.equal(x)
        assert acquisition(candidates).isfinite().all()


class TestConventions:
    @pytest.mark.parametrize("acquisition", ALL)
    @pytest.mark.parametrize("batch", [(), (1,), (5,), (2, 3), (2, 1, 3)])
    def test_shape_of_the_values_is_that_of_the_batch(self, acquisition: type, batch: tuple[int, ...]) -> None:
        x, y = data()
        candidates = torch.rand(*batch, 1, 3, dtype=torch.float64)
        value = acquisition(gaussian_process(x, y), X_observed=x, maximize=False)(candidates)
        assert value.shape == (batch or (1,))

    def test_batches_hold_the_values_of_their_points(self) -> None:
        x, y = data()
        acquisition = LogCorrectedExpectedImprovement(gaussian_process(x, y), X_observed=x, maximize=False)
        candidates = torch.rand(2, 3, 1, 3, dtype=torch.float64)
        one_by_one = torch.stack([torch.cat([acquisition(point) for point in row]) for row in candidates])
        torch.testing.assert_close(acquisition(candidates), one_by_one, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("acquisition", ALL)
    def test_gradients_are_those_of_finite_differences(self, acquisition: type) -> None:
        x, y = data()
        function = acquisition(gaussian_process(x, y), X_observed=x, maximize=False)
        candidates = torch.rand(4, 1, 3, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(function, candidates, atol=1e-5)

    @pytest.mark.parametrize("acquisition", ALL)
    def test_several_points_at_once_are_refused(self, acquisition: type) -> None:
        x, y = data()
        function = acquisition(gaussian_process(x, y), X_observed=x, maximize=False)
        with pytest.raises(AssertionError, match="Expected X to be `batch_shape x q=1 x d`"):
            function(torch.rand(5, 2, 3, dtype=torch.float64))

    def test_pending_points_are_refused(self) -> None:
        x, y = data()
        acquisition = LogCorrectedExpectedImprovement(gaussian_process(x, y), X_observed=x, maximize=False)
        with pytest.raises(UnsupportedError, match="X_pending"):
            acquisition.set_X_pending(x[:1])

    @pytest.mark.parametrize("shape", [(3,), (0, 3)])
    def test_observed_points_are_needed(self, shape: tuple[int, ...]) -> None:
        x, y = data()
        with pytest.raises(ValueError, match=r"X_observed has shape .*, expected n x d with at least one"):
            LogCorrectedExpectedImprovement(
                gaussian_process(x, y), X_observed=torch.zeros(shape, dtype=torch.float64), maximize=False
            )

    def test_several_outputs_need_a_transform(self) -> None:
        x, y = data()
        models = [gaussian_process(x, values) for values in (y, x.sum(dim=-1, keepdim=True))]
        both = ModelListGP(*models)
        with pytest.raises(UnsupportedError, match="posterior transform"):
            LogCorrectedExpectedImprovement(both, X_observed=x, maximize=False)
        first = ScalarizedPosteriorTransform(torch.tensor([1.0, 0.0], dtype=torch.float64))
        candidates = torch.rand(5, 1, 3, dtype=torch.float64)
        values = [
            LogCorrectedExpectedImprovement(model, x, posterior_transform=transform, maximize=False)(candidates)
            for model, transform in ((both, first), (models[0], None))
        ]
        torch.testing.assert_close(values[0], values[1])

    def test_posteriors_that_are_not_gaussian_are_refused(self) -> None:
        x, y = data()
        model = SingleTaskGP(x, y.exp(), outcome_transform=Log())
        with pytest.raises(UnsupportedError, match="needs the joint Gaussian posterior of two points"):
            LogCorrectedExpectedImprovement(model, X_observed=x, maximize=False)

    @pytest.mark.parametrize("acquisition", ALL)
    @pytest.mark.parametrize("shared", [True, False])
    def test_members_of_a_batch_model_are_treated_one_by_one(self, acquisition: type, shared: bool) -> None:
        members = [data(), data()]
        if shared:
            members[1] = (members[0][0], members[1][1])
        batch_x, batch_y = (torch.stack(parts) for parts in zip(*members, strict=True))
        observed = members[0][0] if shared else batch_x
        function = acquisition(gaussian_process(batch_x, batch_y), X_observed=observed, maximize=False)
        singles = [acquisition(gaussian_process(x, y), X_observed=x, maximize=False) for x, y in members]
        assert function.incumbent.shape == (2, 1, 3)
        candidates = torch.rand(5, 1, 3, dtype=torch.float64)
        expected = torch.stack([single(candidates) for single in singles], dim=-1)
        torch.testing.assert_close(function(candidates.unsqueeze(-3)), expected, rtol=1e-8, atol=1e-8)
        torch.testing.assert_close(function(candidates[0]), expected[0], rtol=1e-8, atol=1e-8)

    @pytest.mark.parametrize(("plain", "log"), PAIRS)
    def test_values_are_averaged_over_an_ensemble(self, plain: type, log: type) -> None:
        x, y = data()
        kernel = RBFKernel(batch_shape=torch.Size([4]))
        kernel.lengthscale = torch.tensor([0.2, 0.3, 0.5, 0.9])[:, None, None]
        model = Ensemble(x.expand(4, -1, -1), y.expand(4, -1, -1), covar_module=kernel, outcome_transform=None).eval()
        candidates = torch.rand(5, 1, 3, dtype=torch.float64)
        function = plain(model, X_observed=x, maximize=False)
        incumbent = x[model.posterior(x).mixture_mean.argmin()]
        assert function.incumbent.equal(incumbent.unsqueeze(0))
        pairs = torch.cat([candidates, incumbent.expand(5, 1, 3)], dim=-2)
        samples = 20_000
        with torch.no_grad():
            drawn = model.posterior(pairs).distribution.rsample(torch.Size([samples]))  # samples x 5 x 4 x 2
        gain = drawn[..., 1] - drawn[..., 0]
        gain = gain.clamp_min(0) if plain is CorrectedExpectedImprovement else (gain > 0).double()
        value = function(candidates)
        assert value.shape == (5,)
        error = gain.std(dim=0).mean(dim=-1) / math.sqrt(samples)
        assert ((value - gain.mean(dim=(0, -1))).abs() < 4 * error).all()
        torch.testing.assert_close(log(model, X_observed=x, maximize=False)(candidates), value.log())

    @pytest.mark.parametrize("acquisition", ALL)
    @pytest.mark.parametrize("make", [beta_covariance, beta_matern_covariance])
    def test_optimizer_finds_more_than_random_points(self, acquisition: type, make: object) -> None:
        x, y = data(n=20)
        function: AcquisitionFunction = acquisition(
            gaussian_process(x, y, make(3)),  # type: ignore[operator]
            X_observed=x,
            maximize=False,
        )
        candidate, value = optimize_acqf(
            function,
            bounds=UNIT_BOX,
            q=1,
            num_restarts=4,
            raw_samples=128,
            retry_on_optimization_warning=False,  # line searches end early at the incumbent, where PI is not smooth
        )
        assert candidate.shape == (1, 3)
        assert value >= function(torch.rand(500, 1, 3, dtype=torch.float64)).max()

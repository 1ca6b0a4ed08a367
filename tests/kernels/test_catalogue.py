"""The kernels by name: what they are, that they evaluate, differentiate and fit."""

from __future__ import annotations

import copy
import math
import pickle
import warnings

import pytest
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim.utils import sample_all_priors
from gpytorch.kernels import AdditiveKernel, Kernel, MaternKernel, RBFKernel, ScaleKernel, SpectralMixtureKernel
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

from betabo import BetaKernel, BetaMaternKernel
from betabo.kernels.baselines.additive import NewtonGirardKernel
from betabo.kernels.baselines.cylindrical import CylindricalKernel
from betabo.kernels.baselines.warped import WarpedKernel
from betabo.kernels.catalogue import KERNELS, make_kernel
from betabo.testing import KernelTests

BASE = {
    "beta": BetaKernel,
    "beta-paper": BetaKernel,
    "beta-correlation": BetaKernel,
    "beta-matern": BetaMaternKernel,
    "beta-additive": AdditiveKernel,
    "rbf": RBFKernel,
    "matern": MaternKernel,
    "spectral-mixture": SpectralMixtureKernel,
    "newton-girard": NewtonGirardKernel,
    "cylindrical": CylindricalKernel,
    "rbf-warped": WarpedKernel,
    "matern-warped": WarpedKernel,
}
BY_PARAMETERS = {"beta-paper", "beta-correlation", "beta-matern", "beta-additive", "rbf", "matern"}
BY_POINTS = {*BY_PARAMETERS, "beta"}


def base_of(kernel: Kernel) -> Kernel:
    return kernel.base_kernel if isinstance(kernel, ScaleKernel) else kernel


def objective(x: Tensor) -> Tensor:
    return (torch.sin(5 * x[..., :1]) + x.square().sum(dim=-1, keepdim=True)).double()


def likelihood_of(x: Tensor, kernel: Kernel) -> ExactMarginalLogLikelihood:
    model = SingleTaskGP(x, objective(x), covar_module=kernel)
    return ExactMarginalLogLikelihood(model.likelihood, model)


def test_the_catalogue_holds_these_kernels() -> None:
    assert list(KERNELS) == list(BASE)
    for name, entry in KERNELS.items():
        assert entry.name == name
        assert entry.description
        assert isinstance(base_of(entry.make(3)), BASE[name])


class TestConformance(KernelTests):
    """Every kernel of the catalogue does what is expected of a kernel."""

    @pytest.fixture(autouse=True, params=list(KERNELS))
    def _entry(self, request: pytest.FixtureRequest) -> None:
        self.entry = KERNELS[request.param]
        self.has_form_by_points = request.param in BY_POINTS
        self.has_form_by_parameters = request.param in BY_PARAMETERS

    def make_kernel(self, dims: int) -> Kernel:
        return self.entry.make(dims)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_and_its_priors_can_be_pickled(name: str) -> None:
    kernel, x = KERNELS[name].make(3).double(), torch.rand(6, 3, dtype=torch.float64)
    other = pickle.loads(pickle.dumps(kernel))
    assert torch.equal(other(x).to_dense(), kernel(x).to_dense())
    assert [entry[0] for entry in other.named_priors()] == [entry[0] for entry in kernel.named_priors()]


def test_boundary_weights_are_those_of_the_names() -> None:
    assert KERNELS["beta"].make(2).base_kernel.learns_boundary_weight
    for name, weight in (("beta-paper", 1.0), ("beta-correlation", 0.0)):
        kernel = KERNELS[name].make(2).base_kernel
        assert not kernel.learns_boundary_weight
        assert kernel.boundary_weight.item() == weight


@pytest.mark.parametrize("name", ["matern", "matern-warped", "beta-matern"])
def test_matern_kernels_are_of_order_five_halves(name: str) -> None:
    kernel = base_of(KERNELS[name].make(2))
    assert getattr(kernel, "base_kernel", kernel).nu == 2.5


@pytest.mark.parametrize("dims", [1, 3, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_evaluates_and_backpropagates(name: str, dims: int) -> None:
    kernel = KERNELS[name].make(dims).double()
    x = torch.rand(12, dims, dtype=torch.float64)
    x[0], x[1], x[2], x[3, 0] = 0.0, 1.0, 0.5, 1.0
    x.requires_grad_()
    covariance = kernel(x).to_dense()
    gradients = torch.autograd.grad(covariance.square().sum(), [x, *kernel.parameters()])
    assert covariance.dtype == torch.float64
    assert all(tensor.isfinite().all() for tensor in (covariance, *gradients))
    torch.testing.assert_close(kernel(x, diag=True), covariance.diagonal())
    assert torch.linalg.eigvalsh(covariance.detach()).min() > -1e-10 * covariance.max()


@pytest.mark.parametrize("dims", [1, 3, 20])
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in ("beta", "beta-paper", "beta-additive")])
def test_prior_variance_starts_at_one(name: str, dims: int) -> None:
    kernel = KERNELS[name].make(dims).double()
    x = torch.rand(5, dims, dtype=torch.float64)
    torch.testing.assert_close(kernel(x, diag=True), torch.ones(5, dtype=torch.float64), rtol=1e-3, atol=0)


@pytest.mark.parametrize("dims", [1, 3, 20])
@pytest.mark.parametrize("name", KERNELS)
def test_start_correlates_points_neither_fully_nor_not_at_all(name: str, dims: int) -> None:
    kernel = KERNELS[name].make(dims).double()
    x = torch.rand(40, dims, dtype=torch.float64)
    covariance = kernel(x).to_dense().detach()
    scale = covariance.diagonal().sqrt()
    correlation = (covariance / (scale * scale.unsqueeze(-1)))[torch.triu(torch.ones(40, 40), 1) > 0]
    assert 0.05 < correlation.abs().mean() < 0.9


@pytest.mark.parametrize("name", KERNELS)
def test_batch_members_are_kernels_of_their_own(name: str) -> None:
    kernel = KERNELS[name].make(3, torch.Size([2])).double()
    assert kernel.batch_shape == (2,)
    assert all(parameter.shape[0] == 2 for parameter in kernel.parameters())
    single = KERNELS[name].make(3).double()
    x = torch.rand(2, 6, 3, dtype=torch.float64)
    for parameter in kernel.parameters():  # two members with different parameters, inside the constraints
        parameter.data[1] *= torch.where(parameter.data[1] > 0, 0.9, 1.1)
    whole = kernel(x).to_dense()
    torch.testing.assert_close(whole[0], single(x[0]).to_dense())
    torch.testing.assert_close(whole[1], kernel[1](x[1]).to_dense())
    torch.testing.assert_close(kernel(x, diag=True), whole.diagonal(dim1=-2, dim2=-1))


@pytest.mark.parametrize("name", KERNELS)
def test_every_prior_can_restart_its_parameter(name: str) -> None:
    for batch_shape in (torch.Size(), torch.Size([2])):
        kernel = KERNELS[name].make(3, batch_shape).double()
        names = [prior for prior, *_ in kernel.named_priors()]
        assert len(names) == len(set(names)) >= 2
        for prior, owner, _, closure, setting_closure in kernel.named_priors():
            assert setting_closure is not None, prior
            before = closure(owner).clone()
            owner.sample_from_prior(prior.rpartition(".")[-1])
            assert not torch.equal(closure(owner), before), prior
        sample_all_priors(kernel)
        assert kernel(torch.rand(5, 3, dtype=torch.float64)).to_dense().isfinite().all()


@pytest.mark.parametrize("name", KERNELS)
def test_parameters_start_inside_their_constraints(name: str) -> None:
    kernel = KERNELS[name].make(4)
    for parameter_name, parameter, constraint in kernel.named_parameters_and_constraints():
        assert constraint is not None, parameter_name
        assert constraint.check_raw(parameter), parameter_name


@pytest.mark.parametrize("name", KERNELS)
def test_entries_and_kernels_can_be_copied(name: str) -> None:
    entry = pickle.loads(pickle.dumps(KERNELS[name]))
    kernel = entry.make(2)
    x = torch.rand(4, 2)
    for other in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert torch.equal(other(x).to_dense(), kernel(x).to_dense())
        assert len(list(other.named_priors())) == len(list(kernel.named_priors()))
    other.load_state_dict(kernel.state_dict())


@pytest.mark.parametrize("name", KERNELS)
def test_fits_a_gaussian_process_without_warnings(name: str) -> None:
    x = torch.rand(25, 3, dtype=torch.float64)
    x[0], x[1] = 0.0, 0.5
    mll = likelihood_of(x, KERNELS[name].make(3))
    mll.train()
    before = mll(mll.model(x), mll.model.train_targets).item()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*torch.jit.*", category=DeprecationWarning)
        fit_gpytorch_mll(mll)
    mll.train()
    assert mll(mll.model(x), mll.model.train_targets).item() > before
    mll.eval()
    test = torch.rand(100, 3, dtype=torch.float64)
    posterior = mll.model.posterior(test)
    assert (posterior.variance > 0).all()
    error = (posterior.mean - objective(test)).square().mean()
    assert error < 0.6 * objective(test).var()
    for parameter_name, parameter, constraint in mll.model.covar_module.named_parameters_and_constraints():
        assert constraint.check_raw(parameter), parameter_name


@pytest.mark.parametrize("dims", [1, 3, 20])
def test_spectral_mixture_has_the_priors_of_the_others(dims: int) -> None:
    kernel = KERNELS["spectral-mixture"].make(dims).double()
    priors = {name: closure(owner) for name, owner, _, closure, _ in kernel.named_priors()}
    expected = KERNELS["rbf"].make(dims).base_kernel.lengthscale.double()
    torch.testing.assert_close(priors["mixture_lengthscales_prior"], expected.expand(4, 1, dims), rtol=1e-5, atol=0)
    torch.testing.assert_close(priors["variance_prior"], torch.ones((), dtype=torch.float64))
    assert priors["mixture_means_prior"].flatten(1).unique().numel() == 4  # the components differ


def test_spectral_mixture_with_one_wave_is_an_rbf_times_a_cosine() -> None:
    kernel = KERNELS["spectral-mixture"].make(1).double()
    kernel.mixture_weights = torch.tensor([1.0, 1e-6, 1e-6, 1e-6], dtype=torch.float64)
    kernel.mixture_means = 1.5
    ((_, _, _, lengthscales, set_lengthscales),) = [p for p in kernel.named_priors() if "lengthscales" in p[0]]
    set_lengthscales(kernel, torch.tensor(0.3, dtype=torch.float64))
    assert lengthscales(kernel).flatten().tolist() == pytest.approx([0.3] * 4)
    found = kernel(torch.tensor([[0.2]]).double(), torch.tensor([[0.45]]).double()).to_dense().item()
    expected = math.exp(-((0.25 / 0.3) ** 2) / 2) * math.cos(2 * math.pi * 1.5 * 0.25)
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", KERNELS)
def test_no_coordinates_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is 0, expected at least 1"):
        KERNELS[name].make(0)
    with pytest.raises(ValueError, match="dims is 0, expected at least 1"):
        make_kernel(name, 0)


def test_kernels_are_made_by_name() -> None:
    first, second = make_kernel("rbf", 4), make_kernel("rbf", 4)
    assert first is not second
    assert first.base_kernel.ard_num_dims == 4


def test_a_given_kernel_is_copied() -> None:
    kernel = ScaleKernel(RBFKernel(ard_num_dims=4))
    made = make_kernel(kernel, 4)
    made.base_kernel.lengthscale = 7.0
    assert kernel.base_kernel.lengthscale[0].tolist() == pytest.approx([math.log(2)] * 4)


def test_a_given_function_makes_the_kernel() -> None:
    assert make_kernel(RBFKernel, 4).ard_num_dims == 4
    assert make_kernel(lambda dims: ScaleKernel(BetaKernel(ard_num_dims=dims)), 2).base_kernel.ard_num_dims == 2
    assert make_kernel(lambda dims: RBFKernel(), 9).ard_num_dims is None


@pytest.mark.parametrize(
    "kernel",
    [
        RBFKernel(active_dims=(0, 2), ard_num_dims=2),
        ScaleKernel(RBFKernel(active_dims=(0, 2), ard_num_dims=2)),
        RBFKernel(active_dims=(0,), ard_num_dims=1) * MaternKernel(active_dims=(1, 2), ard_num_dims=2),
        WarpedKernel(RBFKernel(ard_num_dims=2), ard_num_dims=2, active_dims=(0, 2)),
        WarpedKernel(RBFKernel(ard_num_dims=2, active_dims=(0, 2)), ard_num_dims=3),
    ],
)
def test_kernels_of_some_of_the_coordinates_are_accepted(kernel: Kernel) -> None:
    assert make_kernel(kernel, 3)(torch.rand(4, 3)).to_dense().shape == (4, 4)


@pytest.mark.parametrize(
    "kernel",
    [
        RBFKernel(ard_num_dims=2),
        ScaleKernel(BetaKernel(ard_num_dims=2)),
        RBFKernel(ard_num_dims=3) + MaternKernel(ard_num_dims=2),
        WarpedKernel(RBFKernel(ard_num_dims=2)),
        lambda dims: RBFKernel(ard_num_dims=2),
    ],
)
def test_kernels_of_another_number_of_coordinates_are_refused(kernel: object) -> None:
    with pytest.raises(ValueError, match=r"Kernel has ard_num_dims 2, but the points have 3 coordinates"):
        make_kernel(kernel, 3)  # type: ignore[arg-type]


def test_unknown_names_are_refused_with_the_closest_one() -> None:
    with pytest.raises(
        ValueError, match=r"kernel is 'Mattern', expected one of 'beta', .*'matern-warped'\. Did you mean 'matern'\?"
    ):
        make_kernel("Mattern", 3)
    with pytest.raises(ValueError, match=r"'matern-warped'\.$"):
        make_kernel("xyz", 3)


def test_other_types_are_refused() -> None:
    with pytest.raises(TypeError, match="kernel is a int, expected a name"):
        make_kernel(3, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"kernel returned a str, expected a gpytorch\.kernels\.Kernel"):
        make_kernel(lambda dims: "rbf", 3)

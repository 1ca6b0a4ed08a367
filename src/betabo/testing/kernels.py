"""What every kernel on the unit cube has to do, as a class of tests to derive from."""

from __future__ import annotations

from copy import deepcopy

import torch
from gpytorch.constraints import GreaterThan
from gpytorch.kernels import Kernel
from torch import Tensor
from torch.testing import assert_close

from betabo.kernels.closed_form import by_parameters, by_points


class KernelTests:
    """Tests of a kernel on the unit cube, in double precision on the CPU.

    Derive a class whose name begins with `Test`, so that pytest finds it; for `unittest`, derive it from
    `unittest.TestCase` too. `gpytorch.test.base_kernel_test_case.BaseKernelTestCase` has further tests, of
    `active_dims` and of batches of parameters.

    Attributes:
        dims: Numbers of coordinates that are tried.
        has_form_by_points: Whether the kernel declares covariances with their slopes in the points, see
            `betabo.kernels.closed_form`.
        has_form_by_parameters: Whether it declares a covariance matrix with its slopes in the parameters.
        tolerance: Error of covariances and slopes of the closed form, relative to the largest.

    Example:
        >>> class TestOwnKernel(KernelTests):
        ...     def make_kernel(self, dims: int) -> Kernel:
        ...         return OwnKernel(ard_num_dims=dims)
    """

    dims: tuple[int, ...] = (1, 3)
    has_form_by_points = True
    has_form_by_parameters = True
    tolerance = 1e-8

    def make_kernel(self, dims: int) -> Kernel:
        """A kernel of so many coordinates, with parameters as they would be after a fit."""
        raise NotImplementedError

    def make_reference(self, dims: int) -> Kernel:
        """What the closed form is compared with: the kernel itself, or one that computes the same more exactly."""
        return self.make_kernel(dims)

    def test_covariance_is_symmetric_and_positive_semidefinite(self) -> None:
        """Its eigenvalues are not negative, up to rounding, among faces, vertices and points that nearly coincide."""
        for dims in self.dims:
            kernel, x = self.make_kernel(dims).double(), cloud(dims)
            with torch.no_grad():
                covariance = kernel(x, x.clone()).to_dense()
            assert covariance.isfinite().all(), "a covariance is not finite"
            largest = covariance.abs().max().item()
            assert_close(covariance, covariance.mT, rtol=0, atol=1e-8 * largest)
            eigenvalues = torch.linalg.eigvalsh((covariance + covariance.mT) / 2)
            assert eigenvalues[0] > -1e-8 * eigenvalues[-1], f"an eigenvalue is {eigenvalues[0]:g}"

    def test_diagonal_is_that_of_the_matrix(self) -> None:
        """`diag=True` gives the variances, and the covariances of two sets of points one by one."""
        for dims in self.dims:
            kernel, x = self.make_kernel(dims).double(), cloud(dims)
            with torch.no_grad():
                matrix, shifted = kernel(x, x.clone()).to_dense(), kernel(x, x.flip(0)).to_dense()
                assert_close(kernel(x, diag=True), matrix.diagonal(), rtol=1e-8, atol=1e-10)
                assert_close(kernel(x, x.flip(0), diag=True), shifted.diagonal(), rtol=1e-8, atol=1e-10)

    def test_batches_of_points_are_taken_one_by_one(self) -> None:
        """Leading dimensions of the points are those of the covariance."""
        for dims in self.dims:
            kernel = self.make_kernel(dims).double()
            x, y = uniform(2, 3, 5, dims), uniform(3, 4, dims, seed=1)
            with torch.no_grad():
                whole = kernel(x, y).to_dense()
                assert whole.shape == (2, 3, 5, 4)
                for i in range(2):
                    for j in range(3):
                        assert_close(whole[i, j], kernel(x[i, j], y[j]).to_dense(), rtol=1e-7, atol=1e-9)

    def test_a_copy_is_equal_and_independent(self) -> None:
        """A fitted process keeps a copy of its kernel."""
        for dims in self.dims:
            kernel, x = self.make_kernel(dims).double(), cloud(dims)
            with torch.no_grad():
                before, other = kernel(x).to_dense(), deepcopy(kernel)
                assert torch.equal(other(x).to_dense(), before), "a copy has other covariances"
                for parameter in other.parameters():
                    parameter.add_(0.3)
                assert torch.equal(kernel(x).to_dense(), before), "a copy shares parameters"

    def test_gradients_are_finite_everywhere(self) -> None:
        """In the points and in the parameters, on faces, at vertices, and where points coincide."""
        for dims in self.dims:
            kernel, x = self.make_kernel(dims).double(), cloud(dims).requires_grad_()
            covariance = kernel(x, x.detach().flip(0)).to_dense()
            inputs = [x, *(parameter for parameter in kernel.parameters() if parameter.requires_grad)]
            for gradient in torch.autograd.grad(covariance.sum(), inputs, allow_unused=True):
                assert gradient is None or gradient.isfinite().all(), "a gradient is not finite"

    def test_gradients_are_finite_differences(self) -> None:
        """In the points, away from faces, and in the parameters."""
        for dims in self.dims:
            kernel = self.make_kernel(dims).double()
            x, y = (0.1 + 0.8 * uniform(count, dims, seed=count) for count in (4, 3))
            wanted = [x.requires_grad_(), y.requires_grad_(), *(p for p in kernel.parameters() if p.requires_grad)]
            for tensor in wanted:
                _assert_slope(kernel, x, y, tensor)

    def test_closed_form_by_points(self) -> None:
        """Covariances with data, variances and slopes in the points are those of the kernel by autograd."""
        for dims in self.dims:
            x = cloud(dims)
            form = by_points(self.make_kernel(dims).double(), x)
            assert (form is not None) is self.has_form_by_points, f"there is {form} instead"
            if form is None:
                continue
            kernel = self.make_reference(dims).double()
            points = torch.cat([x[:4], uniform(5, dims, seed=2)]).requires_grad_()
            covariance, variance = kernel(points, x).to_dense(), kernel(points, diag=True)
            weights, own_weights = uniform(*covariance.shape, seed=3) - 0.5, uniform(*variance.shape, seed=4) - 0.5
            total = (covariance * weights).sum() + (variance * own_weights).sum()
            (slopes,) = torch.autograd.grad(total, points)
            found = form(points.detach().numpy())
            self._assert_near(torch.from_numpy(found.covariance), covariance)
            self._assert_near(torch.from_numpy(found.variance), variance)
            self._assert_near(torch.from_numpy(found.gradient(weights.numpy(), own_weights.numpy())), slopes)

    def test_closed_form_by_parameters(self) -> None:
        """The covariance matrix of data and its slopes in the parameters' logarithms are those by autograd."""
        for dims in self.dims:
            x, kernel = cloud(dims), without_transforms(self.make_kernel(dims).double())
            parameters = dict(kernel.named_parameters())
            places, start = {}, 0
            for parameter in parameters.values():
                places[parameter] = slice(start, start + parameter.numel())
                start += parameter.numel()
            form = by_parameters(kernel, x, places)
            assert (form is not None) is self.has_form_by_parameters, f"there is {form} instead"
            if form is None:
                continue
            reference = without_transforms(self.make_reference(dims).double())
            logs = torch.cat([parameter.detach().flatten() for parameter in parameters.values()]).log()
            for seed, reach in enumerate((0.0, 0.4, 0.4)):
                vector = logs + reach * (uniform(start, seed=seed) - 0.5)
                for name, parameter in reference.named_parameters():
                    parameter.data.copy_(vector[places[parameters[name]]].exp().view_as(parameter))
                covariance = reference(x).to_dense()
                weights = uniform(len(x), len(x), seed=9 + seed) - 0.5
                weights = weights + weights.mT
                slopes = torch.autograd.grad((covariance * weights).sum(), list(reference.parameters()))
                by_log = torch.cat(
                    [(slope * p).detach().flatten() for slope, p in zip(slopes, reference.parameters(), strict=True)]
                )
                found, gradient = form(vector.numpy()), torch.zeros(start, dtype=torch.float64)
                if found is None:
                    assert reach > 0, "the form gives up at the kernel's own parameters"
                    continue
                found.add_gradient(weights.numpy(), gradient.numpy())
                self._assert_near(torch.from_numpy(found.covariance), covariance)
                self._assert_near(gradient, by_log)

    def _assert_near(self, found: Tensor, expected: Tensor) -> None:
        expected = expected.detach()
        assert_close(found, expected, rtol=0, atol=self.tolerance * max(1.0, expected.abs().max().item()))


@torch.no_grad()
def _assert_slope(kernel: Kernel, x: Tensor, y: Tensor, tensor: Tensor) -> None:
    """The slope in a random direction of one of the points or parameters is that of finite differences."""
    weights, direction, step = uniform(len(x), len(y), seed=7) - 0.5, uniform(*tensor.shape, seed=8) - 0.5, 1e-5
    with torch.enable_grad():
        total = (kernel(x, y).to_dense() * weights).sum()
        (gradient,) = torch.autograd.grad(total, tensor, allow_unused=True, materialize_grads=True)
    ends, value = [], tensor.clone()
    for sign in (1, -1):
        tensor.copy_(value + sign * step * direction)
        ends.append((kernel(x, y).to_dense() * weights).sum())
    tensor.copy_(value)
    assert_close((gradient * direction).sum(), (ends[0] - ends[1]) / (2 * step), rtol=1e-4, atol=1e-7)


def uniform(*shape: int, seed: int = 0) -> Tensor:
    """Numbers between 0 and 1, always the same."""
    return torch.rand(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def cloud(dims: int) -> Tensor:
    """Points all over the cube, on faces, at vertices, two that coincide and one close to another, `n x d`."""
    inside = uniform(6, dims)
    faces = torch.where(uniform(4, dims, seed=1) < 0.5, inside[:4].round(), inside[:4])
    near = (inside[:2] + torch.tensor([[0.0], [1e-5]], dtype=torch.float64)).clamp(0, 1)
    return torch.cat([inside, faces, inside[:3].round(), near])


def without_transforms(kernel: Kernel) -> Kernel:
    """The kernel with positive parameters that stand for themselves, as a closed form by parameters needs them."""
    for name, parameter, constraint in list(kernel.named_parameters_and_constraints()):
        if constraint is None or not constraint.enforced or float(constraint.lower_bound) < 0:
            continue
        path, _, local = name.rpartition(".")
        module, value = kernel.get_submodule(path), constraint.transform(parameter.detach())
        module.register_constraint(local, GreaterThan(1e-8, transform=None))
        parameter.data.copy_(value)
    return kernel

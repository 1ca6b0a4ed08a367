"""What every acquisition function for betabo has to do, as a class of tests to derive from."""

from __future__ import annotations

import torch
from botorch.acquisition.acquisition import AcquisitionFunction
from torch.testing import assert_close

from betabo.acquisition.catalogue import AcquisitionContext
from betabo.acquisition.lean import LeanAcquisition, lean_form
from betabo.kernels.factory import beta_matern_covariance
from betabo.surrogate import GaussianProcess
from betabo.testing.kernels import cloud, uniform


class AcquisitionTests:
    """Tests of an acquisition function for single points of the unit cube, of which more is better.

    Derive a class whose name begins with `Test`, so that pytest finds it; for `unittest`, derive it from
    `unittest.TestCase` too.

    Attributes:
        dims: Numbers of coordinates that are tried.
        has_closed_form: Whether the function has a rule, see `betabo.acquisition.lean`, so that values and gradients
            are computed without autograd.

    Example:
        >>> class TestOwnAcquisition(AcquisitionTests):
        ...     def make(self, context: AcquisitionContext) -> AcquisitionFunction:
        ...         return OwnAcquisition(context.model, best_f=context.best_f)
    """

    dims: tuple[int, ...] = (1, 3)
    has_closed_form = False

    def make(self, context: AcquisitionContext) -> AcquisitionFunction:
        """The function; this is what `Config(acquisition=...)` takes."""
        raise NotImplementedError

    def make_context(self, dims: int) -> AcquisitionContext:
        """What is known: a process of so many coordinates, fitted to a dozen values."""
        x = uniform(12, dims)
        y = torch.sin(6 * x).sum(dim=-1) + 0.1 * uniform(12, seed=1)
        y = (y - y.mean()) / y.std()
        model = GaussianProcess(x, y, beta_matern_covariance(dims).double(), 1e-2)
        return AcquisitionContext(model=model, best_f=y.min(), X_observed=x, step=len(y), dims=dims)

    def test_values_have_the_shape_of_the_batch(self) -> None:
        """`b x 1 x d` points have `b` values, with any number of batch dimensions; one point alone has one."""
        for dims in self.dims:
            function, points = self._function(dims), uniform(2, 4, 1, dims)
            with torch.no_grad():
                values = function(points)
                assert values.shape == (2, 4), f"values have shape {tuple(values.shape)}"
                assert values.dtype == torch.float64
                assert_close(function(points[1]), values[1], rtol=1e-6, atol=1e-8)
                assert_close(function(points[1, 2:3]), values[1, 2:3], rtol=1e-6, atol=1e-8)
                assert_close(function(points[1, 2]).view(()), values[1, 2], rtol=1e-6, atol=1e-8)

    def test_values_and_gradients_are_finite_everywhere(self) -> None:
        """On faces, at vertices, next to the data and far from them."""
        for dims in self.dims:
            context = self.make_context(dims)
            near = (context.X_observed[:4] + 1e-3 * (uniform(4, dims, seed=2) - 0.5)).clamp(0, 1)
            points = torch.cat([cloud(dims), near]).unsqueeze(-2).requires_grad_()
            values = self.make(context)(points)
            (gradient,) = torch.autograd.grad(values.sum(), points)
            assert values.isfinite().all(), "a value is not finite"
            assert gradient.isfinite().all(), "a gradient is not finite"

    def test_gradients_are_finite_differences(self) -> None:
        """Away from the data, where the function may have a kink."""
        for dims in self.dims:
            function, points = self._function(dims), 0.1 + 0.8 * uniform(5, 1, dims, seed=3)
            torch.autograd.gradcheck(function, points.requires_grad_(), atol=1e-5, rtol=1e-4)

    def test_points_and_values_do_not_depend_on_what_was_asked_before(self) -> None:
        """Asked again it gives the same values, and it leaves the points as they are."""
        for dims in self.dims:
            function, points = self._function(dims), uniform(6, 1, dims)
            kept = points.clone()
            with torch.no_grad():
                first = function(points)
                function(uniform(3, 1, dims, seed=4))
                assert torch.equal(function(points), first), "the same points have other values"
            assert torch.equal(points, kept), "the points were changed"

    def test_closed_form(self) -> None:
        """Values and gradients without autograd are those of the function itself."""
        for dims in self.dims:
            function = self._function(dims)
            lean = lean_form(function)
            assert isinstance(lean, LeanAcquisition) is self.has_closed_form, f"its form is {type(lean).__name__}"
            points = cloud(dims).unsqueeze(-2).requires_grad_()
            expected, found = function(points), lean(points)
            (slopes,) = torch.autograd.grad(expected.sum(), points)
            (found_slopes,) = torch.autograd.grad(found.sum(), points)
            assert_close(found, expected, rtol=1e-6, atol=1e-7)
            assert_close(found_slopes, slopes, rtol=1e-5, atol=1e-6 * max(1.0, slopes.abs().max().item()))

    def _function(self, dims: int) -> AcquisitionFunction:
        return self.make(self.make_context(dims))

"""The tests of an acquisition function let good ones pass, and each finds the function that breaks what it is about."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from botorch.acquisition import AcquisitionFunction, LogExpectedImprovement
from botorch.acquisition.analytic import AnalyticAcquisitionFunction
from botorch.utils.transforms import t_batch_mode_transform
from torch import Tensor

from betabo.acquisition.catalogue import AcquisitionContext
from betabo.acquisition.lean import Outcome, rule_of
from betabo.testing import AcquisitionTests


class LowMean(AnalyticAcquisitionFunction):
    """Minus the posterior mean, after `change`."""

    @t_batch_mode_transform(expected_q=1)
    def forward(self, X: Tensor) -> Tensor:  # noqa: N803
        return self.change(-self.model.posterior(X).mean.squeeze(-1).squeeze(-1), X)

    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        del X
        return values


class TestOwnFunction(AcquisitionTests):
    def make(self, context: AcquisitionContext) -> AcquisitionFunction:
        return LowMean(context.model)


class TestFunctionWithRule(AcquisitionTests):
    has_closed_form = True

    def make(self, context: AcquisitionContext) -> AcquisitionFunction:
        return LogExpectedImprovement(context.model, best_f=context.best_f, maximize=False)


class OtherShape(LowMean):
    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        del X
        return values.unsqueeze(-1)


class BatchesMixed(LowMean):
    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        del X
        return values.flip(0)


class NotFinite(LowMean):
    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        return values + X[..., 0, 0].sqrt()


class WrongSlope(LowMean):
    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        del X
        return 1.1 * values - 0.1 * values.detach()


class Forgetful(LowMean):
    calls = 0

    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        del X
        self.calls += 1
        return values + 1e-3 * self.calls


class Grabbing(LowMean):
    def change(self, values: Tensor, X: Tensor) -> Tensor:  # noqa: N803
        X.detach().mul_(0.999)
        return values


class WrongRule(LowMean):
    pass


@rule_of(WrongRule)
def wrong(acquisition: WrongRule) -> Callable[[np.ndarray, np.ndarray], Outcome]:
    del acquisition
    return lambda mean, sigma: Outcome(-mean, np.full_like(mean, -1.001), np.zeros_like(sigma))


CASES: list[tuple[type[LowMean], Callable[[AcquisitionTests], None]]] = [
    (OtherShape, AcquisitionTests.test_values_have_the_shape_of_the_batch),
    (BatchesMixed, AcquisitionTests.test_values_have_the_shape_of_the_batch),
    (NotFinite, AcquisitionTests.test_values_and_gradients_are_finite_everywhere),
    (WrongSlope, AcquisitionTests.test_gradients_are_finite_differences),
    (Forgetful, AcquisitionTests.test_points_and_values_do_not_depend_on_what_was_asked_before),
    (Grabbing, AcquisitionTests.test_points_and_values_do_not_depend_on_what_was_asked_before),
    (WrongRule, AcquisitionTests.test_closed_form),
]


@pytest.mark.parametrize(("kind", "test"), CASES, ids=lambda case: case.__name__)
def test_what_is_broken_is_found(kind: type[LowMean], test: Callable[[AcquisitionTests], None]) -> None:
    class Tests(AcquisitionTests):
        has_closed_form = kind is WrongRule

        def make(self, context: AcquisitionContext) -> AcquisitionFunction:
            return kind(context.model)

    with pytest.raises((AssertionError, RuntimeError)):
        test(Tests())


@pytest.mark.parametrize("kind", [TestOwnFunction, TestFunctionWithRule])
def test_a_form_that_is_missing_or_not_claimed_is_found(kind: type[AcquisitionTests]) -> None:
    tests = kind()
    tests.has_closed_form = not tests.has_closed_form
    with pytest.raises(AssertionError, match="its form is"):
        tests.test_closed_form()

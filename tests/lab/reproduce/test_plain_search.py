from __future__ import annotations

import numpy as np
import pytest
import torch
from botorch.exceptions.errors import OptimizationGradientError
from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

from betabo.kernels import BetaKernel
from betabo.lab.bench.optimizers import make_adapter
from betabo.lab.bench.run import Run, perform
from betabo.lab.reproduce import plain_search
from betabo.lab.reproduce.plain_search import PlainSettings, fit_model, maximize_bound

KERNELS = {"rbf": RBFKernel, "matern": MaternKernel, "beta-paper": BetaKernel}


def data(count: int = 20, dims: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(count, dims, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return x, 100 + 30 * (x - 0.3).square().sum(-1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scale", [True, False])
def test_plain_likelihood_has_no_prior(kernel: str, scale: bool) -> None:
    model, status = fit_model(*data(), PlainSettings(kernel, scale=scale))
    assert status == "fitted"
    assert not list(model.named_priors())
    assert isinstance(model.covar_module, ScaleKernel) == scale
    base = model.covar_module.base_kernel if scale else model.covar_module
    assert type(base) is KERNELS[kernel]


def test_priors_are_those_that_are_named() -> None:
    names = {
        (kernel, priors): {
            name for name, *_ in fit_model(*data(), PlainSettings(kernel, priors=priors))[0].named_priors()
        }
        for kernel in ("rbf", "matern")
        for priors in ("botorch", "betabo")
    }
    assert "covar_module.lengthscale_prior" in names["rbf", "botorch"]
    assert {"covar_module.outputscale_prior", "covar_module.base_kernel.lengthscale_prior"} <= names[
        "matern", "botorch"
    ]
    assert any("lengthscale_prior" in name for name in names["rbf", "betabo"])


def test_values_are_standardized_if_wanted() -> None:
    x, y = data()
    raw, standardized = (fit_model(x, y, PlainSettings("rbf", standardize=s))[0] for s in (False, True))
    torch.testing.assert_close(raw.train_targets, -y)
    assert standardized.train_targets.mean().abs() < 1e-9
    assert standardized.train_targets.std() == pytest.approx(1)


@pytest.mark.filterwarnings("ignore:Optimization failed:RuntimeWarning")  # BoTorch tries again
@pytest.mark.parametrize("engine", ["botorch", "betabo"])
@pytest.mark.parametrize("standardize", [True, False])
def test_both_engines_find_the_best_bound_of_a_smooth_function(engine: str, standardize: bool) -> None:
    x, y = data(30)
    settings = PlainSettings("rbf", standardize=standardize, weight=0.01, engine=engine)
    torch.manual_seed(0)
    model, _ = fit_model(x, y, settings)
    point = maximize_bound(model, x, y, settings)
    np.testing.assert_allclose(point.numpy(), [0.3, 0.3], atol=0.03)


@pytest.mark.parametrize("engine", ["botorch", "betabo"])
def test_gradients_that_are_no_numbers_leave_the_best_of_random_points(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OptimizationGradientError("NaN", current_x=np.zeros(2))

    monkeypatch.setattr(plain_search, "optimize_acqf", fail)
    monkeypatch.setattr(plain_search, "maximize", fail)
    x, y = data(30)
    settings = PlainSettings("rbf", weight=0.01, engine=engine)
    model, _ = fit_model(x, y, settings)
    torch.manual_seed(0)
    point = maximize_bound(model, x, y, settings)
    torch.manual_seed(0)
    if engine == "betabo":
        torch.randint(2**31, ())  # the seed of its starts
    points = torch.rand(plain_search.RAW_SAMPLES, 2, dtype=torch.float64)
    nearest = (points - 0.3).square().sum(-1).argmin()  # where a smooth function is lowest
    torch.testing.assert_close(point, points[nearest])


def test_search_can_be_repeated() -> None:
    settings = {"kernel": "matern", "scale": False, "weight": 0.1, "engine": "betabo"}
    run = Run("m", "plain", settings, "levy-2-face", 3, 9, 6, ("betabo.lab.reproduce.plain_search",))
    first, second = (perform(run).rows for _ in range(2))
    assert [row["x"] for row in first] == [row["x"] for row in second]
    assert first[-1]["fit"] == "fitted"
    assert len(first[-1]["lengthscale"]) == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "cubic"}, "kernel is 'cubic', expected one of 'rbf'"),
        ({"kernel": "rbf", "priors": "flat"}, "priors is 'flat', expected one of 'none'"),
        ({"kernel": "rbf", "engine": "v8"}, "engine is 'v8', expected one of 'botorch'"),
        ({"kernel": "rbf", "weight": -1.0}, "weight is -1.0, expected a number >= 0"),
    ],
    ids=["kernel", "priors", "engine", "weight"],
)
def test_bad_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_adapter("plain", settings)

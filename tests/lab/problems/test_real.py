from __future__ import annotations

import sys

import numpy as np
import pytest
import torch
from scipy.optimize import minimize as local_search
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from betabo.lab.problems import PROBLEMS, problem_by_name
from betabo.lab.problems.designs import Design, PressureVessel, SpeedReducer
from betabo.lab.problems.landing import LunarLander
from betabo.lab.problems.learning import BoostingDiabetes, MlpDigits, SvmCancer

CLASSES = {
    "pressure_vessel": PressureVessel,
    "speed_reducer": SpeedReducer,
    "svm_cancer": SvmCancer,
    "boosting_diabetes": BoostingDiabetes,
    "mlp_digits": MlpDigits,
    "lunar_lander": LunarLander,
}
NAMES = {name: f"{name}-{len(kind.coordinates)}-centre" for name, kind in CLASSES.items()}


@pytest.fixture(autouse=True)
def _has_its_package(request) -> None:
    if "lunar_lander" in request.node.name:
        pytest.importorskip("gymnasium")


@pytest.mark.parametrize("name", CLASSES)
def test_the_best_point_known_has_the_best_value(name) -> None:
    problem = problem_by_name(NAMES[name])
    value = problem(problem.optimizers[0]).item()
    assert value == pytest.approx(problem.optimal_value, rel=1e-5)
    assert value >= problem.optimal_value - 1e-9
    assert PROBLEMS[name].smallest_dim == problem.dim


@pytest.mark.parametrize("name", CLASSES)
def test_values_are_the_same_every_time_and_never_below_the_best(name) -> None:
    first, second = problem_by_name(NAMES[name]), problem_by_name(NAMES[name])
    points = torch.rand(3, first.dim, dtype=torch.float64)
    values = first.evaluate_unit(points)
    assert values.shape == (3,)
    assert torch.equal(values, second.evaluate_unit(points.flip(0)).flip(0))
    assert (values > first.optimal_value).all()
    assert values.unique().numel() == 3


@pytest.mark.parametrize("name", CLASSES)
def test_all_corners_of_the_box_have_a_finite_value(name) -> None:
    problem = problem_by_name(NAMES[name])
    corners = (torch.rand(4, problem.dim) < 0.5).double()
    assert problem.evaluate_unit(corners).isfinite().all()


@pytest.mark.parametrize("name", CLASSES)
def test_other_numbers_of_coordinates_are_refused(name) -> None:
    dim = len(CLASSES[name].coordinates) + 1
    with pytest.raises(ValueError, match=f"dim is {dim}, expected {dim - 1}, the parameters of this problem: "):
        problem_by_name(f"{name}-{dim}-centre")


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_designs_have_the_optimum_that_slsqp_finds(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    bounds = design.bounds.T.numpy()
    generator = np.random.default_rng(0)
    found = []
    for _ in range(12):
        result = local_search(
            design.cost,
            generator.uniform(*bounds.T),
            bounds=bounds,
            constraints={"type": "ineq", "fun": lambda x: -np.array(design.constraints(x))},
            method="SLSQP",
            options={"ftol": 1e-13, "maxiter": 400},
        )
        if max(design.constraints(result.x)) < 1e-6:  # how close it comes depends on the number of threads
            found.append(result.fun)
    assert min(found) == pytest.approx(design.optimal_value, abs=1e-2)


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_designs_are_best_on_bounds_and_constraints(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    best = design.optimizers[0]
    assert ((best == design.bounds[0]) | (best == design.bounds[1])).any()
    assert max(design.constraints(best.numpy())) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("kind", [PressureVessel, SpeedReducer], ids=lambda kind: kind.__name__)
def test_breaking_a_constraint_does_not_pay(kind: type[Design]) -> None:
    design = kind(len(kind.coordinates))
    low, high = design.bounds.numpy()
    best = design.optimizers[0].numpy()
    generator = np.random.default_rng(1)
    for size in (1e-4, 1e-3, 1e-2, 1e-1):
        for _ in range(500):
            near = np.clip(best + size * (high - low) * generator.standard_normal(len(best)), low, high)
            assert design.value(near) >= design.optimal_value


def test_the_speed_reducer_has_the_value_of_the_literature() -> None:
    design = SpeedReducer(7)
    published = torch.tensor([3.5, 0.7, 17.0, 7.3, 7.71532, 3.350215, 5.286655], dtype=torch.float64)
    assert design.cost(published.numpy()) == pytest.approx(2994.471, abs=2e-3)


def test_the_svm_is_what_scikit_learn_computes() -> None:
    inputs, targets = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=1e-3, tol=1e-6))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    margins = cross_val_predict(model, inputs, targets, cv=folds, method="decision_function")
    losses = np.log1p(np.exp(-(2 * targets - 1) * margins))
    expected = np.mean([losses[test].mean() for _, test in folds.split(inputs, targets)])
    assert SvmCancer(2).value(np.array([1.0, -3.0])) == pytest.approx(expected, rel=1e-9)


def test_boosting_is_what_scikit_learn_computes() -> None:
    inputs, targets = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(
        learning_rate=0.1,
        n_estimators=32,
        max_depth=2,
        min_samples_leaf=4,
        subsample=0.5,
        max_features=0.6,
        random_state=0,
    )
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, inputs, targets, cv=folds, scoring="neg_root_mean_squared_error")
    value = BoostingDiabetes(6).value(np.array([-1.0, 5.0, 2.2, 2.0, 0.5, 0.6]))
    assert value == pytest.approx(-scores.mean(), rel=1e-9)


def test_a_better_controller_lands_better() -> None:
    pytest.importorskip("gymnasium")
    lander = LunarLander(10)
    best = lander.optimizers[0].numpy()
    assert lander.value(best) < -200  # Gymnasium calls a mean return of 200 a solution
    assert lander.value(np.zeros(10)) > 100


@pytest.mark.parametrize(
    ("name", "package"),
    [("svm_cancer-2-centre", "sklearn"), ("lunar_lander-10-centre", "Box2D")],
    ids=["svm", "lander"],
)
def test_a_missing_package_is_named_with_the_extra(name, package, monkeypatch) -> None:
    for module in [m for m in sys.modules if m == package or m.startswith(f"{package}.")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'betabo\[problems\]'"):
        problem_by_name(name)


def test_noise_is_part_of_a_name() -> None:
    problem = problem_by_name("hartmann-6-centre-noise0.3")
    assert problem.noise_std == 0.3
    assert problem.evaluate_true(problem.optimizers[0]).item() == pytest.approx(problem.optimal_value, abs=1e-5)

from __future__ import annotations

import sys

import pytest
import torch

from betabo.lab.problems import PROBLEMS, problem_by_name
from betabo.lab.problems.designs import PressureVessel, SpeedReducer
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

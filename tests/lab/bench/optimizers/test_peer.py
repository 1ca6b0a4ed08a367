from __future__ import annotations

import logging
import random
import warnings

import numpy as np
import pytest
import torch

from betabo.lab.bench.optimizers.adapter import Point
from betabo.lab.bench.optimizers.peer import PeerSearch, alone, package

BOUNDS = [(-5.0, 10.0), (0.0, 15.0)]


class Recorder(PeerSearch):
    """Proposes a point outside the box, and writes down what it is told."""

    def begin(self) -> None:
        self.heard: list[tuple[str, list[float]]] = []

    def propose(self) -> Point:
        return np.array([-7.0, np.random.default_rng(0).uniform(20, 30)])

    def observe(self, point: Point, value: float) -> None:
        self.heard.append(("value", point.tolist()))

    def fail(self, point: Point) -> None:
        self.heard.append(("failure", point.tolist()))


class WithDesign(Recorder):
    def own_design(self) -> Point:
        return self.sobol(4)


def test_starting_points_come_first_and_proposals_are_moved_into_the_box() -> None:
    search = Recorder()
    search.start(BOUNDS, np.array([[1.0, 2.0]]), seed=0)
    assert search.starts == 1
    assert search.ask().tolist() == [1.0, 2.0]
    assert search.ask().tolist() == [-5.0, 15.0]


def test_values_and_failures_are_told_apart() -> None:
    search = Recorder()
    search.start(BOUNDS, np.empty((0, 2)), seed=0)
    for value in (1.0, float("nan"), float("-inf")):
        search.tell(np.array([0.0, 1.0]), value)
    assert [kind for kind, _ in search.heard] == ["value", "failure", "failure"]


def test_a_design_of_its_own_is_taken_only_without_starting_points() -> None:
    search = WithDesign()
    search.start(BOUNDS, np.empty((0, 2)), seed=0)
    points = np.array([search.ask() for _ in range(4)])
    assert len(np.unique(points, axis=0)) == 4
    np.testing.assert_allclose(search.from_unit(search.to_unit(points)), points)
    assert (search.ask() == [-5.0, 15.0]).all()
    search.start(BOUNDS, np.array([[1.0, 2.0]]), seed=0)
    assert search.ask().tolist() == [1.0, 2.0]
    assert (search.ask() == [-5.0, 15.0]).all()


def test_coordinates_have_names() -> None:
    assert Recorder().named(np.array([1.0, 2.5])) == {"x0": 1.0, "x1": 2.5}


def test_alone_leaves_no_traces(recwarn: pytest.WarningsRecorder, caplog: pytest.LogCaptureFixture) -> None:
    def draws() -> tuple[float, float, float]:
        return random.random(), np.random.rand(), torch.rand(1).item()  # noqa: NPY002

    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    expected = draws()
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    inside = []
    for _ in range(2):
        with alone(5):
            inside.append(draws())
            warnings.warn("of the package", stacklevel=1)
            logging.getLogger("package").critical("of the package")
    assert inside[0] == inside[1] != expected
    assert draws() == expected
    assert not recwarn.list
    assert not caplog.records


def test_a_missing_package_is_named_with_its_extra() -> None:
    with pytest.raises(ImportError, match=r"need not_there: pip install 'betabo\[peers\]'"):
        package("not_there")

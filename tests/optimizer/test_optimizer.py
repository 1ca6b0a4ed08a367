"""Ask and tell: proposals, pending points, failures, and a search that is saved at any moment and resumed."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from botorch.acquisition import AcquisitionFunction, PosteriorMean
from gpytorch.kernels import Kernel, MaternKernel, RBFKernel, ScaleKernel
from scipy.optimize import Bounds

from betabo import Categorical, Config, Fixed, Float, Int, Optimizer
from betabo.acquisition.catalogue import AcquisitionContext
from betabo.optimizer import TooManyFailuresError

BOX = [(-5.0, 10.0), (0.0, 15.0)]
MIXED = {
    "rate": Float(1e-5, 1e-1, log=True),
    "width": Float(-1.0, 2.0),
    "layers": Int(1, 4),
    "act": Categorical(["relu", "tanh", "gelu"]),
    "epochs": Fixed(10),
}


def bowl(x: Any) -> float:
    return float((x[0] - 2) ** 2 + (x[1] - 5) ** 2)


def mixed(point: dict[str, Any]) -> float:
    return float(
        (math.log10(point["rate"]) + 3) ** 2 + point["width"] ** 2 + point["layers"] + (point["act"] != "tanh")
    )


def search(space: Any = BOX, **settings: Any) -> Optimizer:
    return Optimizer(space, **{"seed": 0, "kernel": "rbf", "starting_points": 4, **settings})


def run(optimizer: Optimizer, steps: int, objective: Any = bowl) -> list[Any]:
    points = []
    for _ in range(steps):
        point = optimizer.ask()
        optimizer.tell(point, objective(point))
        points.append(point if isinstance(point, dict) else point.tolist())
    return points


class TestProposals:
    def test_the_same_seed_gives_the_same_ones_and_another_seed_others(self) -> None:
        first, again, other = (run(search(seed=seed), 7) for seed in (3, 3, 4))
        assert first == again
        assert all(a != b for a, b in zip(first, other, strict=True))

    def test_without_a_seed_one_is_drawn_and_can_be_used_again(self) -> None:
        drawn, other = search(seed=None), search(seed=None)
        assert drawn.seed != other.seed
        assert run(drawn, 2) == run(search(seed=drawn.seed), 2)

    def test_lie_in_the_box_and_improve(self) -> None:
        optimizer = search()
        points = np.array(run(optimizer, 14))
        low, high = np.array(BOX).T
        assert ((points >= low) & (points <= high)).all()
        values = [e.value for e in optimizer.history]
        assert min(values) < 0.1 * min(values[:4])
        assert [e.origin for e in optimizer.history] == ["start"] * 4 + ["model"] * 10

    def test_have_the_types_of_their_parameters(self) -> None:
        for point in run(search(MIXED), 6, mixed):
            types = [float, float, int, str, int]
            assert [type(value) for value in point.values()] == types
            assert point["act"] in ("relu", "tanh", "gelu")
            assert 1 <= point["layers"] <= 4
            assert 1e-5 <= point["rate"] <= 1e-1
            assert point["epochs"] == 10

    def test_take_the_discrete_optimum(self) -> None:
        optimizer = search(MIXED)
        run(optimizer, 16, mixed)
        best = optimizer.result().x
        assert (best["layers"], best["act"]) == (1, "tanh")

    def test_are_never_repeated(self) -> None:
        points = np.array(run(search(), 30))
        unit = (points - np.array(BOX)[:, 0]) / 15
        distance = np.abs(unit[:, None] - unit).max(axis=-1) + np.eye(30)
        assert distance.min() > 1e-7

    @pytest.mark.parametrize("seed", range(2))
    def test_visit_a_finite_space_once_before_any_repeat(self, seed: int) -> None:
        space = {"a": Int(0, 3), "b": Int(-1, 1), "c": Categorical(["x", "y"])}
        optimizer = search(space, seed=seed)
        points = run(optimizer, 26, lambda p: (p["a"] - 2) ** 2 + p["b"] + (p["c"] == "x"))
        seen = [tuple(point.values()) for point in points]
        assert len(set(seen[:24])) == 24
        assert seen[24] in seen[:24]

    def test_may_repeat_where_the_noise_is_known(self) -> None:
        random = np.random.default_rng(0)

        def noisy(point: dict[str, Any]) -> float:
            return float((point["n"] - 7) ** 2 / 50 + 0.5 * random.standard_normal())

        known = run(search({"n": Int(0, 20)}, noise=0.25), 14, noisy)
        assert len({point["n"] for point in known}) < 14

    def test_reach_bounds_exactly(self) -> None:
        optimizer = Optimizer([(-3, 7.1), (0.1, 2.3), (0.3, 5)], seed=0, starting_points=5)
        run(optimizer, 11, lambda x: x[0] - 2 * x[1] + x[2] ** 2)
        assert optimizer.result().x.tolist() == [-3, 2.3, 0.3]

    def test_start_with_the_initial_points(self) -> None:
        initial = [[1.0, 2.0], (3.0, 4.0), np.array([-5.0, 15.0])]
        optimizer = search(initial=initial)
        assert np.array(optimizer.ask(2)) == pytest.approx(np.array([[1, 2], [3, 4]]))
        third, *others = optimizer.ask(4)
        assert third.tolist() == [-5, 15]
        assert len({tuple(x) for x in others}) == 3
        assert [p.origin for p in optimizer.pending] == ["start"] * 6

    def test_of_a_batch_cross_the_end_of_the_starting_design(self) -> None:
        optimizer = search()
        run(optimizer, 2)
        batch = optimizer.ask(4)
        assert len({tuple(x) for x in batch}) == 4
        assert [p.origin for p in optimizer.pending] == ["start"] * 2 + ["model"] * 2

    def test_of_a_batch_are_distinct_and_pending(self) -> None:
        optimizer = search()
        run(optimizer, 6)
        batch = np.array(optimizer.ask(3))
        assert len(optimizer.pending) == 3
        unit = (batch - np.array(BOX)[:, 0]) / 15
        assert (np.abs(unit[:, None] - unit).max(axis=-1) + np.eye(3)).min() > 1e-3
        one = optimizer.ask()
        assert len(optimizer.pending) == 4
        assert not any(np.array_equal(one, point) for point in batch)

    def test_are_new_objects_that_may_be_changed(self) -> None:
        optimizer = search()
        point = optimizer.ask()
        told = point.copy()
        point += 1
        optimizer.tell(told, 1.0)
        assert not optimizer.pending

    def test_on_equal_values_go_on(self) -> None:
        optimizer = search()
        points = run(optimizer, 9, lambda x: 3.0)
        assert len({tuple(x) for x in points}) == 9
        assert optimizer.history[-1].diagnostics["fit"] == "constant"
        assert optimizer.result().fun == 3.0

    @pytest.mark.parametrize("scale", [1e-12, 1e12])
    def test_on_values_of_any_size_improve(self, scale: float) -> None:
        optimizer = search()
        run(optimizer, 12, lambda x: scale * bowl(x))
        values = [e.value for e in optimizer.history]
        assert min(values) < 0.1 * min(values[:4])


class TestTelling:
    def test_in_any_order(self) -> None:
        optimizer = search()
        run(optimizer, 5)
        batch = optimizer.ask(4)
        for i in (2, 0, 3, 1):
            optimizer.tell(batch[i], float(i))
        assert not optimizer.pending
        assert [e.value for e in optimizer.history[5:]] == [2, 0, 3, 1]
        assert [e.origin for e in optimizer.history[5:]] == ["model"] * 4
        assert [bool(e.diagnostics) for e in optimizer.history[5:]] == [False, True, False, False]

    def test_a_point_that_was_never_asked_for(self) -> None:
        optimizer = search()
        asked = optimizer.ask()
        optimizer.tell([2.0, 5.0], 0.0)
        assert len(optimizer.pending) == 1
        assert optimizer.history[0].origin == "user"
        assert optimizer.result().x == pytest.approx([2, 5])
        optimizer.tell(asked, bowl(asked))
        assert len(optimizer.history) == 2

    def test_told_points_count_towards_the_starting_design(self) -> None:
        optimizer = search()
        for i in range(4):
            optimizer.tell([float(i), 2.0 * i], float(i))
        optimizer.ask()
        assert optimizer.pending[0].origin == "model"

    def test_the_same_point_twice_records_both(self) -> None:
        optimizer = search()
        point = optimizer.ask()
        optimizer.tell(point, 1.0)
        optimizer.tell(point, 2.0)
        assert [e.value for e in optimizer.history] == [1.0, 2.0]
        assert [e.origin for e in optimizer.history] == ["start", "user"]

    @pytest.mark.parametrize(
        "returned",
        [
            lambda x: x.astype(np.float32),
            lambda x: [float(f"{v:.5g}") for v in x],
            lambda x: np.array(str(x).strip("[]").split(), dtype=float),
        ],
        ids=["float32", "five digits", "as printed"],
    )
    def test_a_rounded_point_is_the_one_that_was_asked_for(self, returned: Any) -> None:
        exact, rounded = search([(0, 0.1), (-3, 4)]), search([(0, 0.1), (-3, 4)])
        run(exact, 6, lambda x: x[1])
        for evaluation in exact.history:
            rounded.tell(returned(rounded.ask()), evaluation.value)
        assert [(e.unit, e.origin) for e in rounded.history] == [(e.unit, e.origin) for e in exact.history]
        assert not rounded.pending

    def test_a_rounded_point_is_the_nearest_of_a_batch_in_any_order(self) -> None:
        optimizer = search([(0, 0.1), (0, 1)], starting_points=2)
        run(optimizer, 4, lambda x: x[0])
        batch = optimizer.ask(4)
        for index in (2, 0, 3, 1):
            optimizer.tell(batch[index].astype(np.float32), float(index))
        assert not optimizer.pending
        assert [e.value for e in optimizer.history[4:]] == [2.0, 0.0, 3.0, 1.0]

    def test_a_repetition_beside_a_pending_point_is_not_that_point(self) -> None:
        optimizer = Optimizer([(0.0, 1.0)], seed=0, initial=[[0.5], [0.50005]])
        done, _ = optimizer.ask(2)
        optimizer.tell(done, 1.0)
        optimizer.tell([0.5], 1.5)
        assert [p.unit for p in optimizer.pending] == [(0.50005,)]
        optimizer.tell([0.5001], 2.0)
        assert not optimizer.pending

    def test_matches_pending_points_in_an_interval_far_from_zero(self) -> None:
        # Neighbouring floating-point numbers are 1e-7 of this interval apart.
        optimizer = search([(1e6, 1e6 + 1e-3), (0, 1)])
        run(optimizer, 6, lambda x: x[1])
        assert not optimizer.pending
        assert "user" not in [e.origin for e in optimizer.history]

    @pytest.mark.parametrize("value", [np.float64(1.5), np.array(1.5), 1.5, np.float32(1.5)])
    def test_takes_numbers_of_any_kind(self, value: Any) -> None:
        optimizer = search()
        optimizer.tell([0, 0], value)
        assert optimizer.history[0].value == 1.5
        assert type(optimizer.history[0].value) is float

    @pytest.mark.parametrize("value", ["low", [1.0, 2.0], 1j])
    def test_refuses_what_is_not_a_number(self, value: Any) -> None:
        optimizer = search()
        with pytest.raises(TypeError, match=r"value is .*, expected a number"):
            optimizer.tell([0, 0], value)
        assert not optimizer.history

    @pytest.mark.parametrize(("point", "error"), [([20.0, 0.0], "x0: value is 20.0"), ([0.0], "1 numbers, expected 2")])
    def test_refuses_points_outside_the_space(self, point: Any, error: str) -> None:
        optimizer = search()
        with pytest.raises(ValueError, match=error):
            optimizer.tell(point, 0.0)
        with pytest.raises(ValueError, match=error):
            search(initial=[point])


class TestAccuracy:
    def test_comes_with_the_value_or_from_the_setting(self) -> None:
        optimizer = search(noise=lambda x: 0.1 * x[1])
        optimizer.tell([2.0, 5.0], 1.0)
        optimizer.tell([2.0, 5.0], 1.2, variance=0.04)
        optimizer.tell([1.0, 5.0], math.nan, variance=0.04)
        optimizer.tell([2.0, 5.0], {"value": 1.2, "error": 0.2})
        optimizer.tell([2.0, 5.0], {"value": 1.2, "error": 0.2}, variance=0.5)
        expected = [pytest.approx(0.5), 0.04, None, pytest.approx(0.04), 0.5]
        assert [e.variance for e in optimizer.history] == expected

    def test_moves_the_search_away_from_a_wild_value(self) -> None:
        def following(variance: float) -> float:
            optimizer = search(noise="none", local_steps=False)
            for x in np.linspace(-5, 10, 6):
                optimizer.tell([x, 5.0], bowl([x, 5.0]), variance=1e-4)
            optimizer.tell([9.0, 5.0], -50.0, variance=variance)
            return float(abs(optimizer.ask()[0] - 9.0))

        assert following(1e-4) < 2.0 < following(1e4)

    def test_survives_saving(self, tmp_path: Path) -> None:
        optimizer = search()
        optimizer.tell([2.0, 5.0], 1.0, variance=0.04)
        optimizer.tell([3.0, 5.0], 1.0)
        optimizer.save(tmp_path / "search.json")
        assert Optimizer.load(tmp_path / "search.json").history == optimizer.history

    @pytest.mark.parametrize("variance", [-1.0, math.inf, math.nan])
    def test_that_is_impossible_is_refused_before_anything_is_recorded(self, variance: float) -> None:
        optimizer = search()
        with pytest.raises(ValueError, match=r"variance is .*, expected a number >= 0"):
            optimizer.tell([2.0, 5.0], 1.0, variance=variance)
        with pytest.raises(ValueError, match="the function noise returned"):
            search(noise=lambda x: variance).tell([2.0, 5.0], 1.0)
        assert not optimizer.history


class TestFailures:
    @pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 10**400])
    def test_are_values_that_are_no_finite_numbers(self, value: Any) -> None:
        optimizer = search()
        optimizer.tell(optimizer.ask(), value)
        (evaluation,) = optimizer.history
        assert evaluation.failed
        assert evaluation.value is None
        assert evaluation.error == f"the value was {math.inf if value == 10**400 else value!r}"
        assert not optimizer.pending

    def test_keep_their_reason(self) -> None:
        optimizer = search()
        optimizer.tell_failure(optimizer.ask(), "out of memory")
        optimizer.tell_failure(optimizer.ask())
        assert [e.error for e in optimizer.history] == ["out of memory", "the evaluation failed"]

    def test_do_not_stop_the_search_and_are_not_its_result(self) -> None:
        optimizer = search()
        for step in range(10):
            point = optimizer.ask()
            optimizer.tell(point, math.nan if step % 3 == 0 else bowl(point))
        result = optimizer.result()
        assert (result.nfev, result.nfail) == (10, 4)
        assert result.fun == min(e.value for e in optimizer.history if e.value is not None)

    def test_too_many_in_a_row_end_it_and_leave_the_record(self) -> None:
        optimizer = search(max_failures=3)
        optimizer.tell(optimizer.ask(), 1.0)
        for i in range(3):
            optimizer.tell_failure(optimizer.ask(), f"reason {i}")
        for _ in range(2):
            with pytest.raises(
                TooManyFailuresError, match=r"last 3 evaluations failed, .* because reason 2; .* raise max_f"
            ):
                optimizer.ask()
        assert len(optimizer.history) == 4
        assert not optimizer.pending
        assert optimizer.result().fun == 1.0
        optimizer.tell([2.0, 5.0], 0.0)  # a success is a new beginning
        optimizer.ask()

    def test_of_everything_leave_a_result_without_a_point(self) -> None:
        optimizer = search()
        optimizer.tell_failure(optimizer.ask())
        result = optimizer.result()
        assert result.x is None
        assert math.isnan(result.fun)
        assert not result.success


def on_disk(optimizer: Optimizer, folder: Path) -> Optimizer:
    optimizer.save(folder / "search.json")
    return Optimizer.load(folder / "search.json")


class TestSaving:
    @pytest.mark.parametrize(("space", "objective"), [(BOX, bowl), (MIXED, mixed)], ids=["box", "mixed"])
    def test_at_every_step_changes_nothing(self, space: Any, objective: Any, tmp_path: Path) -> None:
        whole, interrupted = search(space), search(space)
        for step in range(8):
            interrupted = on_disk(interrupted, tmp_path)
            point, same = whole.ask(), interrupted.ask()
            assert str(point) == str(same)
            assert whole.space.to_unit(point).tolist() == interrupted.space.to_unit(same).tolist()
            interrupted = on_disk(interrupted, tmp_path)  # with the point pending
            for optimizer in (whole, interrupted):
                if step == 2:
                    optimizer.tell_failure(point, "once")
                else:
                    optimizer.tell(point, objective(point))
        assert [(e.unit, e.value, e.error, e.origin) for e in interrupted.history] == [
            (e.unit, e.value, e.error, e.origin) for e in whole.history
        ]

    def test_from_any_step_leads_to_the_same_end(self, tmp_path: Path) -> None:
        optimizer = search()
        for step in range(8):
            if step in (3, 5):
                optimizer.save(tmp_path / f"{step}.json")
            run(optimizer, 1)
        expected = [e.unit for e in optimizer.history]
        for step in (3, 5):
            resumed = Optimizer.load(tmp_path / f"{step}.json")
            assert len(resumed.history) == step
            run(resumed, 8 - step)
            assert [e.unit for e in resumed.history] == expected

    def test_keeps_pending_points_and_initial_points(self, tmp_path: Path) -> None:
        optimizer = search(initial=[[1.0, 2.0], [3.0, 4.0]])
        asked = optimizer.ask()
        resumed = on_disk(optimizer, tmp_path)
        assert resumed.to_json() == optimizer.to_json()
        resumed.tell(asked, 1.0)
        assert resumed.history[0].origin == "start"
        assert resumed.ask() == pytest.approx([3, 4])

    def test_keeps_the_configuration(self, tmp_path: Path) -> None:
        config = Config(kernel="matern", acquisition="ucb", beta=1.5, noise=0.1, max_failures=3)
        resumed = on_disk(Optimizer(BOX, config=config), tmp_path)
        assert resumed.config == config
        assert resumed.space == Optimizer(BOX).space

    def test_writes_plain_json(self, tmp_path: Path) -> None:
        optimizer = search()
        run(optimizer, 5)
        optimizer.save(str(tmp_path / "search.json"))
        text = (tmp_path / "search.json").read_text()
        data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert data["format"] == 1
        assert [e["value"] for e in data["history"]] == [e.value for e in optimizer.history]

    def test_can_be_read_by_whom_the_user_lets(self, tmp_path: Path) -> None:
        search().save(tmp_path / "search.json")
        (tmp_path / "ordinary").write_text("")
        assert (tmp_path / "search.json").stat().st_mode == (tmp_path / "ordinary").stat().st_mode

    @pytest.mark.parametrize("broken", ["replace", "fsync"])
    def test_is_all_or_nothing(self, broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        optimizer, path = search(), tmp_path / "search.json"
        run(optimizer, 2)
        optimizer.save(path)
        before = path.read_bytes()
        run(optimizer, 2)

        def crash(*_: object) -> None:
            raise OSError("the disk is full")

        with monkeypatch.context() as patch:
            patch.setattr(os, broken, crash)
            with pytest.raises(OSError, match="disk is full"):
                optimizer.save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
        assert len(Optimizer.load(path).history) == 2
        optimizer.save(path)
        assert len(Optimizer.load(path).history) == 4

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            (b"", "Expecting value"),
            (b'{"format": 1, "spa', "Unterminated string"),
            (b"\xff\xfe\x00\x01", "codec can't decode"),
            (b"[1, 2]", "format 'list', expected 1"),
            (b'{"name": "something else"}', "format None, expected 1"),
            (b'{"format": 99}', "format 99, expected 1"),
            (b'{"format": 1}', "search has no 'space'"),
            (b"[" * 100_000, "recursion"),
            (b'{"format": 1, "seed": 1' + b"0" * 5000 + b"}", "digits"),
        ],
    )
    def test_of_something_else_is_not_loaded(self, content: bytes, reason: str, tmp_path: Path) -> None:
        path = tmp_path / "search.json"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=rf"search\.json is not a saved search: .*{reason}"):
            Optimizer.load(path)

    @pytest.mark.parametrize(
        ("key", "value", "reason"),
        [
            ("space", 3, "space's description is 3"),
            ("config", {"colour": "red"}, r"unknown settings \['colour'\]"),
            ("history", [{"unit": [0.5, 0.5]}], r"history\[0\] has no 'value'"),
            ("history", [{"unit": [0.5, 0.5, 0.5], "value": 1.0}], r"history\[0\].unit has the length 3, expected 2"),
            ("history", [{"unit": [0.5, 2.0], "value": 1.0}], r"unit\[1\] is 2.0, expected a number from 0 to 1"),
            ("history", [{"unit": [0.5, 0.5], "value": math.nan}], "value is nan, expected a finite number"),
            ("history", [{"unit": [0.5, 0.5], "value": 1.0, "origin": "x"}], "origin is 'x', expected one of 'start'"),
            ("history", 7, "search.history is 7, expected a list"),
            ("pending", [{"unit": [0.5, 0.5], "origin": "user"}], r"pending\[0\] has no 'diagnostics'"),
            ("queue", [[0.5]], r"queue\[0\] has the length 1, expected 2"),
            ("seed", -1, "search.seed is -1, expected a whole number of at least 0"),
            ("states", [{"parameters": {}}], "'noise'"),
            ("states", [{"parameters": {"a": [math.inf]}, "noise": 0.1}], "expected a finite number"),
        ],
    )
    def test_that_was_damaged_is_not_loaded(self, key: str, value: Any, reason: str, tmp_path: Path) -> None:
        path = tmp_path / "search.json"
        path.write_text(json.dumps({**search().to_json(), key: value}))
        with pytest.raises(ValueError, match=f"is not a saved search: .*{reason}"):
            Optimizer.load(path)

    def test_a_file_that_does_not_exist_says_so(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            Optimizer.load(tmp_path / "nothing.json")

    def test_needs_names_and_not_objects(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match=r"(?s)kernel is .*cannot be saved"):
            search(kernel=RBFKernel()).save(tmp_path / "search.json")
        assert not list(tmp_path.iterdir())


def smooth(dims: int) -> Kernel:
    return ScaleKernel(RBFKernel(ard_num_dims=dims))


class TestSettings:
    @pytest.mark.parametrize("kernel", [ScaleKernel(MaternKernel(ard_num_dims=2)), smooth, MaternKernel()])
    def test_a_kernel_may_be_an_object_or_a_factory(self, kernel: Any) -> None:
        before = {name: value.clone() for name, value in kernel.named_parameters()} if kernel is not smooth else {}
        optimizer = search(kernel=kernel)
        run(optimizer, 6)
        assert optimizer.history[-1].diagnostics["fit"] == "fitted"
        for name, value in before.items():
            assert dict(kernel.named_parameters())[name].equal(value)  # it is copied

    def test_a_kernel_of_other_dimensions_is_refused(self) -> None:
        optimizer = search(kernel=MaternKernel(ard_num_dims=3))
        run(optimizer, 4)
        with pytest.raises(ValueError, match="ard_num_dims 3, but the points have 2"):
            optimizer.ask()

    def test_an_acquisition_function_may_be_a_factory(self) -> None:
        contexts: list[AcquisitionContext] = []

        def exploit(context: AcquisitionContext) -> AcquisitionFunction:
            contexts.append(context)
            return PosteriorMean(context.model, maximize=False)

        optimizer = search(acquisition=exploit)
        run(optimizer, 6)
        assert [c.step for c in contexts] == [4, 5]
        assert [tuple(c.X_observed.shape) for c in contexts] == [(4, 2), (5, 2)]
        assert all(c.dims == 2 for c in contexts)

    @pytest.mark.parametrize("space", [BOX, np.array(BOX), Bounds([-5, 0], [10, 15])], ids=["pairs", "array", "scipy"])
    def test_bounds_may_be_given_in_many_forms(self, space: Any) -> None:
        assert search(space).ask().tolist() == search(BOX).ask().tolist()

    def test_impossible_arguments_are_refused(self) -> None:
        with pytest.raises(ValueError, match="config is given together with kernel; put everything into one of them"):
            Optimizer(BOX, config=Config(), kernel="rbf")
        with pytest.raises(ValueError, match="seed is -1, expected a number >= 0"):
            Optimizer(BOX, seed=-1)
        with pytest.raises(ValueError, match="count is 0, expected at least 1"):
            search().ask(0)
        with pytest.raises(TypeError, match="kernal"):
            Optimizer(BOX, kernal="rbf")
        with pytest.raises(ValueError, match=r"Did you mean 'rbf'\?"):
            Optimizer(BOX, kernel="rfb")

"""Whose turn it is, and how far a local step goes, from the record of the steps."""

from __future__ import annotations

import pytest

from betabo.optimizer.turns import FIRST_RADIUS, LARGEST_RADIUS, SMALLEST_RADIUS, Step, next_turn, radius

START = [Step("start", 10.0), Step("start", 12.0)]


def steps_of(*pairs: tuple[str, float | None]) -> list[Step]:
    return [*START, *(Step(origin, value) for origin, value in pairs)]  # type: ignore[arg-type]


class TestNextTurn:
    def test_both_kinds_take_turns_at_first(self) -> None:
        steps = list(START)
        turns = []
        for _ in range(4):
            turns.append(next_turn(steps, 2))
            steps.append(Step(turns[-1], 11.0))
        assert turns == ["local", "model", "local", "model"]

    def test_the_kind_that_gained_more_goes_on(self) -> None:
        steps = steps_of(("model", 9.9), ("local", 8.0), ("model", 7.9), ("local", 5.0))
        assert next_turn(steps, 2) == "local"
        steps = steps_of(("model", 5.0), ("local", 4.9), ("model", 3.0), ("local", 2.9))
        assert next_turn(steps, 2) == "model"

    def test_the_other_kind_gets_every_fifth_step(self) -> None:
        steps = steps_of(("model", 10.0), ("local", 5.0), ("model", 10.0), ("local", 4.0))
        turns = []
        for number in range(10):
            turns.append(next_turn(steps, 4))
            steps.append(Step(turns[-1], 3.0 - number * 0.1 if turns[-1] == "local" else 10.0))
        assert turns.count("model") == 2
        assert turns[3] == turns[8] == "model"

    def test_without_gains_both_take_turns(self) -> None:
        steps = steps_of(*[("model", 11.0), ("local", 11.0)] * 8)
        assert next_turn(steps, 2) == "model"
        assert next_turn([*steps, Step("model", 11.0)], 2) == "local"

    def test_old_gains_are_forgotten(self) -> None:
        steps = steps_of(("local", 1.0), *[("model", 0.9 - 0.01 * i) for i in range(9)])
        assert next_turn(steps, 2) == "local"  # looks again, after so many of the other kind
        assert next_turn([*steps, Step("local", 5.0)], 2) == "model"

    def test_failed_evaluations_and_those_under_way_gain_nothing(self) -> None:
        steps = steps_of(("model", 9.0), ("local", None), ("model", 8.0), ("local", None))
        assert next_turn(steps, 2) == "model"

    def test_points_that_the_user_told_are_not_counted(self) -> None:
        steps = steps_of(("model", 9.0), ("user", 0.0), ("local", 8.0))
        assert next_turn(steps, 2) == "local"  # two steps so far, so the warm-up goes on


class TestRadius:
    def test_begins_at_the_first_radius(self) -> None:
        assert radius(START, 3) == FIRST_RADIUS

    @pytest.mark.parametrize(("dims", "failures"), [(1, 2), (4, 2), (5, 3), (10, 5)])
    def test_halves_after_failures(self, dims: int, failures: int) -> None:
        steps = steps_of(*[("local", 11.0)] * (failures - 1))
        assert radius(steps, dims) == FIRST_RADIUS
        assert radius([*steps, Step("local", None)], dims) == FIRST_RADIUS / 2

    def test_doubles_after_two_successes_up_to_the_largest(self) -> None:
        steps = steps_of(("local", 9.0), ("local", 8.0))
        assert radius(steps, 2) == 2 * FIRST_RADIUS
        steps += [Step("local", 7.0 - 0.1 * i) for i in range(6)]
        assert radius(steps, 2) == LARGEST_RADIUS

    def test_a_success_ends_a_row_of_failures(self) -> None:
        steps = steps_of(("local", 11.0), ("local", 9.0), ("local", 11.0))
        assert radius(steps, 2) == FIRST_RADIUS

    def test_steps_of_the_model_change_nothing(self) -> None:
        assert radius(steps_of(*[("model", 11.0)] * 9), 2) == FIRST_RADIUS

    def test_begins_anew_when_the_model_finds_a_better_point(self) -> None:
        steps = steps_of(*[("local", 11.0)] * 40)
        assert radius(steps, 2) < SMALLEST_RADIUS
        assert radius([*steps, Step("model", 11.0)], 2) < SMALLEST_RADIUS
        assert radius([*steps, Step("model", 1.0)], 2) == FIRST_RADIUS


WAITING = [Step("local", None, under_way=True)] * 3


class TestUnderWay:
    """Points that are being evaluated have had their turn, but are no failures."""

    def test_they_leave_the_radius_as_it_is(self) -> None:
        steps = steps_of(("model", 9.0), ("local", 8.5))
        assert radius([*steps, *WAITING], 2) == radius(steps, 2)
        failed = [Step("local", None)] * 3
        assert radius([*steps, *failed], 2) < radius(steps, 2)

    def test_they_do_not_count_as_steps_without_gain(self) -> None:
        steps = steps_of(("model", 9.9), ("local", 5.0), ("model", 4.9), ("local", 4.0))
        assert next_turn(steps, 2) == "local"
        assert next_turn([*steps, *WAITING], 2) == "model"  # after four of a kind
        assert next_turn([*steps, *WAITING[:2]], 2) == "local"

    def test_the_first_ones_are_taken_in_turns(self) -> None:
        steps = list(START)
        for _ in range(4):
            steps.append(Step(next_turn(steps, 2), None, under_way=True))
        assert [step.origin for step in steps[2:]] == ["local", "model", "local", "model"]

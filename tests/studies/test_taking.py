from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.trial import TrialState

from betabo import Config
from betabo.studies import Plan, open_storage, open_study
from betabo.studies.errors import TooManyFailedTrialsError
from betabo.studies.taking import Ended, Taken, Taker, beating

MakePlan = Callable[..., Plan]


def take(taker: Taker) -> Taken:
    opened = taker.open(taker.ledger())
    assert opened is not None
    taken = taker.accept(opened)
    assert taken is not None
    return taken


def ended(value: float | None) -> Ended:
    if value is None:
        return Ended(TrialState.FAIL, (), {}, "no luck", {}, 0.1)
    return Ended(TrialState.COMPLETE, (value,), {}, "", {"note": 1}, 0.1)


@pytest.fixture
def make(make_plan: MakePlan) -> Callable[..., list[Taker]]:
    def made(count: int, **settings: object) -> list[Taker]:
        plan = make_plan(**settings)
        storage = open_storage(plan.storage)
        study = open_study(plan, storage=storage)
        return [Taker(plan, study, storage) for _ in range(count)]

    return made


def test_together_they_take_as_many_trials_as_the_study_is_to_have(make: Callable[..., list[Taker]]) -> None:
    one, other, third = make(3, trials=2)
    first, second = take(one), take(other)
    assert {first.number, second.number} == {0, 1}
    assert third.open(third.ledger()) is None
    assert one.store(first, ended(1.0))
    assert not other.store(first, ended(2.0))  # it has ended with another value
    assert one.store(first, ended(1.0))  # whose answer was lost
    (stored, running) = one.ledger().trials
    assert (stored.values, stored.user_attrs) == ([1.0], {"note": 1})
    assert running.state == TrialState.RUNNING


def test_a_trial_of_ones_own_that_is_left_over_is_closed_and_repeated(make: Callable[..., list[Taker]]) -> None:
    one, other = make(2, trials=1)
    taken = take(one)
    assert other.recover(other.ledger()) == []  # somebody else in this process runs it
    assert one.recover(one.ledger()) == [(0, "its worker died")]
    assert take(other).parameters == taken.parameters


def test_a_row_of_failures_is_an_error(make: Callable[..., list[Taker]]) -> None:
    (one,) = make(1, config=Config(max_failures=2, starting_points=100))
    for _ in range(2):
        one.check_failures(one.ledger())
        one.store(take(one), ended(None))
    with pytest.raises(TooManyFailedTrialsError, match="the last 2 trials failed, the most recent one because no luck"):
        one.check_failures(one.ledger())


def test_signs_of_life_are_given(make: Callable[..., list[Taker]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("betabo.studies.recovery.HEARTBEAT_INTERVAL", 0.01)
    (one,) = make(1)
    taken = take(one)
    storage = one._storage
    with beating(storage, taken.id):
        while not storage.get_trial(taken.id).system_attrs["betabo:heartbeat"]:
            pass

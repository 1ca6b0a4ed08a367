from __future__ import annotations

from itertools import permutations
from typing import Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from betabo.optuna import attributes
from betabo.optuna.attributes import REASON, RETRY_OF, WORKER
from betabo.studies.ledger import Ledger

ME = {"host": "here", "pid": 1}


def trial(number: int, state: str, **notes: Any) -> FrozenTrial:
    notes_of = {getattr(attributes, name.upper()): value for name, value in notes.items()}
    made = create_trial(state=TrialState[state], value=1.0 if state == "COMPLETE" else None, system_attrs=notes_of)
    made.number = number
    return made


def test_only_results_count() -> None:
    books = Ledger(
        [
            trial(0, "COMPLETE"),
            trial(1, "FAIL", reason="bad"),
            trial(2, "PRUNED"),
            trial(3, "FAIL", interrupted="died"),
            trial(4, "FAIL", withdrawn="enough"),
            trial(5, "RUNNING", worker=ME),
            trial(6, "RUNNING"),
        ]
    )
    assert books.finished == 3
    assert [t.number for t in books.running] == [5]
    assert books.taken == 4
    assert [t.number for t in books.owed] == [3]
    assert books.lines == 5  # 0, 1, 2, 3 and 5; nobody answers for 6


def test_an_interrupted_trial_is_owed_until_somebody_repeats_it() -> None:
    interrupted = trial(0, "FAIL", interrupted="died")
    assert [t.number for t in Ledger([interrupted]).owed] == [0]
    repeated = [interrupted, trial(1, "RUNNING", worker=ME, retry_of=0)]
    assert not Ledger(repeated).owed
    assert Ledger(repeated).lines == 1
    withdrawn = [interrupted, trial(1, "FAIL", withdrawn="enough", retry_of=0)]
    assert [t.number for t in Ledger(withdrawn).owed] == [0]
    again = [interrupted, trial(1, "FAIL", interrupted="died", retry_of=0)]
    assert [t.number for t in Ledger(again).owed] == [1]


def test_of_two_repetitions_the_first_may_run() -> None:
    books = Ledger(
        [
            trial(0, "FAIL", interrupted="died"),
            trial(1, "RUNNING", worker=ME, retry_of=0),
            trial(2, "RUNNING", worker=ME, retry_of=0),
        ]
    )
    assert books.may_run(1, total=5)
    assert not books.may_run(2, total=5)


def test_of_two_repetitions_that_were_interrupted_the_first_is_owed() -> None:
    trials = [trial(0, "COMPLETE"), trial(5, "FAIL", interrupted="died")]
    trials += [trial(number, "FAIL", interrupted="died", retry_of=5) for number in (7, 8)]
    for order in permutations(trials):
        assert [t.number for t in Ledger(order).owed] == [7]
    assert not Ledger([*trials, trial(9, "COMPLETE", retry_of=7)]).owed
    withdrawn = [*trials[:2], trial(7, "FAIL", withdrawn="the objective is broken", retry_of=5), trials[3]]
    assert [t.number for t in Ledger(withdrawn).owed] == [8]
    both = [*withdrawn[:3], trial(8, "FAIL", withdrawn="its worker died", retry_of=5)]
    assert [t.number for t in Ledger(both).owed] == [5]


def test_what_repeats_a_second_repetition_neither_runs_nor_is_owed() -> None:
    trials = [trial(5, "FAIL", interrupted="died")]
    trials += [trial(number, "FAIL", interrupted="died", retry_of=5) for number in (7, 8)]
    running = Ledger([*trials, *(trial(9 + n, "RUNNING", worker=ME, retry_of=7 + n) for n in (0, 1))])
    assert [running.may_run(number, total=5) for number in (9, 10)] == [True, False]
    assert [running.is_spare(t) for t in running.trials] == [False, False, True, False, True]
    died = [trial(9 + n, "FAIL", interrupted="died", retry_of=7 + n) for n in (0, 1)]
    assert [t.number for t in Ledger([*trials, *died]).owed] == [9]


def test_what_repeats_a_withdrawn_repetition_neither_runs_nor_is_owed() -> None:
    trials = [trial(5, "FAIL", interrupted="died"), trial(7, "FAIL", withdrawn="enough", retry_of=5)]
    running = Ledger([*trials, trial(9, "RUNNING", worker=ME, retry_of=7)])
    assert not running.may_run(9, total=5)
    assert [t.number for t in running.owed] == [5]
    died = [*trials, trial(9, "FAIL", interrupted="died", retry_of=7)]
    assert [t.number for t in Ledger(died).owed] == [5]


def test_a_trial_in_the_queue_is_owed_once_when_two_that_ran_it_died() -> None:
    died = [trial(number, "FAIL", interrupted="died", retry_of=0) for number in (1, 2)]
    for queued in (trial(0, "WAITING"), trial(0, "FAIL", withdrawn="another trial runs it")):
        books = Ledger([queued, *died])
        assert [t.number for t in books.owed] == [1]
        assert books.lines == 1


def test_a_new_trial_may_run_while_fewer_lines_began_before_it() -> None:
    books = Ledger([trial(n, "RUNNING", worker=ME) for n in range(4)])
    assert [books.may_run(n, total=2) for n in range(4)] == [True, True, False, False]


def test_an_owed_trial_keeps_its_place() -> None:
    books = Ledger([trial(0, "FAIL", interrupted="died"), trial(1, "COMPLETE"), trial(2, "RUNNING", worker=ME)])
    assert not books.may_run(2, total=2)
    assert books.may_run(2, total=3)


def test_a_repetition_is_not_needed_once_the_total_is_reached() -> None:
    trials = [trial(n, "COMPLETE") for n in range(3)]
    trials += [trial(3, "FAIL", interrupted="died"), trial(4, "RUNNING", worker=ME, retry_of=3)]
    assert Ledger(trials).may_run(4, total=4)
    assert not Ledger(trials).may_run(4, total=3)


def test_a_trial_in_the_queue_keeps_its_place_when_another_one_runs_it() -> None:
    waiting = [trial(0, "WAITING")]
    assert [t.number for t in Ledger(waiting).owed] == [0]
    taken = [trial(0, "FAIL", withdrawn="another trial runs it"), trial(1, "RUNNING", worker=ME, retry_of=0)]
    assert Ledger(taken).lines == 1
    assert not Ledger(taken).owed
    assert REASON not in taken[0].system_attrs
    assert WORKER in taken[1].system_attrs
    assert taken[1].system_attrs[RETRY_OF] == 0

"""Trials as everybody sees them: the word for what became of each, and what a record says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from betabo.cli.trials import TrialReader
from betabo.optuna import attributes
from betabo.optuna.study_data import StudyData
from betabo.optuna.trials import STATES, TrialRecord, read_trials, state_of
from betabo.optuna.workers import this_worker
from betabo.report.facts import read_study
from betabo.studies import list_studies, trial_rows
from betabo.studies.ledger import Ledger

ELSEWHERE = {"host": "another machine", "boot": "", "pid": 1, "started": "1"}
DEAD = {**this_worker(), "started": "before this process"}
RANGES: dict[str, BaseDistribution] = {"x": FloatDistribution(0, 1)}

# How a trial is stored -> the word for it, and where the model counts it.
FATES: dict[str, tuple[dict[str, Any], str, str]] = {
    "with a value": ({"state": "COMPLETE"}, "complete", "finished"),
    "with a value and notes of a mistake": ({"state": "COMPLETE", "interrupted": "it died"}, "complete", "finished"),
    "pruned": ({"state": "PRUNED", "steps": {0: 2.0}}, "pruned", "finished"),
    "pruned before it reported": ({"state": "PRUNED"}, "pruned", "failed"),
    "run here": ({"state": "RUNNING", "worker": this_worker()}, "running", "pending"),
    "run elsewhere": ({"state": "RUNNING", "worker": ELSEWHERE}, "running", "pending"),
    "run by a program of Optuna's": ({"state": "RUNNING"}, "running", "pending"),
    "run by a worker that is dead": ({"state": "RUNNING", "worker": DEAD}, "interrupted", ""),
    "in the queue": ({"state": "WAITING"}, "waiting", "pending"),
    "failed by the objective": ({"state": "FAIL", "worker": ELSEWHERE, "reason": "no memory"}, "failed", "failed"),
    "failed in a program of Optuna's": ({"state": "FAIL"}, "failed", "failed"),
    "failed by somebody else": ({"state": "FAIL", "worker": ELSEWHERE}, "interrupted", ""),
    "closed as its worker died": ({"state": "FAIL", "worker": ELSEWHERE, "interrupted": "it died"}, "interrupted", ""),
    "closed with a reason too": ({"state": "FAIL", "interrupted": "it died", "reason": "bad"}, "interrupted", ""),
    "withdrawn": ({"state": "FAIL", "worker": ELSEWHERE, "withdrawn": "enough"}, "withdrawn", ""),
    "interrupted and withdrawn": ({"state": "FAIL", "interrupted": "it died", "withdrawn": "no"}, "withdrawn", ""),
}
WORDS = [word for _, word, _ in FATES.values()]


def trial_of(x: float, state: str, steps: dict[int, float] | None = None, **notes: Any) -> FrozenTrial:
    kept = {getattr(attributes, name.upper()): value for name, value in notes.items()}
    waiting = state == "WAITING"
    return create_trial(
        state=TrialState[state],
        value=x if state == "COMPLETE" else None,
        params={} if waiting else {"x": x},
        distributions={} if waiting else RANGES,
        system_attrs={**kept, "fixed_params": {"x": x}} if waiting else kept,
        intermediate_values=steps,
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"sqlite:///{tmp_path_factory.mktemp('fates') / 'fates.db'}"


@pytest.fixture(scope="module")
def fates(place: str) -> optuna.Study:
    """A stored study with a trial of each fate, in their order."""
    study = optuna.create_study(study_name="fates", storage=place)
    for index, (stored, _, _) in enumerate(FATES.values()):
        study.add_trial(trial_of((index + 1) / 100, **stored))
    return study


def by_number(words: dict[int, str]) -> list[str]:
    """The word for each trial of `fates`; one that is hidden is withdrawn."""
    return [words.get(number, "withdrawn") for number in range(len(FATES))]


class TestOneWord:
    """Whoever is asked, a trial has the same word."""

    def test_the_rule(self, fates: optuna.Study) -> None:
        assert [state_of(trial) for trial in fates.trials] == WORDS
        assert set(WORDS) == set(STATES)

    def test_the_ledger(self, fates: optuna.Study) -> None:
        books = Ledger(fates.trials)
        assert [books.state(trial) for trial in books.trials] == WORDS
        assert books.finished == sum(word in ("complete", "pruned", "failed") for word in WORDS)

    def test_the_records(self, fates: optuna.Study) -> None:
        records = read_trials(fates)
        assert by_number({record.number: record.state for record in records}) == WORDS
        assert sum(record.counts for record in records) == Ledger(fates.trials).finished

    def test_the_table(self, fates: optuna.Study) -> None:
        assert by_number({row["number"]: row["state"] for row in trial_rows(fates)}) == WORDS

    def test_the_command_line(self, fates: optuna.Study) -> None:
        reader = TrialReader(fates)
        assert by_number({trial.number: trial.state for trial in reader.read()}) == WORDS
        assert by_number({trial.number: trial.state for trial in reader.read()}) == WORDS  # from its memory

    def test_the_list_of_studies(self, fates: optuna.Study, place: str) -> None:
        (info,) = list_studies(place)
        assert info.states == {word: WORDS.count(word) for word in WORDS if word != "withdrawn"}
        assert info.trials == Ledger(fates.trials).finished

    def test_the_report(self, fates: optuna.Study) -> None:
        facts = read_study(fates)
        assert by_number({trial.number: trial.state for trial in facts.trials}) == WORDS
        assert facts.counts == {word: WORDS.count(word) for word in STATES if word != "withdrawn"}

    def test_the_sampler(self, fates: optuna.Study) -> None:
        known = StudyData.of(fates.trials, RANGES, fates.directions).data
        groups = {"finished": known.points, "failed": known.failed, "pending": known.pending}
        found = {name: sorted(round(100 * x) - 1 for x in points[:, 0]) for name, points in groups.items()}
        expected = [group for _, _, group in FATES.values()]
        assert found == {name: [i for i, group in enumerate(expected) if group == name] for name in groups}


class TestRecord:
    def test_of_a_finished_trial_has_all_that_is_known(self) -> None:
        step = {"origin": "model", "diagnostics": {"noise": 0.1}}
        notes = {attributes.WORKER: {"host": "here", "pid": 7}, attributes.STEP: step, attributes.SECONDS: 2.5}
        made = create_trial(
            value=3.0,
            params={"x": 0.25},
            distributions=RANGES,
            system_attrs={**notes, attributes.RETRY_OF: 4},
            user_attrs={"size": 5},
        )
        record = TrialRecord.of(made)
        assert (record.values, record.parameters, record.distributions) == ((3.0,), {"x": 0.25}, RANGES)
        assert (record.origin, record.diagnostics, record.worker) == ("model", {"noise": 0.1}, "here:7")
        assert (record.seconds, record.retry_of, record.notes, record.reason) == (2.5, 4, {"size": 5}, "")
        assert (record.violation, record.is_feasible, record.is_complete) == (None, True, True)

    def test_without_a_note_of_the_seconds_takes_the_time_between_start_and_end(self) -> None:
        made = create_trial(value=3.0)
        assert TrialRecord.of(made).seconds == made.duration.total_seconds()

    @pytest.mark.parametrize(
        ("stored", "reason"),
        [
            ({"state": "FAIL", "reason": "no memory"}, "no memory"),
            ({"state": "FAIL", "interrupted": "it died", "reason": "no memory"}, "it died"),
            ({"state": "PRUNED", "reason": "too slow"}, "too slow"),
            ({"state": "COMPLETE", "interrupted": "it died"}, ""),
        ],
        ids=str,
    )
    def test_has_the_reason_of_its_state(self, stored: dict[str, Any], reason: str) -> None:
        assert TrialRecord.of(trial_of(0.5, **stored)).reason == reason

    def test_of_a_trial_in_the_queue_has_the_parameters_that_it_will_have(self) -> None:
        study = optuna.create_study()
        study.enqueue_trial({"x": 0.25})
        (record,) = read_trials(study)
        assert (record.state, record.origin, record.parameters) == ("waiting", "enqueued", {"x": 0.25})
        assert (record.positions, record.boundary_distance) == ({}, None)

    def test_of_a_running_trial_has_what_is_proposed_and_what_was_asked_for(self) -> None:
        made = create_trial(
            state=TrialState.RUNNING,
            params={"x": 0.5},
            distributions=RANGES,
            system_attrs={attributes.PROPOSAL: {"x": 0.1, "y": 0.2}},
        )
        assert TrialRecord.of(made).parameters == {"x": 0.5, "y": 0.2}

    def test_sums_what_violates_the_constraints(self) -> None:
        record = TrialRecord.of(create_trial(value=1.0, system_attrs={"constraints": [0.5, -1.0, 0.25]}))
        assert record.violation == 0.75
        assert not record.is_feasible

    @pytest.mark.parametrize("step", [None, "text", {}, {"origin": "model"}, {"diagnostics": "text"}])
    def test_may_lack_anything(self, step: Any) -> None:
        record = TrialRecord.of(create_trial(value=1.0, system_attrs={attributes.STEP: step}))
        assert record.diagnostics == {}


class TestPositions:
    @pytest.mark.parametrize(
        ("distribution", "value", "expected"),
        [
            (FloatDistribution(-2, 6), 0.0, 0.25),
            (FloatDistribution(1e-4, 1, log=True), 1e-2, 0.5),
            (FloatDistribution(0, 1, step=0.25), 0.75, 0.75),
            (IntDistribution(1, 5), 2, 0.25),
            (IntDistribution(1, 100, log=True), 10, 0.5),
            (FloatDistribution(0, 1), 1.0, 1.0),
            (FloatDistribution(0.1, 0.3), 0.1, 0.0),
        ],
        ids=str,
    )
    def test_are_shares_of_the_range(self, distribution: BaseDistribution, value: float, expected: float) -> None:
        made = create_trial(value=1.0, params={"p": value}, distributions={"p": distribution})
        assert TrialRecord.of(made).positions == {"p": pytest.approx(expected, abs=1e-12)}

    @pytest.mark.parametrize(
        ("distribution", "value"),
        [
            (CategoricalDistribution([1, 2]), 1),
            (CategoricalDistribution(["only"]), "only"),
            (FloatDistribution(1, 1), 1.0),
            (IntDistribution(0, 1), 1),
            (FloatDistribution(0, 0.5, step=0.5), 0.5),
            (IntDistribution(0, 2**60), 0),
        ],
        ids=str,
    )
    def test_are_those_of_numbers_with_an_inside(self, distribution: BaseDistribution, value: Any) -> None:
        params, distributions = {"p": value, "x": 0.25}, {"p": distribution, **RANGES}
        record = TrialRecord.of(create_trial(value=1.0, params=params, distributions=distributions))
        assert record.positions == {"x": 0.25}
        assert record.faces == {}
        assert record.boundary_distance == 0.5

    def test_tell_the_faces(self) -> None:
        distributions = {"n": IntDistribution(1, 8), "act": CategoricalDistribution(["a", "b"]), **RANGES}
        made = create_trial(value=1.0, params={"n": 8, "act": "a", "x": 0.0}, distributions=distributions)
        assert TrialRecord.of(made).faces == {"n": "upper", "x": "lower"}
        assert TrialRecord.of(made).boundary_distance == 0


def test_a_dead_worker_is_noticed_before_its_trial_is_closed(tmp_path: Path) -> None:
    study = optuna.create_study(storage=f"sqlite:///{tmp_path / 'study.db'}")
    study.add_trial(trial_of(0.5, "RUNNING", worker=DEAD))
    (record,) = read_trials(study)
    assert record.state == "interrupted"
    assert not record.counts
    books = Ledger(study.trials)
    assert len(books.running) == 1  # its place is taken until it is closed, for all machines alike
    assert not books.owed


@pytest.mark.parametrize(
    ("variance", "errors"),
    [(0.25, (0.5,)), ([0.25], (0.5,)), (-1.0, ()), ("much", ()), ([0.25, 0.25], ()), (None, ()), ([None], ())],
)
def test_errors_are_those_that_the_trial_says(variance: object, errors: tuple[float, ...]) -> None:
    record = TrialRecord(0, "complete", (1.0,), notes={attributes.VARIANCE: variance, "size": 3})
    assert record.errors == errors
    assert record.remarks == ({"size": 3} if errors else record.notes)

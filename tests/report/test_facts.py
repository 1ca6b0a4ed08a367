"""What is read from a study, against Optuna's own answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest

from betabo.report.facts import (
    best_so_far,
    centre_trial,
    leading_count,
    note_of,
    read_study,
    seconds_by_kind,
    usual_values,
)


class TestTrials:
    def test_are_counted_by_state_without_the_withdrawn_one(self, study: optuna.Study) -> None:
        facts = read_study(study)
        expected = {"complete": 25, "pruned": 1, "running": 1, "waiting": 1, "interrupted": 1, "failed": 1}
        assert facts.counts == expected
        assert len(facts.trials) == len(study.trials) - 1
        assert 28 not in [t.number for t in facts.trials]

    def test_know_where_they_come_from(self, study: optuna.Study) -> None:
        origins = [t.origin for t in read_study(study).trials]
        assert origins[:8] == ["start"] * 8
        assert origins[8:24] == ["model"] * 16
        assert origins[24] == "enqueued"
        assert origins[25] == ""

    def test_an_interrupted_one_names_the_trial_that_retries_it(self, study: optuna.Study) -> None:
        (trial,) = [t for t in read_study(study).trials if t.state == "interrupted"]
        assert note_of(trial) == "its worker died"

    def test_a_waiting_one_shows_the_parameters_it_will_have(self, study: optuna.Study) -> None:
        (trial,) = [t for t in read_study(study).trials if t.state == "waiting"]
        assert trial.parameters.keys() == {"rate", "drop", "layers", "act"}
        assert trial.boundary_distance is None

    @pytest.mark.parametrize("record", [None, "text", {}, {"origin": "model"}, {"diagnostics": None}])
    def test_a_record_may_lack_anything(self, record: Any, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study()
        add_trial(study, {"drop": 0.1}, [1.0], system_attrs={"betabo:step": record})
        (trial,) = read_study(study).trials
        assert trial.diagnostics == {}

    def test_what_the_objective_noted_is_its_note(self, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study()
        add_trial(study, {"drop": 0.1}, [1.0], user_attrs={"size": 0.123456789, "seed": 3})
        (trial,) = read_study(study).trials
        assert set(note_of(trial).split(", ")) == {"size 0.12346", "seed 3"}

    def test_seconds_are_summed_by_kind(self, study: optuna.Study) -> None:
        seconds = seconds_by_kind(read_study(study))
        assert seconds["fit"] == pytest.approx(16 * 0.25)
        assert seconds["acquisition"] == pytest.approx(16 * 0.5)
        durations = [t.duration.total_seconds() for t in study.trials if t.duration]
        assert seconds["trials"] == pytest.approx(sum(durations))


class TestBest:
    @pytest.mark.parametrize("direction", ["minimize", "maximize"])
    @pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
    def test_is_optunas(self, direction: str, constrained: bool, make_random: Callable[..., optuna.Study]) -> None:
        for seed in range(5):
            study = make_random([direction], constrained, seed=seed)
            (best,) = read_study(study).best
            assert best.values == tuple(study.best_trial.values)
            assert best.is_feasible

    @pytest.mark.parametrize("directions", [["minimize"] * 2, ["minimize", "maximize"], ["maximize"] * 3])
    @pytest.mark.parametrize("constrained", [False, True], ids=["free", "constrained"])
    def test_front_is_optunas(
        self, directions: list[str], constrained: bool, make_random: Callable[..., optuna.Study]
    ) -> None:
        for seed in range(5):
            study = make_random(directions, constrained, seed=seed)
            assert sorted(t.number for t in read_study(study).best) == [t.number for t in study.best_trials]

    def test_does_not_exist_without_a_feasible_trial(self, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study()
        add_trial(study, {"drop": 0.1}, [1.0], system_attrs={"constraints": [0.5, -1.0]})
        facts = read_study(study)
        assert facts.best == facts.leading == ()
        assert facts.trials[0].violation == 0.5
        assert centre_trial(facts) is None

    def test_so_far_is_a_running_minimum_of_feasible_values(self, make_random: Callable[..., optuna.Study]) -> None:
        study = make_random(["minimize"], constrained=True)
        numbers, bests = best_so_far(read_study(study))
        values = [t.value if max(t.constraints.values()) <= 0 else np.inf for t in study.trials]
        expected = np.minimum.accumulate(values)
        first = int(np.isfinite(expected).argmax())
        assert numbers == list(range(first, len(values)))
        assert bests == expected[first:].tolist()

    def test_so_far_rises_when_maximizing(self, make_random: Callable[..., optuna.Study]) -> None:
        study = make_random(["maximize"])
        assert best_so_far(read_study(study))[1] == np.maximum.accumulate([t.value for t in study.trials]).tolist()

    @pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 2), (9, 3), (30, 3), (31, 4), (100, 10), (5000, 10)])
    def test_few_are_a_tenth_within_limits(self, count: int, expected: int) -> None:
        assert leading_count(count) == expected

    def test_leading_trials_are_the_best_in_order(self, study: optuna.Study) -> None:
        values = [t.values[0] for t in read_study(study).leading]
        assert values == sorted(t.value for t in study.get_trials(states=[optuna.trial.TrialState.COMPLETE]))[:3]

    def test_centre_of_a_front_is_the_balanced_trial(self, add_trial: Callable[..., None]) -> None:
        study = optuna.create_study(directions=["minimize", "maximize"])
        for values in ([0.0, 0.0], [100.0, 1.0], [20.0, 0.9], [50.0, 0.5]):
            add_trial(study, {"drop": 0.1}, values)
        centre = centre_trial(read_study(study))
        assert centre is not None
        assert centre.number == 2


def test_objectives_have_the_names_that_the_study_gives_them(make_random: Callable[..., optuna.Study]) -> None:
    assert read_study(make_random(["minimize"])).objectives == ("value",)
    assert read_study(make_random(["minimize", "maximize"])).objectives == ("objective 1", "objective 2")
    study = make_random(["minimize", "maximize"])
    study._storage.set_study_system_attr(study._study_id, "study:metric_names", ["cost", "lift"])
    assert read_study(study).objectives == ("cost", "lift")


def test_ranges_are_those_of_the_last_trial_that_has_them(add_trial: Callable[..., None]) -> None:
    study = optuna.create_study()
    narrow, wide = (optuna.distributions.FloatDistribution(0, high) for high in (1, 2))
    add_trial(study, {"x": 1.0}, [1.0], {"x": narrow})
    add_trial(study, {"x": 1.0}, [2.0], {"x": wide})
    assert read_study(study).distributions == {"x": wide}


class TestUsualValues:
    def of(self, values: list[float], direction: str, add: Callable[..., None]) -> tuple[float, float] | None:
        study = optuna.create_study(direction=direction)
        for value in values:
            add(study, {"drop": 0.1}, [value])
        return usual_values(read_study(study))

    def test_leave_out_what_is_far_worse(self, add_trial: Callable[..., None]) -> None:
        assert self.of([0.0, 1.0, 2.0, 1e6], "minimize", add_trial) == pytest.approx((-0.2, 4.0))
        assert self.of([0.0, -1.0, -2.0, -1e6], "maximize", add_trial) == pytest.approx((-4.0, 0.2))

    @pytest.mark.parametrize(
        "values", [[], [1.0, 1e9], [0.0, 1.0, 2.0, 3.0], [1.0] * 6, [float("inf")] * 6, [-1e6, 0.0, 1.0, 2.0]], ids=str
    )
    def test_are_all_where_none_is(self, values: list[float], add_trial: Callable[..., None]) -> None:
        assert self.of(values, "minimize", add_trial) is None


class TestPlanned:
    def test_is_the_number_of_the_plan_unless_there_are_more(self) -> None:
        study = optuna.create_study()
        assert read_study(study).planned is None
        study.set_user_attr("betabo:plan", {"trials": 20})
        assert read_study(study).planned == 20
        study.set_user_attr("betabo:plan", {"trials": 1})
        for value in (0.1, 0.2):
            study.add_trial(optuna.trial.create_trial(value=value))
        assert read_study(study).planned == 2

"""What a study's trials tell the model."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from betabo import Float, Space
from betabo.optuna import BetaSampler
from betabo.optuna.attributes import INTERRUPTED, VARIANCE, WITHDRAWN
from betabo.optuna.study_data import StudyData

BOX: dict[str, BaseDistribution] = {"x": FloatDistribution(-5, 5), "y": FloatDistribution(0, 3)}


class TestTrials:
    def test_failures_count_unless_another_trial_takes_their_place(self) -> None:
        study = optuna.create_study()
        for x, attributes in ((1.0, {}), (2.0, {INTERRUPTED: 5}), (3.0, {WITHDRAWN: True}), (4.0, {})):
            study.add_trial(
                create_trial(
                    state=TrialState.FAIL, params={"x": x, "y": 0.0}, distributions=BOX, system_attrs=attributes
                )
            )
        study.add_trial(
            create_trial(params={"x": 4.0, "y": 0.0}, distributions=BOX, value=1, system_attrs={"retry_history": [3]})
        )
        data = StudyData.of(study.trials, BOX, study.directions).data
        assert data.failed[:, 0].tolist() == [0.6]
        assert data.points[:, 0].tolist() == [0.9]

    def test_pruned_trials_are_no_better_than_the_median(self) -> None:
        study = optuna.create_study(direction="maximize")
        for value in (1.0, 2.0, 3.0):
            study.add_trial(create_trial(params={"x": value, "y": 0.0}, distributions=BOX, value=value))
        for reported in ({0: 9.0, 1: 0.5}, {0: 9.0}, {}):
            study.add_trial(
                create_trial(
                    state=TrialState.PRUNED,
                    params={"x": 0.0, "y": 0.0},
                    distributions=BOX,
                    intermediate_values=reported,
                )
            )
        data = StudyData.of(study.trials, BOX, study.directions).data
        assert data.values.tolist() == [-1.0, -2.0, -3.0, -0.5, -2.0]
        assert len(data.failed) == 1

    def test_trials_without_the_parameters_are_left_out(self) -> None:
        study = optuna.create_study()
        study.add_trial(create_trial(params={"x": 1.0}, distributions={"x": BOX["x"]}, value=1))
        log = {"x": FloatDistribution(0.1, 5, log=True), "y": BOX["y"]}
        study.add_trial(create_trial(params={"x": 1.0, "y": 1.0}, distributions=log, value=1))
        assert len(StudyData.of(study.trials, BOX, study.directions).finished) == 0

    def test_trials_of_another_range_count_if_their_values_lie_in_the_present_one(self) -> None:
        study = optuna.create_study()
        wide = {"x": FloatDistribution(-9, 9), "y": BOX["y"]}
        for x in (1.0, 7.0):
            study.add_trial(create_trial(params={"x": x, "y": 1.0}, distributions=wide, value=1))
        assert StudyData.of(study.trials, BOX, study.directions).data.points[:, 0].tolist() == [0.6]


def test_a_constraint_that_a_trial_did_not_set_counts_as_violated() -> None:
    study = optuna.create_study()
    study.add_trial(create_trial(params={"x": 0.0, "y": 0.0}, distributions=BOX, value=0, constraints={"c": -1.0}))
    study.add_trial(create_trial(params={"x": 1.0, "y": 0.0}, distributions=BOX, value=0, constraints={"c": 3.0}))
    study.add_trial(create_trial(params={"x": 2.0, "y": 0.0}, distributions=BOX, value=0))
    assert StudyData.of(study.trials, BOX, study.directions).data.constraints[:, 0].tolist() == [-1.0, 3.0, 3.0]


def test_values_are_of_which_less_is_better() -> None:
    study = optuna.create_study(directions=["minimize", "maximize"])
    study.add_trial(create_trial(params={"x": 0.0, "y": 0.0}, distributions=BOX, values=[1.0, 2.0]))
    known = StudyData.of(study.trials, BOX, study.directions)
    assert known.signs.tolist() == [1.0, -1.0]
    assert known.data.values.tolist() == [[1.0, -2.0]]
    assert known.space == Space({"x": Float(-5, 5), "y": Float(0, 3)})


def test_infinite_values_are_moved_to_the_worst_finite_one() -> None:
    study = optuna.create_study()
    for value in (1.0, np.inf, 3.0, -np.inf):
        study.add_trial(create_trial(params={"x": 0.0, "y": 0.0}, distributions=BOX, value=value))
    assert StudyData.of(study.trials, BOX, study.directions).data.values.tolist() == [1.0, 3.0, 3.0, 1.0]


def test_the_trial_that_asks_is_left_out() -> None:
    study = optuna.create_study()
    for x in (1.0, 2.0):
        study.enqueue_trial({"x": x, "y": 0.0})
    assert len(StudyData.of(study.trials, BOX, study.directions).data.pending) == 2
    known = StudyData.of(study.trials, BOX, study.directions, asking=0)
    assert known.data.pending.tolist() == [pytest.approx([0.7, 0.0])]


def test_a_value_in_the_queue_may_be_anything() -> None:
    study = optuna.create_study()
    study.enqueue_trial({"x": "text", "y": 0.0})
    study.enqueue_trial({"x": 99.0, "y": 0.0})
    assert StudyData.of(study.trials, BOX, study.directions).data.total == 0


def test_choices_are_known_by_their_position() -> None:
    distributions: dict[str, BaseDistribution] = {"c": CategoricalDistribution([1, True])}
    study = optuna.create_study()
    study.add_trial(create_trial(params={"c": 1}, distributions=distributions, value=1.0))
    assert StudyData.of(study.trials, distributions, study.directions).data.points.tolist() == [[1.0, 0.0]]


class TestAccuracy:
    @staticmethod
    def study(*given: object, directions: tuple[str, ...] = ("minimize",)) -> optuna.Study:
        study = optuna.create_study(directions=directions)
        for number, variance in enumerate(given):
            notes = {} if variance is None else {VARIANCE: variance}
            point = {"x": float(number), "y": 0.5}
            values = [1.0] * len(directions)
            study.add_trial(create_trial(params=point, distributions=BOX, values=values, user_attrs=notes))
        return study

    def test_is_a_user_attribute_or_comes_from_the_setting(self) -> None:
        study = self.study(0.25, None)
        data = StudyData.of(study.trials, BOX, study.directions).data
        np.testing.assert_array_equal(data.variances, [0.25, np.nan])
        data = StudyData.of(study.trials, BOX, study.directions, noise=lambda p: p["x"] + p["y"]).data
        np.testing.assert_array_equal(data.variances, [0.25, 1.5])

    def test_of_several_objectives_is_a_list(self) -> None:
        study = self.study([0.25, 0.0], None, directions=("minimize", "maximize"))
        data = StudyData.of(study.trials, BOX, study.directions).data
        np.testing.assert_array_equal(data.variances, [[0.25, 0.0], [np.nan, np.nan]])

    @pytest.mark.parametrize("broken", ["much", -1.0, [0.1, 0.1], {"a": 1}, []])
    def test_that_is_none_is_left_out_with_a_warning(self, broken: object) -> None:
        study = self.study(broken)
        with pytest.warns(UserWarning, match="trial 0 counts as one of unknown accuracy"):
            assert np.isnan(StudyData.of(study.trials, BOX, study.directions).data.variances).all()

    def test_changes_what_the_sampler_believes(self) -> None:
        study = optuna.create_study(sampler=BetaSampler(seed=0, search_space=BOX, starting_points=4))

        def objective(trial: optuna.Trial) -> float:
            trial.set_user_attr(VARIANCE, 0.5)
            return trial.suggest_float("x", -5, 5) ** 2 + trial.suggest_float("y", 0, 3)

        study.optimize(objective, n_trials=7)
        sampler = study.sampler
        assert isinstance(sampler, BetaSampler)
        assert sampler.last_model is not None
        output = sampler.last_model.surrogate.objectives[0]
        known = sampler.last_model.study_data.data
        expected = 0.5 * output.transform.slopes(known.values) ** 2
        assert output.process.noise.numpy() == pytest.approx(expected)


def test_floats_with_numbers_behind_their_name_are_a_profile() -> None:
    distributions = {name: FloatDistribution(0, 1) for name in sorted(f"u[{number}]" for number in range(12))}
    trial = create_trial(params=dict.fromkeys(distributions, 0.5), distributions=distributions, value=1.0)
    data = StudyData.of([trial], distributions, [optuna.study.StudyDirection.MINIMIZE]).data
    (profile,) = data.profiles
    assert [list(distributions)[place] for place in profile] == [f"u[{number}]" for number in range(12)]

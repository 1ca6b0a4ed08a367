"""The parts of the page: what each shows, and what it says when there is nothing to see."""

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.distributions import FloatDistribution

from betabo.optuna import StudyModel, fit_study
from betabo.report.facts import read_study
from betabo.report.sections import Sections

Add = Callable[..., None]
IDS = ["convergence", "boundary", "importance", "slices", "fit", "parallel", "model"]


@pytest.fixture(scope="module")
def model(study: optuna.Study) -> StudyModel:
    return fit_study(study)


@pytest.fixture
def whole(study: optuna.Study, model: StudyModel) -> Sections:
    return Sections(read_study(study), model)


def test_each_chart_has_a_figure(whole: Sections) -> None:
    sections = whole.all()
    assert [section.id for section in sections] == IDS
    keys = [chart.id for section in sections for group in section.groups for chart in group.charts]
    assert len(keys) == len(set(keys)) > len(IDS)
    assert set(keys) == set(whole.figures)
    assert all(section.groups and not section.missing for section in sections)


def test_an_empty_study_says_so_in_each_section() -> None:
    empty = Sections(read_study(optuna.create_study()), None, "There is no model.")
    sections = {section.id: section for section in empty.all()}
    assert sections["convergence"].missing == "No trial has finished with a value yet."
    assert sections["importance"].missing == "There is no model."
    assert sections["model"].missing == "The study has no trials yet."
    assert not empty.figures
    assert all(section.missing and not section.groups for section in sections.values())


def test_slices_go_through_the_best_trial_the_most_important_first(whole: Sections) -> None:
    section = whole.slices()
    group, plane = section.groups
    assert section.title == "Predictions through the best point"
    assert len(group.charts) == 4
    assert "one parameter of trial 24 (star)" in group.caption
    assert whole.ranked == whole.importances[0].parameters
    assert plane.title == f"{whole.ranked[0]} and {whole.ranked[1]}"
    assert [chart.title for chart in plane.charts] == ["predicted value", "width of its 90 % interval"]


def test_few_trials_are_a_reason_to_doubt_the_order(add_trial: Add) -> None:
    study = optuna.create_study()
    ranges = {name: FloatDistribution(0, 1) for name in "abc"}
    for index in range(6):
        add_trial(study, {name: (0.37 * index + 0.2 * k) % 1 for k, name in enumerate("abc")}, [index % 3.0], ranges)
    section = Sections(read_study(study), fit_study(study)).importance()
    assert "6 trials of 3 parameters" in section.missing


def test_positive_values_have_both_scales(add_trial: Add) -> None:
    for offset in (1.0, 0.0):
        study = optuna.create_study()
        for index in range(3):
            add_trial(study, {"x": 0.2 * index}, [index + offset], {"x": FloatDistribution(0, 1)})
        ((chart,),) = [group.charts for group in Sections(read_study(study), None).convergence().groups]
        assert chart.has_scales == (offset > 0)


def test_several_objectives_have_a_front_and_its_hypervolume(make_random: Callable[..., optuna.Study]) -> None:
    charts = Sections(read_study(make_random(["minimize", "maximize"])), None)
    ((front, volume),) = [group.charts for group in charts.convergence().groups]
    assert (front.id, volume.id) == ("front", "hypervolume")
    assert "Volume between the front and the point (12.1, -1.1)" in volume.caption


def test_too_many_objectives_have_no_hypervolume(make_random: Callable[..., optuna.Study]) -> None:
    charts = Sections(read_study(make_random(["minimize"] * 5)), None)
    assert [chart.id for group in charts.convergence().groups for chart in group.charts] == ["front"]


def test_constant_hyperparameters_are_said_and_not_drawn(whole: Sections) -> None:
    section = whole.hyperparameters()
    (group,) = section.groups
    assert [chart.id for chart in group.charts] == ["trace-bandwidth", "trace-lengthscale", "trace-noise"]
    assert group.caption.endswith("boundary weight 0.")
    assert ("trials in this page's model", "26") in section.pairs


def test_a_study_of_another_sampler_has_no_hyperparameters(add_trial: Add) -> None:
    study = optuna.create_study()
    add_trial(study, {"x": 0.5}, [1.0], {"x": FloatDistribution(0, 1)})
    missing = Sections(read_study(study), None).hyperparameters().missing
    assert missing == "Another sampler made this study, so no hyperparameters were recorded with its trials."

from __future__ import annotations

from collections.abc import Callable

import optuna
import pytest
from optuna.trial import TrialState, create_trial

from betabo.optuna.space import to_distributions
from betabo.studies import CommandObjective, Plan, open_study, parse_parameters
from betabo.studies.choice import choose_parameters

MakePlan = Callable[..., Plan]

SPACE = parse_parameters(["x=0..1", "n=1..8:int", "a=u|v", "c=7"])
ECHO = CommandObjective("echo {x} {n} {a} {c}")
DISTRIBUTIONS = to_distributions(SPACE)


@pytest.fixture
def study(make_plan: MakePlan) -> optuna.Study:
    return open_study(make_plan(space=SPACE, objective=ECHO))


def choose(study: optuna.Study, number: int = 0) -> dict[str, object]:
    return choose_parameters(study, study._storage, study.trials[number], SPACE)


def test_the_sampler_is_asked_and_its_answer_is_stored(study: optuna.Study) -> None:
    study.add_trial(create_trial(state=TrialState.RUNNING))
    chosen = choose(study)
    assert chosen == study.trials[0].params
    assert chosen["c"] == 7
    assert study.trials[0].distributions == DISTRIBUTIONS
    assert choose(study) == chosen  # what is there stays


def test_it_agrees_with_optuna(study: optuna.Study, make_plan: MakePlan) -> None:
    study.add_trial(create_trial(state=TrialState.RUNNING))
    trial = open_study(make_plan(study="other", space=SPACE, objective=ECHO)).ask(DISTRIBUTIONS)
    assert choose(study) == trial.params


def test_what_stands_in_the_queue_comes_first(study: optuna.Study) -> None:
    study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={"fixed_params": {"x": 0.25, "a": "v"}}))
    chosen = choose(study)
    assert (chosen["x"], chosen["a"]) == (0.25, "v")
    assert isinstance(chosen["n"], int)


def test_parameters_that_are_all_given_need_no_proposal(study: optuna.Study) -> None:
    given = {"x": 0.25, "n": 3, "a": "u", "c": 7}
    study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={"fixed_params": given}))
    assert choose(study) == given
    assert set(study.trials[0].system_attrs) == {"fixed_params"}


def test_a_value_in_the_queue_that_is_none_of_the_choices_is_refused(study: optuna.Study) -> None:
    study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={"fixed_params": {"a": "w"}}))
    with pytest.raises(ValueError, match="w"):
        choose(study)
    assert study.trials[0].params == {}


class TestConditions:
    SPACE = parse_parameters(["m=svm|tree", "C=1e-2..1e2:log when m=svm", "d=1..9:int when m=tree", "c=7"])
    ECHO = CommandObjective("echo {m} --C {C} {d} {c}")

    def choose(self, study: optuna.Study, **given: object) -> dict[str, object]:
        study.add_trial(create_trial(state=TrialState.RUNNING, system_attrs={"fixed_params": given}))
        return choose_parameters(study, study._storage, study.trials[-1], self.SPACE)

    def test_only_what_exists_is_chosen_and_stored(self, make_plan: MakePlan) -> None:
        study = open_study(make_plan(space=self.SPACE, objective=self.ECHO))
        for model, names in (("svm", ["m", "C", "c"]), ("tree", ["m", "d", "c"])):
            found = self.choose(study, m=model)
            assert list(found) == names
            assert found == study.trials[-1].params

    def test_a_whole_point_of_the_queue_needs_no_proposal(self, make_plan: MakePlan) -> None:
        study = open_study(make_plan(space=self.SPACE, objective=self.ECHO))
        assert self.choose(study, m="tree", d=4) == {"m": "tree", "d": 4, "c": 7}
        assert "betabo:proposal" not in study.trials[-1].system_attrs

"""Results that were known before a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

from betabo import Float, Problem, Space
from betabo.optuna import BetaSampler
from betabo.optuna.attributes import KNOWN, STEP
from betabo.optuna.known import with_known
from betabo.optuna.space import to_distributions
from betabo.optuna.study_data import StudyData

SPACE = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 2.0)})


def entry(x: float, values: list[float] | None, **constraints: float) -> dict[str, Any]:
    return {"parameters": {"x": x, "y": 1.0}, "values": values, "constraints": constraints}


def data_of(study: optuna.Study) -> StudyData:
    return StudyData.of(study.get_trials(deepcopy=False), to_distributions(SPACE), study.directions)


def test_known_results_come_before_those_of_trials() -> None:
    study = optuna.create_study(direction="maximize")
    study.add_trial(
        optuna.create_trial(values=[2.0], params={"x": 0.5, "y": 0.0}, distributions=to_distributions(SPACE))
    )
    study.set_user_attr(KNOWN, [entry(0.25, [3.0]), entry(0.75, None), entry(1.5, [4.0])])
    data = with_known(study, data_of(study)).data
    np.testing.assert_array_equal(data.points, [[0.25, 0.5], [0.5, 0.0]])
    np.testing.assert_array_equal(data.values, [-3.0, -2.0])
    np.testing.assert_array_equal(data.failed, [[0.75, 0.5]])
    assert [step.origin for step in data.steps] == ["known", "user"]


def test_a_search_begins_with_the_model_where_enough_is_known() -> None:
    study = optuna.create_study(sampler=BetaSampler(search_space=SPACE, seed=0, kernel="rbf"))
    study.set_user_attr(KNOWN, [entry(x, [(x - 0.3) ** 2]) for x in np.linspace(0, 1, 6)])
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 2), n_trials=1)
    assert study.trials[0].system_attrs[STEP]["origin"] == "model"


def test_constraints_have_the_columns_of_the_trials() -> None:
    study = optuna.create_study()
    study.set_user_attr(KNOWN, [entry(0.25, [3.0], **{"t <= 1": 0.5}), entry(0.5, [3.0], **{"t <= 1": -0.5})])
    assert with_known(study, data_of(study)).data.constraints.tolist() == [[0.5], [-0.5]]


def test_what_is_damaged_is_refused() -> None:
    study = optuna.create_study()
    study.set_user_attr(KNOWN, [{"parameters": 3}])
    with pytest.raises(ValueError, match="betabo:known"):
        with_known(study, data_of(study))


class TestOptunasWords:
    def test_mean_ours(self) -> None:
        sampler = BetaSampler(n_startup_trials=3, deterministic_objective=True)
        assert (sampler.config.starting_points, sampler.config.noise) == (3, "none")
        with pytest.raises(ValueError, match="starting_points is given twice, once in Optuna's words"):
            BetaSampler(n_startup_trials=3, starting_points=4)

    def test_constraints_func_is_asked_after_each_trial(self) -> None:
        sampler = BetaSampler(seed=0, n_startup_trials=3, constraints_func=lambda trial: [trial.params["x"] - 0.5])
        study = optuna.create_study(sampler=sampler)
        study.optimize(lambda trial: -trial.suggest_float("x", 0, 1), n_trials=8)
        assert [t.constraints["0"] for t in study.trials] == [t.params["x"] - 0.5 for t in study.trials]
        assert study.best_params["x"] == pytest.approx(0.5, abs=0.1)
        assert study.best_params["x"] <= 0.5
        bad = optuna.create_study(sampler=BetaSampler(constraints_func=lambda _: [float("nan")]))
        with pytest.raises(ValueError, match=r"constraints_func returned .*nan"):
            bad.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)

    def test_independent_sampling_is_said_unless_it_is_not_to_be(self, caplog: pytest.LogCaptureFixture) -> None:
        for warns in (True, False):
            caplog.clear()
            study = optuna.create_study(sampler=BetaSampler(seed=0, warn_independent_sampling=warns))
            study.optimize(lambda trial: trial.suggest_float(f"x{trial.number}", 0, 1), n_trials=3)
            assert ("the model does not propose 'x2'" in caplog.text) == warns

    def test_a_problem_is_a_search_space_with_constraints(self) -> None:
        problem = Problem(SPACE, known="x + y <= 1", constraints={"heat": "<= 50"})
        study = optuna.create_study(sampler=BetaSampler(search_space=problem, seed=0, kernel="rbf"))

        def objective(trial: optuna.Trial) -> float:
            x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 2)
            trial.set_user_attr("heat", 100 * x)
            return -x - y

        study.optimize(objective, n_trials=7)
        for trial in study.trials:
            assert trial.params["x"] + trial.params["y"] <= 1
            assert trial.constraints == {"heat <= 50.0": pytest.approx(100 * trial.params["x"] - 50)}

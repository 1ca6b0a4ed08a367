"""`BetaSearchCV` as scikit-learn's own tests see it, and beside `RandomizedSearchCV`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="`make dev` installs it")

import scipy.stats
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from betabo import Categorical, Config, Fixed, Float, Int
from betabo.sklearn import BetaSearchCV, as_search_space

# Those that scikit-learn excuses its own searches from, by the same words.
CONFIG = Config(starting_points=8)

EXCUSED = {
    "check_sample_weight_equivalence_on_dense_data": "folds change with weights",
    "check_sample_weight_equivalence_on_sparse_data": "folds change with weights",
    "check_supervised_y_2d": "the warning comes from the estimator",
    "check_requires_y_none": "no error message of the wanted words",
}


def search(**more: Any) -> BetaSearchCV:
    settings: dict[str, Any] = {"n_iter": 4, "cv": 2, "random_state": 0, **more}
    return BetaSearchCV(LogisticRegression(), {"C": Float(1e-3, 1e3, log=True)}, **settings)


@pytest.mark.parametrize("estimator", [search(), BetaSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, n_iter=2, cv=2)])
@pytest.mark.filterwarnings("ignore")
def test_passes_the_tests_of_scikit_learn(estimator: BetaSearchCV) -> None:
    results = check_estimator(estimator, expected_failed_checks=EXCUSED, on_fail=None)
    failed = {r["check_name"]: str(r["exception"])[:200] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(result["status"] == "passed" for result in results) > 30


def test_finds_good_parameters_and_refits() -> None:
    x, y = load_iris(return_X_y=True)
    space = {
        "svc__C": scipy.stats.loguniform(1e-3, 1e3),
        "svc__kernel": ["linear", "rbf"],
        "minmaxscaler": [StandardScaler(), MinMaxScaler(), "passthrough"],
        "svc__shrinking": Fixed(True),
    }
    found = BetaSearchCV(make_pipeline(MinMaxScaler(), SVC()), space, n_iter=10, cv=3, random_state=0).fit(x, y)
    assert found.best_score_ > 0.95
    assert found.best_params_ == found.cv_results_["params"][found.best_index_]
    assert len(found.cv_results_["mean_test_score"]) == 10
    assert found.best_score_ == max(found.cv_results_["mean_test_score"])
    assert found.predict(x).shape == y.shape
    assert found.best_params_["svc__C"] == found.best_estimator_.named_steps["svc"].C
    again = clone(found).fit(x, y)
    assert again.cv_results_["params"][0]["svc__C"] == found.cv_results_["params"][0]["svc__C"]


def test_of_several_scores_the_one_that_refit_names_is_searched_by() -> None:
    x, y = make_classification(n_samples=60, random_state=0)
    found = search(scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss").fit(x, y)
    assert found.best_score_ == max(found.cv_results_["mean_test_neg_log_loss"])
    with pytest.raises(ValueError, match="expected the name of the score to search by: accuracy, neg_log_loss"):
        search(scoring=["accuracy", "neg_log_loss"], refit=False).fit(x, y)


def test_fits_that_fail_are_failed_evaluations() -> None:
    x, y = make_classification(n_samples=60, random_state=0)
    space = {"C": Float(-1.0, 1.0)}
    found = BetaSearchCV(LogisticRegression(), space, n_iter=8, cv=2, random_state=0, config=CONFIG).fit(x, y)
    assert 1 <= len(found.cv_results_["params"]) < 8
    assert found.best_params_["C"] > 0
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        BetaSearchCV(LogisticRegression(), {"C": Float(-2.0, -1.0)}, n_iter=2, cv=2).fit(x, y)


def test_a_batch_keeps_the_jobs_busy() -> None:
    assert search(n_jobs=8, cv=2)._batch() == 4
    assert search(n_jobs=1)._batch() == 1
    assert search(n_jobs=10, cv=KFold(2))._batch() == 2
    assert search(batch_size=3)._batch() == 3


def test_spaces_as_scikit_learn_writes_them() -> None:
    space, choices = as_search_space(
        {
            "a": scipy.stats.uniform(1, 2),
            "b": scipy.stats.loguniform(1e-3, 1),
            "c": scipy.stats.randint(2, 9),
            "d": [None, (1, 2)],
            "e": np.array([5]),
            "f": Int(1, 2),
        }
    )
    assert dict(space.parameters) == {
        "a": Float(1, 3),
        "b": Float(1e-3, 1, log=True),
        "c": Int(2, 8),
        "d": Categorical([0, 1]),
        "e": Fixed(0),
        "f": Int(1, 2),
    }
    assert choices == {"d": [None, (1, 2)], "e": [5]}
    for wrong in ((0, 1), scipy.stats.norm(), "x", []):
        with pytest.raises(TypeError, match=r"C is .*, expected a Float, Int, Categorical or Fixed"):
            as_search_space({"C": wrong})
    with pytest.raises(TypeError, match="space is 3, expected a dict"):
        as_search_space(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="n_iter is 0, expected a whole number"):
        search(n_iter=0).fit(np.zeros((8, 1)), [0, 1] * 4)

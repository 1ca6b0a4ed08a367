from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from betabo.lab.problems.learning import BoostingDiabetes, SvmCancer


def test_the_svm_is_what_scikit_learn_computes() -> None:
    inputs, targets = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), SVC(C=10.0, gamma=1e-3, tol=1e-6))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    margins = cross_val_predict(model, inputs, targets, cv=folds, method="decision_function")
    losses = np.log1p(np.exp(-(2 * targets - 1) * margins))
    expected = np.mean([losses[test].mean() for _, test in folds.split(inputs, targets)])
    assert SvmCancer(2).value(np.array([1.0, -3.0])) == pytest.approx(expected, rel=1e-9)


def test_boosting_is_what_scikit_learn_computes() -> None:
    inputs, targets = load_diabetes(return_X_y=True)
    model = GradientBoostingRegressor(
        learning_rate=0.1,
        n_estimators=32,
        max_depth=2,
        min_samples_leaf=4,
        subsample=0.5,
        max_features=0.6,
        random_state=0,
    )
    folds = KFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(model, inputs, targets, cv=folds, scoring="neg_root_mean_squared_error")
    value = BoostingDiabetes(6).value(np.array([-1.0, 5.0, 2.2, 2.0, 0.5, 0.6]))
    assert value == pytest.approx(-scores.mean(), rel=1e-9)

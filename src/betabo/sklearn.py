"""Hyperparameters of scikit-learn's estimators, in place of `GridSearchCV` and `RandomizedSearchCV`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from betabo.extras import needs_extra
from betabo.optimizer.config import Config
from betabo.optimizer.optimizer import Optimizer
from betabo.space import Categorical, Fixed, Float, Int, Parameter, Space

with needs_extra("sklearn", "betabo.sklearn needs scikit-learn"):
    from joblib import effective_n_jobs
    from sklearn.model_selection import check_cv
    from sklearn.model_selection._search import BaseSearchCV
    from sklearn.utils import check_random_state

_EXPECTED = "a Float, Int, Categorical or Fixed, a list of choices, or scipy.stats.uniform, loguniform or randint"


class BetaSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Bayesian optimization of an estimator's hyperparameters by cross-validation.

    Used as `RandomizedSearchCV` is, with the same attributes after `fit`: `best_params_`, `best_score_`,
    `best_estimator_`, `cv_results_` and so on. A candidate all of whose fits fail is a failed evaluation, and not in
    `cv_results_` unless others of its batch succeeded.

    Args:
        estimator: An estimator of scikit-learn, or a pipeline.
        space: For each hyperparameter a `Float`, `Int`, `Categorical` or `Fixed`, a list of choices of any kind, or a
            `scipy.stats.uniform`, `loguniform` or `randint`.
        n_iter: Number of candidates that are evaluated.
        batch_size: Candidates that are chosen and evaluated together; None takes as many as keep `n_jobs` busy.
        scoring: Scores as in scikit-learn; the search maximizes the one that `refit` names if there are several.
        n_jobs: Jobs of joblib, over candidates of a batch and folds.
        refit: Whether to fit the best estimator to all data; the name of the score to go by if there are several.
        cv: Folds as in scikit-learn.
        verbose: As in scikit-learn.
        pre_dispatch: As in scikit-learn.
        random_state: Seed of the search.
        error_score: Score of a fit that fails, or `"raise"`.
        return_train_score: Whether to score the training data too.
        config: Settings of the search.

    Example:
        >>> search = BetaSearchCV(SVC(), {"C": Float(1e-3, 1e3, log=True), "kernel": ["linear", "rbf"]}, n_iter=30)
        >>> search.fit(X, y).best_params_
    """

    def __init__(
        self,
        estimator: Any,
        space: Mapping[str, Any],
        *,
        n_iter: int = 50,
        batch_size: int | None = None,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: bool | str | Callable[..., int] = True,
        cv: Any = None,
        verbose: int = 0,
        pre_dispatch: int | str = "2*n_jobs",
        random_state: Any = None,
        error_score: float | str = np.nan,
        return_train_score: bool = False,
        config: Config | None = None,
    ) -> None:
        super().__init__(
            estimator=estimator,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.space = space
        self.n_iter = n_iter
        self.batch_size = batch_size
        self.random_state = random_state
        self.config = config

    def _run_search(self, evaluate_candidates: Callable[[Iterable[dict[str, Any]]], Mapping[str, Any]]) -> None:
        """Ask for candidates, have scikit-learn evaluate them, tell their scores, `n_iter` times in all."""
        if isinstance(self.n_iter, bool) or not isinstance(self.n_iter, int | np.integer) or self.n_iter < 1:
            raise ValueError(f"n_iter is {self.n_iter!r}, expected a whole number of at least 1.")
        space, choices = as_search_space(self.space)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        optimizer = Optimizer(space, objectives="maximize", seed=seed, config=self.config)
        column = f"mean_test_{self.refit if isinstance(self.refit, str) else 'score'}"
        done = recorded = 0
        while done < self.n_iter:
            points = optimizer.ask(min(self._batch(), self.n_iter - done))
            done += len(points)
            try:
                found = evaluate_candidates([_as_parameters(point, choices) for point in points])
            except ValueError as error:
                # scikit-learn gives up if all fits of a call fail, which a single candidate may do on its own.
                if not recorded or self.error_score == "raise" or "fits failed" not in str(error):
                    raise
                for point in points:
                    optimizer.tell_failure(point, "all fits failed")
                continue
            if column not in found:
                scores = ", ".join(name[len("mean_test_") :] for name in found if name.startswith("mean_test_"))
                raise ValueError(f"refit is {self.refit!r}, expected the name of the score to search by: {scores}.")
            for point, score in zip(points, found[column][recorded:], strict=True):
                optimizer.tell(point, float(score))  # NaN is a failed evaluation
            recorded += len(points)

    def _batch(self) -> int:
        if self.batch_size is not None:
            return max(1, int(self.batch_size))
        folds = check_cv(self.cv).get_n_splits() if self.cv is None or isinstance(self.cv, int) else 5
        return max(1, int(effective_n_jobs(self.n_jobs)) // folds)


def as_search_space(space: Mapping[str, Any]) -> tuple[Space, dict[str, Sequence[Any]]]:
    """The space of hyperparameters, and the choices of those whose values in it are positions of choices.

    Raises:
        TypeError: A hyperparameter is none of what `BetaSearchCV` takes.
    """
    if not isinstance(space, Mapping):
        raise TypeError(f"space is {space!r}, expected a dict with {_EXPECTED} for each hyperparameter.")
    parameters: dict[str, Parameter] = {}
    choices: dict[str, Sequence[Any]] = {}
    for name, given in space.items():
        if isinstance(given, Parameter):
            parameters[name] = given
        elif isinstance(given, list | np.ndarray) and len(given):
            choices[name] = list(given)
            parameters[name] = Categorical(range(len(given))) if len(given) > 1 else Fixed(0)
        else:
            parameters[name] = _of_distribution(name, given)
    return Space(parameters), choices


def _of_distribution(name: str, given: Any) -> Parameter:
    """The parameter of one of SciPy's frozen distributions."""
    kind = getattr(getattr(given, "dist", None), "name", None)
    if kind == "randint":
        low, high = given.support()
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        low, high = (float(end) for end in given.support())
        return Float(low, high, log=kind != "uniform")
    raise TypeError(f"{name} is {given!r}, expected {_EXPECTED}.")


def _as_parameters(point: Mapping[str, Any], choices: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    return {name: choices[name][value] if name in choices else value for name, value in point.items()}

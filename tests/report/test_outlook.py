"""What the report says the model expects."""

from __future__ import annotations

import optuna
import pytest

from betabo.optuna import BetaSampler, fit_study
from betabo.report import build_report
from betabo.report.boundary import Hint
from betabo.report.outlook import outlook, with_estimates


@pytest.fixture(scope="module")
def cut() -> optuna.Study:
    """A bowl whose lowest point lies beyond the upper bound of `x`."""
    study = optuna.create_study(study_name="cut", sampler=BetaSampler(seed=0))

    def bowl(trial: optuna.Trial) -> float:
        return (trial.suggest_float("x", 0, 1) - 1.2) ** 2 + (trial.suggest_float("y", 0, 1) - 0.5) ** 2

    study.optimize(bowl, n_trials=16)
    return study


def test_a_wider_range_is_worth_something_where_the_optimum_lies_beyond(cut: optuna.Study) -> None:
    model = fit_study(cut)
    hints = [Hint("x", "upper", 1.0, "there", "go"), Hint("gone", "upper", 1.0, "there", "go")]
    found = with_estimates(hints, model)
    assert found[0].estimate.startswith("Beyond x = 1, up to 1.2, the best value would improve by about 0.0")
    assert found[1] == hints[1]
    assert with_estimates(hints, None) == hints


def test_the_page_says_how_sure_the_search_is(cut: optuna.Study) -> None:
    page = build_report(cut)
    assert "is still to be gained in this box." in page
    assert "the best value would improve by about 0.0" in page


def test_several_objectives_have_no_outlook() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 1 - trial.params["x"]), n_trials=4)
    assert outlook(fit_study(study)) == ""
    assert with_estimates([Hint("x", "upper", 1.0, "", "")], fit_study(study))[0].estimate == ""
    assert outlook(None) == ""

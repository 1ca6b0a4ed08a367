"""What `betabo.optuna` offers, and that looking at a study does not import the model."""

from __future__ import annotations

import subprocess
import sys

import pytest

import betabo.optuna


def test_every_name_can_be_had() -> None:
    assert sorted(betabo.optuna.__all__) == betabo.optuna.__all__ == dir(betabo.optuna)
    for name in betabo.optuna.__all__:
        assert getattr(betabo.optuna, name).__name__ == name


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'BetaSamplar'"):
        betabo.optuna.BetaSamplar  # noqa: B018


def test_reading_trials_does_not_import_torch() -> None:
    code = "import sys; from betabo.optuna import best_trials, read_trials; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

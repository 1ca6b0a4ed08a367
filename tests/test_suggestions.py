from __future__ import annotations

import pytest

from betabo.suggestions import did_you_mean

KERNELS = ("beta", "beta-matern", "matern", "rbf")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("mattern", "matern"), ("RFB", "rbf"), ("beta_matern", "beta-matern"), ("tern", "matern"), ("m", "beta-matern")],
)
def test_the_closest_name_is_meant_or_one_with_the_same_letters_in_it(written: str, meant: str) -> None:
    assert did_you_mean(written, KERNELS) == f" Did you mean {meant!r}?"


@pytest.mark.parametrize("written", ["", "thompson"])
def test_nothing_is_said_where_nothing_is_close(written: str) -> None:
    assert did_you_mean(written, KERNELS) == ""
    assert did_you_mean("beta", ()) == ""


def test_the_names_keep_their_case() -> None:
    assert did_you_mean("tuning", ["Other", "TUNING"]) == " Did you mean 'TUNING'?"


def test_several_names_come_closest_first_and_no_more_than_asked() -> None:
    names = ["tuning-of-all", "tuning-2", "tuning", "other", "Tuning-3"]
    assert did_you_mean("tunin", names, most=3) == " Did you mean 'tuning' or 'Tuning-3' or 'tuning-2'?"
    assert did_you_mean("g-of", names, most=3) == " Did you mean 'tuning-of-all'?"

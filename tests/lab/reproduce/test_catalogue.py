from __future__ import annotations

import pytest

from betabo.lab.reproduce import REPRODUCTIONS, SCALES, reproduction_by_name


def test_catalogue_is_complete() -> None:
    assert set(REPRODUCTIONS) >= {"covariance", "eigendecay", "eigendecay-table", "diagonal-bound"}
    for name, entry in REPRODUCTIONS.items():
        assert entry.name == name
        assert entry.description
        estimates = [entry.estimate(scale) for scale in SCALES]
        assert 0 < estimates[0] <= 60
        assert estimates[1] <= 20 * 60
        assert estimates == sorted(estimates)


def test_unknown_name_is_refused_with_the_closest() -> None:
    with pytest.raises(
        ValueError, match=r"reproduction is 'eigendekay', expected one of .*Did you mean 'eigendecay'\?"
    ):
        reproduction_by_name("eigendekay")

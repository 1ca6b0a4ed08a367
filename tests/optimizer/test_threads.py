"""A step uses one thread where more would only wait, and leaves the user's setting as it was."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import scipy.linalg
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from betabo import Optimizer
from betabo.optimizer.threads import few_threads


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, "blas"):
        yield
    torch.set_num_threads(before)


def blas_threads() -> set[int]:
    np.eye(2) @ np.eye(2)  # both are there once they were used
    scipy.linalg.cholesky(np.eye(2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_small_problems_take_one_thread_and_large_ones_the_users() -> None:
    with few_threads(100):
        assert torch.get_num_threads() == 1
        assert blas_threads() == {1}
    assert torch.get_num_threads() == 2
    assert blas_threads() == {2}
    with few_threads(100_000):
        assert torch.get_num_threads() == 2
        assert blas_threads() == {2}


def test_steps_that_overlap_leave_the_users_setting() -> None:
    first, second = few_threads(10), few_threads(10)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert torch.get_num_threads() == 2
    assert blas_threads() == {2}


def test_the_setting_comes_back_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), few_threads(10):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 2
    assert blas_threads() == {2}


def test_a_step_takes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    from betabo.surrogate import gp

    seen = []

    def watched(covariance: torch.Tensor, cholesky: object = gp.cholesky) -> torch.Tensor:
        seen.append({torch.get_num_threads(), *blas_threads()})
        return cholesky(covariance)  # type: ignore[operator,no-any-return]

    monkeypatch.setattr(gp, "cholesky", watched)
    search = Optimizer([(0, 1)], seed=0, starting_points=2)
    for _ in range(4):
        point = search.ask()
        search.tell(point, float(point[0]))
    assert seen
    assert all(numbers == {1} for numbers in seen)
    assert torch.get_num_threads() == 2

"""How many threads a step takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

import scipy.linalg  # noqa: F401  its BLAS is to be there when libraries are looked for
import torch
from threadpoolctl import LibController, ThreadpoolController

_MANY = 1000
"""Points from which on matrices are large enough to be shared among threads."""


@contextmanager
def few_threads(points: int) -> Iterator[None]:
    """Let torch and BLAS use one thread for a small problem, and the user's numbers again afterwards.

    Threads that share a small matrix wait for each other longer than they work: with a hundred points a step in one
    thread takes a third of the time that it takes in two (`benchmarks/step.py`). Torch has threads of its own; NumPy
    and SciPy each bring a BLAS with more, and SciPy's L-BFGS-B calls its own in every iteration.

    Args:
        points: Number of data.
    """
    if points >= _MANY:
        yield
        return
    # Steps of several threads of one process may overlap: what has one thread already is left to whoever said so.
    before = [pool for pool in ((torch.get_num_threads(), torch.set_num_threads), *_blas()) if pool[0] > 1]
    for _, set_threads in before:
        set_threads(1)
    try:
        yield
    finally:
        for threads, set_threads in before:
            set_threads(threads)


def _blas() -> list[tuple[int, Callable[[int], object]]]:
    """The threads of each BLAS, and what changes them."""
    return [(library.num_threads, library.set_num_threads) for library in _blas_libraries()]


@cache
def _blas_libraries() -> tuple[LibController, ...]:
    """Looked for once, since that takes a while."""
    return tuple(ThreadpoolController().select(user_api="blas").lib_controllers)

"""How many threads a step takes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

_MANY = 1000
"""Points from which on matrices are large enough to be shared among threads."""


@contextmanager
def few_threads(points: int) -> Iterator[None]:
    """Let torch use one thread for a small problem, and the user's number again afterwards.

    Threads that share a small matrix wait for each other longer than they work: with a hundred points a step in one
    thread takes a third of the time that it takes in two (`benchmarks/step.py`).

    Args:
        points: Number of data.
    """
    threads = torch.get_num_threads()
    if points >= _MANY or threads == 1:
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)

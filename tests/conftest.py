from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

settings.register_profile("betabo", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("betabo")
torch.set_num_threads(1)  # the tests run in as many processes as there are cores


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.random.fork_rng():
        yield

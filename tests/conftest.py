from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

pytest_plugins = ["tiny_models"]

settings.register_profile("betabo", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("betabo")
torch.set_num_threads(1)  # the tests run in as many processes as there are cores

# Ray's authentication would otherwise write a token to the home directory. A process remembers the first one it sees.
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
# Its workers would otherwise let everybody else go first, and get nowhere on a busy machine.
os.environ.setdefault("RAY_worker_niceness", "0")


@pytest.fixture(autouse=True)
def _seeded() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.random.fork_rng():
        yield

"""Searches over bounded spaces: one stateless core, with ask and tell around it.

Names are loaded when they are first used, so that a configuration is at hand without the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lazy import loaded_when_used

if TYPE_CHECKING:
    from betabo.optimizer.answer import Estimate, Recommendation
    from betabo.optimizer.config import Config
    from betabo.optimizer.core import Proposal, propose
    from betabo.optimizer.data import Data
    from betabo.optimizer.optimizer import Optimizer, TooManyFailuresError
    from betabo.optimizer.result import SearchResult

__all__ = [
    "Config",
    "Data",
    "Estimate",
    "Optimizer",
    "Proposal",
    "Recommendation",
    "SearchResult",
    "TooManyFailuresError",
    "propose",
]

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "answer": ["Estimate", "Recommendation"],
        "config": ["Config"],
        "core": ["Proposal", "propose"],
        "data": ["Data"],
        "optimizer": ["Optimizer", "TooManyFailuresError"],
        "result": ["SearchResult"],
    },
)

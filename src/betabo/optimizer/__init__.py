"""Searches over bounded spaces: one stateless core, with ask and tell around it."""

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

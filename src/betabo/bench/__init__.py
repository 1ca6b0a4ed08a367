"""Campaigns: optimizers compared on problems, with several seeds, in parallel, resumable."""

from betabo.bench.campaign import Campaign, OptimizerChoice, load_campaign
from betabo.bench.optimizers import OPTIMIZERS, OptimizerAdapter, OptimizerEntry, register_optimizer
from betabo.bench.results import read_results, values_at
from betabo.bench.runner import Outcome, run_campaign

__all__ = [
    "OPTIMIZERS",
    "Campaign",
    "OptimizerAdapter",
    "OptimizerChoice",
    "OptimizerEntry",
    "Outcome",
    "load_campaign",
    "read_results",
    "register_optimizer",
    "run_campaign",
    "values_at",
]

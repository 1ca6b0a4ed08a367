"""Campaigns: optimizers compared on problems, with several seeds, in parallel, resumable."""

from betabo.lab.bench.campaign import Campaign, OptimizerChoice, load_campaign
from betabo.lab.bench.optimizers import OPTIMIZERS, OptimizerAdapter, OptimizerEntry, register_optimizer
from betabo.lab.bench.results import read_results, values_at
from betabo.lab.bench.runner import CampaignOutcome, run_campaign

__all__ = [
    "OPTIMIZERS",
    "Campaign",
    "CampaignOutcome",
    "OptimizerAdapter",
    "OptimizerChoice",
    "OptimizerEntry",
    "load_campaign",
    "read_results",
    "register_optimizer",
    "run_campaign",
    "values_at",
]

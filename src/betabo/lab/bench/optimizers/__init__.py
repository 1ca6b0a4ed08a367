"""Optimizers behind one small interface, so that a campaign can compare them."""

from betabo.lab.bench.optimizers.adapter import OptimizerAdapter
from betabo.lab.bench.optimizers.catalogue import OPTIMIZERS, OptimizerEntry, make_adapter, register_optimizer

__all__ = ["OPTIMIZERS", "OptimizerAdapter", "OptimizerEntry", "make_adapter", "register_optimizer"]

"""Compression of trained models: low rank plus sparse rows, with the rank of each layer chosen by search.

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.counting import compare, count_flops, count_parameters, measure_latency
    from betabo.compress.layers import CompactLinear, LoSparseLinear
    from betabo.compress.plan import CompressionPlan
    from betabo.compress.pretrained import load_model
    from betabo.compress.problem import CompressionProblem, CompressionResult
    from betabo.compress.session import CompressionSession
    from betabo.compress.settings import CompressionMethod, CompressionSettings, Pruning, Training
    from betabo.compress.store import load_compressed
    from betabo.compress.tasks import task_by_name
    from betabo.compress.training import DivergedError, evaluate, finetune
    from betabo.compress.without_training import compress_model

_HOME = {
    "CompactLinear": "layers",
    "CompressionBySize": "by_size",
    "CompressionMethod": "settings",
    "CompressionPlan": "plan",
    "CompressionProblem": "problem",
    "CompressionResult": "problem",
    "CompressionSession": "session",
    "CompressionSettings": "settings",
    "DivergedError": "training",
    "LoSparseLinear": "layers",
    "Pruning": "settings",
    "Training": "settings",
    "compare": "counting",
    "compress_model": "without_training",
    "count_flops": "counting",
    "count_parameters": "counting",
    "evaluate": "training",
    "finetune": "training",
    "load_compressed": "store",
    "load_model": "pretrained",
    "measure_latency": "counting",
    "task_by_name": "tasks",
}

__all__ = [
    "CompactLinear",
    "CompressionBySize",
    "CompressionMethod",
    "CompressionPlan",
    "CompressionProblem",
    "CompressionResult",
    "CompressionSession",
    "CompressionSettings",
    "DivergedError",
    "LoSparseLinear",
    "Pruning",
    "Training",
    "compare",
    "compress_model",
    "count_flops",
    "count_parameters",
    "evaluate",
    "finetune",
    "load_compressed",
    "load_model",
    "measure_latency",
    "task_by_name",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'betabo.compress' has no attribute {name!r}")
    return getattr(import_module(f"betabo.compress.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__

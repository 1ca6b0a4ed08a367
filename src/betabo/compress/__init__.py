"""Compression of trained models: low rank plus sparse rows, with the rank of each layer chosen by search.

Names are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from betabo.lazy import loaded_when_used

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

__getattr__, __dir__ = loaded_when_used(
    __name__,
    {
        "by_size": ["CompressionBySize"],
        "counting": ["compare", "count_flops", "count_parameters", "measure_latency"],
        "layers": ["CompactLinear", "LoSparseLinear"],
        "plan": ["CompressionPlan"],
        "pretrained": ["load_model"],
        "problem": ["CompressionProblem", "CompressionResult"],
        "session": ["CompressionSession"],
        "settings": ["CompressionMethod", "CompressionSettings", "Pruning", "Training"],
        "store": ["load_compressed"],
        "tasks": ["task_by_name"],
        "training": ["DivergedError", "evaluate", "finetune"],
        "without_training": ["compress_model"],
    },
)

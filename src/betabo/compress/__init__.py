"""Compression of trained models: low rank plus sparse rows, with the rank of each layer chosen by search."""

from betabo.compress.counting import compare, count_flops, count_parameters, measure_latency
from betabo.compress.finetune import DivergedError, Training, evaluate, finetune
from betabo.compress.layers import CompactLinear, LoSparseLinear
from betabo.compress.plan import CompressionPlan
from betabo.compress.pretrained import load_model
from betabo.compress.problem import CompressionProblem, CompressionResult
from betabo.compress.pruning import Pruning
from betabo.compress.store import load_compressed
from betabo.compress.tasks import task_by_name
from betabo.compress.without_training import compress_model

__all__ = [
    "CompactLinear",
    "CompressionPlan",
    "CompressionProblem",
    "CompressionResult",
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

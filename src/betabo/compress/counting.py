"""How large and how fast a model is: parameters, floating-point operations, latency, before and after compression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from statistics import quantiles
from time import perf_counter
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from betabo.compress.plan import CompressionPlan

LATENCY_REPEATS = 30
"""Passes that a latency is the median of; three lie beyond either decile, so that one slow pass moves none of them."""


@dataclass(frozen=True)
class Latency:
    """Seconds of one forward pass: the median, and the first and the ninth decile, of repeated measurements."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Sizes:
    """The size of one model.

    Attributes:
        layer_parameters: Parameters of the layers that compression acts on.
        parameters: Parameters of the whole model, shared ones once.
        flops: Floating-point operations of one forward pass of the example, see `count_flops`.
        latency: Seconds of that pass, where measured.
    """

    layer_parameters: int
    parameters: int
    flops: int
    latency: Latency | None = None


@dataclass(frozen=True)
class SizeComparison:
    """The sizes of a model before and after compression."""

    before: Sizes
    after: Sizes

    def rows(self) -> list[tuple[str, float, float, float]]:
        """The table: what, before, after, and the share that is left. Latency is in seconds."""
        pairs: list[tuple[str, float, float]] = [
            ("parameters of the compressed layers", self.before.layer_parameters, self.after.layer_parameters),
            ("parameters of the model", self.before.parameters, self.after.parameters),
            ("FLOPs", self.before.flops, self.after.flops),
        ]
        if self.before.latency is not None and self.after.latency is not None:
            pairs.append(("latency", self.before.latency.median, self.after.latency.median))
        return [(what, before, after, after / before) for what, before, after in pairs]


def count_parameters(model: nn.Module, names: Iterable[str] | None = None) -> int:
    """The number of parameters of a model, or of its modules of the given names; shared ones count once."""
    modules = [model] if names is None else [model.get_submodule(name) for name in names]
    unique = {id(parameter): parameter.numel() for module in modules for parameter in module.parameters()}
    return sum(unique.values())


def count_flops(model: nn.Module, example: Mapping[str, Tensor]) -> int:
    """The floating-point operations of one forward pass.

    A multiply-add counts as two. Only matrix products and convolutions count, those inside attention included; sums,
    normalizations, activations and biases do not. The count is the same on every device, since attention is computed
    as two matrix products here, whichever fused kernel the device would use.

    Args:
        model: The model.
        example: The arguments of its `forward`; labels are not needed.
    """
    counter = FlopCounterMode(display=False)
    with _at_rest(model), _unfused(), counter:
        model(**_moved(example, _device(model)))
    return int(counter.get_total_flops())


def measure_latency(
    model: nn.Module,
    example: Mapping[str, Tensor],
    *,
    repeats: int = LATENCY_REPEATS,
    warmup: int = 10,
    device: str | torch.device | None = None,
) -> Latency:
    """Time forward passes in evaluation and inference mode, one after the other.

    Args:
        model: The model; it stays on its device and in its mode.
        example: The arguments of its `forward`.
        repeats: Passes that are timed, at least two.
        warmup: Passes before them.
        device: Where to run; by default where the model is. The model must be there.
    """
    here = _device(model)
    if device is not None and torch.device(device).type != here.type:
        raise ValueError(f"the model is on {here}, not on {device}; move it first with model.to({str(device)!r}).")
    return measure_latencies([model], example, repeats=repeats, warmup=warmup)[0]


def measure_latencies(
    models: Sequence[nn.Module], example: Mapping[str, Tensor], *, repeats: int = LATENCY_REPEATS, warmup: int = 10
) -> list[Latency]:
    """Time forward passes of several models, which take turns: what else the machine does then meets all of them.

    Args:
        models: The models, on one device; see `measure_latency`.
        example: The arguments of their `forward`.
        repeats: Passes of each that are timed, at least two.
        warmup: Passes of each before them.
    """
    if repeats < 2:
        raise ValueError(f"repeats is {repeats}; the spread of a latency needs at least 2.")
    if warmup < 0:
        raise ValueError(f"warmup is {warmup}, expected 0 or more.")
    here = _device(models[0])
    arguments = _moved(example, here)
    seconds_of = _cuda_seconds if here.type == "cuda" else _host_seconds
    seconds: list[list[float]] = [[] for _ in models]
    with ExitStack() as rest:
        for model in models:
            rest.enter_context(_at_rest(model))
        rest.enter_context(torch.inference_mode())
        for turn in range(warmup + repeats):
            for model, found in zip(models, seconds, strict=True):
                taken = seconds_of(partial(model, **arguments))
                if turn >= warmup:
                    found.append(taken)
    deciles = [quantiles(found, n=10, method="inclusive") for found in seconds]
    return [Latency(median=found[4], low=found[0], high=found[8]) for found in deciles]


def compare(
    before: nn.Module, after: nn.Module, plan: CompressionPlan, example: Mapping[str, Tensor], *, repeats: int = 0
) -> SizeComparison:
    """Measure a model and its compressed form with the same example.

    Args:
        before: The model the plan was made for.
        after: The same model, compressed.
        plan: Says which layers are compressed.
        example: The arguments of `forward`.
        repeats: Forward passes to time; 0 leaves latency out.
    """
    names = [layer.name for layer in plan.layers]

    def sizes(model: nn.Module) -> Sizes:
        return Sizes(
            layer_parameters=count_parameters(model, names),
            parameters=count_parameters(model),
            flops=count_flops(model, example),
            latency=measure_latency(model, example, repeats=repeats) if repeats else None,
        )

    return SizeComparison(sizes(before), sizes(after))


def _device(model: nn.Module) -> torch.device:
    return next((tensor.device for tensor in chain(model.parameters(), model.buffers())), torch.device("cpu"))


def _moved(example: Mapping[str, Tensor], device: torch.device) -> dict[str, Tensor]:
    return {name: tensor.to(device) for name, tensor in example.items()}


@contextmanager
def _at_rest(model: nn.Module) -> Iterator[None]:
    """Evaluation mode without gradients; the modes of all modules come back at the end."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, mode in modes:
            module.training = mode


@contextmanager
def _unfused() -> Iterator[None]:
    """Attention as plain matrix products: the counter does not know all fused kernels, and some call no layer."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)


def _host_seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def _cuda_seconds(call: Callable[[], Any]) -> float:
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    call()
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end)) / 1000

"""Training and evaluation of a model on a task.

On a GPU a whole step (drawing the batch, forward and backward pass, the optimizer, the observation of the pruner) is
recorded once as a CUDA graph and replayed. Models that are worth compressing are often small enough for the launches of
their kernels to take longer than the kernels, and several processes can share a card.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from betabo.compress.batches import short_batches, shortened, whole_batches
from betabo.compress.layers import LoSparseLinear
from betabo.compress.pruning import RowPruner, keep_largest
from betabo.compress.settings import Precision, Pruning, Training

if TYPE_CHECKING:
    from betabo.compress.tasks import Criterion, Split, Task

_logger = logging.getLogger(__name__)

_EAGER_STEPS = 3  # what a graph needs before it can be recorded: the optimizer's state and the libraries' workspaces
_LOOK = 50  # steps between two looks at the loss, each of which waits for the device


class DivergedError(RuntimeError):
    """The loss of a training is no finite number any more."""


def learning_rates(training: Training) -> Tensor:
    """The learning rate of each step."""
    t = torch.arange(training.steps, dtype=torch.float64)
    rising = training.warmup * training.steps
    left = ((training.steps - t) / max(1.0, training.steps - rising)).clamp(0, 1)
    falling = {"linear": left, "cosine": (1 - torch.cos(math.pi * left)) / 2, "constant": torch.ones_like(left)}
    return (training.rate * torch.where(t < rising, (t + 1) / max(1.0, rising), falling[training.schedule])).float()


def finetune(
    model: nn.Module,
    goal: Criterion,
    split: Split,
    training: Training,
    pruning: Pruning | None = None,
    *,
    seed: int = 0,
    device: torch.device | str | None = None,
    progress: Callable[[int, float], None] | None = None,
    short: bool = False,
) -> list[float]:
    """Train a model in place, and prune its `LoSparseLinear` layers on the way.

    The order of the examples, dropout and augmentation follow from the seed alone.

    Args:
        model: The model.
        goal: What it is trained for.
        split: The examples; their tensors should be on the device already if it is to be quick.
        training: How to train.
        pruning: How to prune, None to leave all rows.
        seed: Seed.
        device: Where to train; None for where the model is.
        progress: Called now and then with the number of steps done and the loss.
        short: Whether a batch of texts is read without the padding that all of it have. It is the same but for
            rounding, and quicker where steps are not recorded, as on a CPU.

    Returns:
        The loss at every step.

    Raises:
        DivergedError: The loss is not finite.
    """
    device = next(model.parameters()).device if device is None else torch.device(device)
    model.to(device)
    sparse = [module for module in model.modules() if isinstance(module, LoSparseLinear)]
    if training.steps == 0:
        if pruning is not None:
            keep_largest(sparse, pruning)
        return []
    pruner = RowPruner(sparse, pruning, training.steps) if pruning is not None and sparse else None
    mode = model.training
    model.train()
    with _seeded(seed):
        run = _Run(model, goal, split.to(device), training, pruner, seed, device, short=short)
        losses = run.to_the_end(progress)
    model.train(mode)
    model.zero_grad(set_to_none=True)
    if pruner is not None:
        pruner.finish()
    return losses


@torch.inference_mode()
def evaluate(
    model: nn.Module,
    task: Task,
    split: Split,
    *,
    batch: int = 512,
    device: torch.device | str | None = None,
    precision: Precision = "bfloat16",
    short: bool = False,
) -> dict[str, float]:
    """The metrics of a model on a split.

    Args:
        model: The model.
        task: What its predictions are compared with.
        split: The examples.
        batch: Examples at a time.
        device: Where to compute; None for where the model is.
        precision: How a GPU computes, see `Training`.
        short: Whether texts of similar length are read together, without the padding that all of them have.
    """
    device = next(model.parameters()).device if device is None else torch.device(device)
    model.to(device)
    mode = model.training
    model.eval()
    placed = split.to(device)
    parts: dict[str, list[Tensor]] = {}
    order, batches = short_batches(placed, batch) if short else whole_batches(placed, batch)
    for examples in batches:
        with _arithmetic(device, precision):
            predictions = task.predictions(model, examples)
        for name, tensor in predictions.items():
            parts.setdefault(name, []).append(tensor)
    model.train(mode)
    joined = {name: torch.cat(tensors).cpu()[order.argsort()] for name, tensors in parts.items()}
    return task.metrics(split, {name: t.float() if t.is_floating_point() else t for name, t in joined.items()})


class _Run:
    """One training, whose state is on the device: the number of the step, the order of the examples, the rates."""

    def __init__(
        self,
        model: nn.Module,
        goal: Criterion,
        split: Split,
        training: Training,
        pruner: RowPruner | None,
        seed: int,
        device: torch.device,
        *,
        short: bool,
    ) -> None:
        self._short = short and device.type == "cpu"  # a recorded step has one shape
        self._model, self._goal, self._split, self._training = model, goal, split, training
        self._pruner, self._device = pruner, device
        self._position = torch.zeros(1, dtype=torch.long, device=device)
        self._order = _order(len(split), training, seed).to(device)
        self._rates = learning_rates(training).to(device)
        self._losses = torch.zeros(training.steps, device=device)
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        self._optimizer = self._make_optimizer()

    def to_the_end(self, progress: Callable[[int, float], None] | None) -> list[float]:
        steps = self._training.steps
        recorded = self._device.type == "cuda" and self._training.graph and steps > _EAGER_STEPS + 1
        replay: Callable[[], None] = self._step
        for done in range(steps):
            if recorded and done == _EAGER_STEPS:
                replay = self._record()
            replay()
            if self._pruner is not None and self._pruner.settings.looks(done + 1, steps):
                self._pruner.renew(done + 1)
            if (done + 1) % _LOOK == 0 or done + 1 == steps:
                loss = float(self._losses[done])
                if not math.isfinite(loss):
                    raise DivergedError(f"the loss was {loss} after {done + 1} steps; try a smaller rate.")
                if progress is not None:
                    progress(done + 1, loss)
        losses: list[float] = self._losses.tolist()
        return losses

    def _step(self) -> None:
        rows = self._order.index_select(0, self._position).squeeze(0)
        batch = {name: tensor.index_select(0, rows) for name, tensor in self._split.tensors.items()}
        batch = self._goal.augment(shortened(batch) if self._short else batch)
        self._optimizer.zero_grad(set_to_none=True)
        with _arithmetic(self._device, self._training.precision):
            loss = self._goal.loss(self._model, batch)
        with _arithmetic(self._device, "tf32"):
            loss.backward()
        nn.utils.clip_grad_norm_(self._parameters, self._training.clip, foreach=True)
        rate = self._rates.index_select(0, self._position).squeeze(0)
        for group in self._optimizer.param_groups:
            group["lr"].copy_(rate)
        self._optimizer.step()
        self._losses.index_copy_(0, self._position, loss.detach().float().view(1))
        if self._pruner is not None:
            self._pruner.observe()
        self._position += 1

    def _record(self) -> Callable[[], None]:
        """A step that replays what is recorded now; the plain step for a model that cannot be recorded."""
        self._optimizer.zero_grad(set_to_none=True)
        try:
            return _recorder(self._device).record(self._step)
        except torch.cuda.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _logger.info("a step of %s is not recorded: %s", type(self._model).__name__, error)
            _recorder.cache_clear()  # a recording that broke off leaves its memory in an unknown state
            self._optimizer.zero_grad(set_to_none=True)
            return self._step

    def _make_optimizer(self) -> torch.optim.Optimizer:
        matrices = [p for p in self._parameters if p.ndim > 1]
        vectors = [p for p in self._parameters if p.ndim <= 1]
        groups = [
            {"params": matrices, "weight_decay": self._training.weight_decay},
            {"params": vectors, "weight_decay": 0.0},
        ]
        on_gpu = self._device.type == "cuda"
        optimizer = torch.optim.AdamW(
            [group for group in groups if group["params"]],
            lr=torch.tensor(self._training.rate, device=self._device),
            fused=on_gpu,
            foreach=None if on_gpu else False,
            capturable=on_gpu,
        )
        for group in optimizer.param_groups:
            group["lr"] = torch.tensor(self._training.rate, device=self._device)
        return optimizer


class _Recorder:
    """Records steps as CUDA graphs, without running them.

    The context manager of torch for this gives all unused memory back first, which takes longer than a short training
    and makes every other process on the card wait. Here recordings take turns in one pool of memory instead, which an
    empty one keeps between the others.
    """

    def __init__(self, device: torch.device) -> None:
        self._device, self._stream, self._pool = device, torch.cuda.Stream(device), torch.cuda.graph_pool_handle()
        number = torch.zeros(1, device=device)

        def count() -> None:
            number.add_(1)

        self._keeper = self.record(count)

    def record(self, step: Callable[[], None]) -> Callable[[], None]:
        """Record a step; returns what replays it."""
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self._device)
        place = torch.cuda.current_device() if self._device.index is None else self._device.index
        generator = torch.cuda.default_generators[place]
        before = generator.clone_state()
        try:
            with torch.cuda.stream(self._stream):
                graph.capture_begin(pool=self._pool)
                try:
                    step()
                finally:
                    graph.capture_end()
        except RuntimeError:
            generator.graphsafe_set_state(before)  # its own would wait for the end of the recording for ever
            raise
        torch.cuda.current_stream(self._device).wait_stream(self._stream)
        return graph.replay


@cache
def _recorder(device: torch.device) -> _Recorder:
    return _Recorder(device)


def _order(count: int, training: Training, seed: int) -> Tensor:
    """Which examples each step takes, steps x batch: a new shuffle whenever all have been seen."""
    generator = torch.Generator().manual_seed(seed)
    needed = training.steps * training.batch
    rounds = [torch.randperm(count, generator=generator) for _ in range(math.ceil(needed / count))]
    return torch.cat(rounds)[:needed].view(training.steps, training.batch)


@contextmanager
def _arithmetic(device: torch.device, precision: Precision) -> Iterator[None]:
    """Compute with this precision on a GPU."""
    if device.type != "cuda":
        yield
        return
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:  # without its cache of casts, which a recorded step would outlive
        with torch.autocast("cuda", torch.bfloat16, enabled=precision == "bfloat16", cache_enabled=False):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the generators that dropout and augmentation use, and put that of the CPU back afterwards."""
    before = torch.get_rng_state()
    torch.manual_seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(before)

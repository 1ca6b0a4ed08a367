"""Losses of a model whose first blocks stay as they are: these are computed once, and then answered from memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from betabo.compress.tasks import Criterion

_SAME = 1e-5  # relative difference of two losses that is rounding


class PrefixedLoss:
    """The mean loss of a model over some batches, from any of its blocks on.

    Whether a model allows it is seen, not assumed: if the loss from memory is another one, as for a model that uses the
    outputs of all blocks at its end, everything is computed each time.

    Args:
        model: The model, in evaluation mode. It may change between two calls, but not in the blocks that are skipped.
        goal: What it is measured by.
        blocks: Paths of its blocks, in order.
        batches: Examples with their labels, where the model is.
    """

    def __init__(
        self, model: nn.Module, goal: Criterion, blocks: Sequence[str], batches: Sequence[Mapping[str, Tensor]]
    ) -> None:
        self._model, self._goal, self._blocks, self._batches = model, goal, list(blocks), batches
        self._skipped = 0
        self._memory: dict[str, list[Any]] = {}
        self.base = self._mean()

    def skip(self, count: int) -> None:
        """From now on the first blocks are not computed. The model must be as it was when this was made."""
        if count == self._skipped or not self._blocks:
            return
        self._memory = self._record(count)
        self._skipped = count
        if not math.isclose(self._mean(), self.base, rel_tol=_SAME, abs_tol=_SAME):
            self._memory, self._skipped, self._blocks = {}, 0, []

    def __call__(self) -> float:
        """The mean loss of the model as it is now."""
        return self._mean()

    @torch.inference_mode()
    def _mean(self) -> float:
        total, examples = 0.0, 0
        for number, batch in enumerate(self._batches):
            count = len(next(iter(batch.values())))
            with self._answered(number):
                total += float(self._goal.loss(self._model, dict(batch))) * count
            examples += count
        return total / examples

    @torch.inference_mode()
    def _record(self, count: int) -> dict[str, list[Any]]:
        """What the last of the first blocks of each stack gives, batch by batch."""
        last = {_stack(block): block for block in self._blocks[:count]}
        found: dict[str, list[Any]] = {stack: [] for stack in last}

        def keep(stack: str) -> Callable[[nn.Module, Any, Any], None]:
            return lambda _module, _inputs, output: found[stack].append(output)

        with ExitStack() as hooks:
            for stack, block in last.items():
                handle = self._model.get_submodule(block).register_forward_hook(keep(stack))
                hooks.callback(handle.remove)
            for number, batch in enumerate(self._batches):
                with self._answered(number):
                    self._goal.loss(self._model, dict(batch))
        return found

    @contextmanager
    def _answered(self, number: int) -> Iterator[None]:
        """The skipped blocks give what the last of them in their stack gave for a batch, whatever comes in."""
        skipped = [(self._model.get_submodule(block), _stack(block)) for block in self._blocks[: self._skipped]]
        try:
            for module, stack in skipped:
                output = self._memory[stack][number]
                module.forward = lambda *_, _output=output, **__: _copied(_output)
            yield
        finally:
            for module, _ in skipped:
                del module.forward  # what its class has comes back


def _stack(block: str) -> str:
    return block.rpartition(".")[0]


def _copied(output: Any) -> Any:
    """What a block gave; a model may write into it."""
    if isinstance(output, Tensor):
        return output.clone()
    return type(output)(map(_copied, output)) if type(output) in (tuple, list) else output

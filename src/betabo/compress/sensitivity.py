"""How much the loss rises when one coordinate alone is compressed: forward passes only, nothing is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from betabo.compress.layers import Factors
from betabo.compress.plan import CompressionPlan, blocks_of
from betabo.compress.prefix import PrefixedLoss
from betabo.compress.without_training import truncated_layer

if TYPE_CHECKING:
    from betabo.compress.tasks import Criterion

RATIOS = (0.05, 0.15, 0.3, 0.6)
"""Ratios at which each coordinate is tried: a rise of the loss falls about tenfold from the first to the third."""


@dataclass(frozen=True)
class Sensitivities:
    """The losses of a model of which one coordinate alone is compressed.

    Attributes:
        base: The loss of the model as it is.
        losses: For each coordinate by name, the loss at each ratio.
    """

    base: float
    losses: Mapping[str, Mapping[float, float]]

    def rises(self, coordinate: str) -> list[tuple[float, float]]:
        """Ratios, from low to high, and how much the loss rises at each.

        It never falls, and never rises more at a higher ratio than at a lower one; only chance makes it seem so.
        """
        found: list[tuple[float, float]] = []
        for ratio, loss in sorted(self.losses[coordinate].items()):
            rise = max(0.0, loss - self.base)
            found.append((ratio, min(rise, found[-1][1]) if found else rise))
        return found

    def to_json(self) -> dict[str, Any]:
        """As plain JSON types."""
        losses = {name: [[ratio, loss] for ratio, loss in row.items()] for name, row in self.losses.items()}
        return {"base": self.base, "losses": losses}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Sensitivities:
        """What `to_json` gave."""
        losses = {name: {float(ratio): float(loss) for ratio, loss in row} for name, row in stored["losses"].items()}
        return cls(float(stored["base"]), losses)


def mean_loss(model: nn.Module, goal: Criterion, batches: Sequence[Mapping[str, Tensor]]) -> float:
    """The mean loss over examples, in the mode that the model is in."""
    return PrefixedLoss(model, goal, (), batches).base


def measure_sensitivities(
    model: nn.Module,
    goal: Criterion,
    plan: CompressionPlan,
    factors: Mapping[str, Factors],
    batches: Sequence[Mapping[str, Tensor]],
    *,
    ratios: Sequence[float] = RATIOS,
    progress: Callable[[int, int], None] | None = None,
) -> Sensitivities:
    """Compress one coordinate after the other to each of some ratios, and measure the loss.

    Args:
        model: The model, in evaluation mode. It is as before when this returns.
        goal: What it is measured by.
        plan: Its plan.
        factors: The factors of each layer by name.
        batches: Examples with their labels, where the model is.
        ratios: The ratios.
        progress: Called with the number of coordinates that are done, and of all.
    """
    loss = PrefixedLoss(model, goal, blocks_of(model), batches)
    losses: dict[str, dict[float, float]] = {}
    for coordinate in plan.coordinates:
        layers = [layer for layer in plan.layers if layer.group == coordinate]
        loss.skip(min(layer.block or 0 for layer in layers))
        originals = {layer.name: model.get_submodule(layer.name) for layer in layers}
        losses[coordinate] = {}
        try:
            for ratio in ratios:
                for layer in layers:
                    small = truncated_layer(originals[layer.name], layer, ratio, 0.0, factors[layer.name])
                    model.set_submodule(layer.name, small)
                losses[coordinate][ratio] = loss()
        finally:
            for name, module in originals.items():
                model.set_submodule(name, module)
        if progress is not None:
            progress(len(losses), plan.dims)
    return Sensitivities(loss.base, losses)

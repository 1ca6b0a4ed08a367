"""A plan says which layers of a model are compressed, and what each coordinate of a search means."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from torch import nn
from torch.nn.modules.conv import _ConvNd

from betabo.compress.layers import bias_of, is_linear, rank_of, rows_of, weight_of
from betabo.compress.settings import GROUPS, Group
from betabo.space import Float, Space

Ratios: TypeAlias = float | Sequence[float] | Mapping[str, float]
"""A ratio for all, one for each coordinate in order, or by name of a coordinate or layer."""

_ROLES = {
    "Q": re.compile(r"(^|_)(q|query)(_|$)"),
    "K": re.compile(r"(^|_)(k|key)(_|$)"),
    "V": re.compile(r"(^|_)(v|value)(_|$)"),
    "QKV": re.compile(r"(^|_)(c_attn|qkv|in_proj|wqkv)(_|$)"),
}
_ATTENTION = re.compile(r"attn|attention")


@dataclass(frozen=True)
class LayerInfo:
    """A linear layer that is compressed.

    Attributes:
        name: Its path in the model.
        outputs: Length of a vector that comes out.
        inputs: Length of a vector that goes in.
        bias: Whether it has a bias.
        group: Name of its coordinate.
        block: Number of its block, or None outside the blocks.
        role: What it does in its block: Q, K, V or QKV, O after the attention, FC1 and FC2 in the feed-forward part.
    """

    name: str
    outputs: int
    inputs: int
    bias: bool
    group: str
    block: int | None
    role: str

    @property
    def parameters(self) -> int:
        """Parameters before compression, the bias included."""
        return self.outputs * self.inputs + self.bias * self.outputs

    def weights(self, ratio: float, keep: float) -> int:
        """Parameters of the weight after compression, the bias excluded."""
        return min(self.outputs * self.inputs, self._compact(ratio, keep))

    def stays(self, ratio: float, keep: float) -> bool:
        """Whether the layer stays as it is, since the compact form would be no smaller."""
        return ratio >= 1 or self._compact(ratio, keep) >= self.outputs * self.inputs

    def _compact(self, ratio: float, keep: float) -> int:
        rank = rank_of(ratio, self.outputs, self.inputs)
        return rank * (self.outputs + self.inputs) + rows_of(keep, self.outputs) * self.inputs


@dataclass(frozen=True)
class LeftOut:
    """A part of a model that is not compressed.

    Attributes:
        name: Its path in the model.
        kind: Its type.
        parameters: How many it has.
        why: The reason.
    """

    name: str
    kind: str
    parameters: int
    why: str


@dataclass(frozen=True)
class CompressionPlan:
    """Which layers are compressed, and by which coordinates.

    Layers are found by type: linear layers in the blocks of the model, where blocks are the members of the outermost
    lists of at least two modules of one type. A model without blocks gives all its linear layers but the last.

    Attributes:
        layers: What is compressed, in the model's order.
        left_out: What has parameters and is not.
        group: What a coordinate stands for.

    Example:
        >>> plan = CompressionPlan.of(model)  # doctest: +SKIP
        >>> plan.dims  # doctest: +SKIP
        72
    """

    layers: tuple[LayerInfo, ...]
    left_out: tuple[LeftOut, ...]
    group: Group

    @classmethod
    def of(cls, model: nn.Module, group: Group = "layer") -> CompressionPlan:
        """The plan for a model.

        Args:
            model: Any module.
            group: `"layer"` for a coordinate a linear layer of the blocks, `"block"` for one a block and one for each
                linear layer outside the blocks, such as a pooler or classifier.

        Raises:
            ValueError: There is no such group, or nothing to compress.
        """
        if group not in GROUPS:
            raise ValueError(f"group is {group!r}, expected one of {', '.join(map(repr, GROUPS))}.")
        blocks = blocks_of(model)
        _check_experts(model, blocks)
        linears = {name: module for name, module in model.named_modules() if is_linear(module)}
        inside = {name: _block_of(name, blocks) for name in linears}
        if blocks and group == "layer":
            chosen = [name for name, block in inside.items() if block is not None]
        elif blocks:
            chosen = list(linears)
        else:
            chosen = list(linears)[:-1]
        tied = _tied(model)
        chosen = [name for name in chosen if f"{name}.weight" not in tied]
        if not chosen:
            raise ValueError(
                f"{type(model).__name__} has no linear layer to compress; expected some nn.Linear or Conv1D inside a "
                "list of blocks, or at least two of them."
            )
        groups = {name: name if group == "layer" else (inside[name] or name) for name in chosen}
        prefix = _common_prefix(groups.values())
        numbers = {block: number for number, block in enumerate(blocks)}
        seen: dict[str | None, int] = {}
        layers = []
        for name in chosen:
            block = inside[name]
            role = _role(name[len(block) + 1 :] if block else name)
            if role == "FC":
                seen[block] = seen.get(block, 0) + 1
                role = f"FC{seen[block]}"
            outputs, inputs = weight_of(linears[name]).shape
            layers.append(
                LayerInfo(
                    name=name,
                    outputs=outputs,
                    inputs=inputs,
                    bias=bias_of(linears[name]) is not None,
                    group=groups[name][len(prefix) :],
                    block=None if block is None else numbers[block],
                    role=role,
                )
            )
        return cls(tuple(layers), _left_out(model, set(chosen), tied, has_blocks=bool(blocks)), group)

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates."""
        return tuple(dict.fromkeys(layer.group for layer in self.layers))

    @property
    def dims(self) -> int:
        """Number of coordinates."""
        return len(self.coordinates)

    @cached_property
    def parameters(self) -> int:
        """Parameters of the layers before compression, biases included."""
        return sum(layer.parameters for layer in self.layers)

    def space(self, bounds: tuple[float, float]) -> Space:
        """The coordinates by name, each a ratio between the bounds."""
        return Space({name: Float(*bounds) for name in self.coordinates})

    def ratios(self, x: Ratios) -> dict[str, float]:
        """The ratio of each layer.

        Args:
            x: A ratio for all, one for each coordinate, or by name of coordinates or layers; those that are not named
                stay as they are.

        Raises:
            ValueError: There are too many or too few, a name is unknown, or a ratio is not in (0, 1].
        """
        if isinstance(x, Mapping):
            known = {*self.coordinates, *(layer.name for layer in self.layers)}
            for name in x:
                if name not in known:
                    raise ValueError(f"there is no coordinate or layer {name!r}; the first is {self.coordinates[0]!r}.")
            found = {layer.name: float(x.get(layer.name, x.get(layer.group, 1.0))) for layer in self.layers}
        else:
            values = np.asarray(x, dtype=float)
            if values.ndim == 0:
                values = np.full(self.dims, float(values))
            if values.shape != (self.dims,):
                raise ValueError(f"there are {values.size} ratios, expected {self.dims}, one for each coordinate.")
            by_group = dict(zip(self.coordinates, values.tolist(), strict=True))
            found = {layer.name: by_group[layer.group] for layer in self.layers}
        for name, ratio in found.items():
            if not 0 < ratio <= 1:
                raise ValueError(f"the ratio of {name} is {ratio!r}, expected one above 0 and at most 1.")
        return found

    def size(self, x: Ratios, keep: float) -> int:
        """Parameters of the layers after compression, biases included, if each keeps the share `keep` of its rows."""
        ratios = self.ratios(x)
        return sum(layer.weights(ratios[layer.name], keep) + layer.bias * layer.outputs for layer in self.layers)


def blocks_of(model: nn.Module) -> list[str]:
    """Paths of the blocks, in the model's order."""
    found: list[str] = []
    for name, module in model.named_modules():
        if not isinstance(module, nn.ModuleList | nn.Sequential) or _block_of(name, found) is not None:
            continue
        members = list(module)
        repeated = len(members) > 1 and len({type(member) for member in members}) == 1
        if repeated and all(any(map(is_linear, member.modules())) for member in members):
            if any(map(is_linear, members)):
                continue  # a plain stack of linear layers is no list of blocks
            found += [f"{name}.{index}" if name else str(index) for index in range(len(members))]
    return found


def _block_of(name: str, blocks: Iterable[str]) -> str | None:
    parts = name.split(".")
    paths = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return next((block for block in blocks if block in paths), None)


def _check_experts(model: nn.Module, blocks: Sequence[str]) -> None:
    """Refuse a model whose blocks keep matrices in stacks, which no linear layer is.

    A size that leaves most of the parameters out would say nothing.
    """
    stacked = {
        name: sum(parameter.numel() for parameter in own)
        for name, module in model.named_modules()
        if not isinstance(module, _ConvNd) and _block_of(name, blocks) is not None
        if (own := [p for p in module.parameters(recurse=False) if p.ndim > 2])
    }
    if stacked:
        inside = sum(parameter.numel() for block in blocks for parameter in model.get_submodule(block).parameters())
        first = next(iter(stacked))
        raise ValueError(
            f"{type(model).__name__} is a mixture of experts: {sum(stacked.values()) / inside:.0%} of the parameters "
            f"of its blocks are stacks of matrices such as {first}, which are no linear layers and cannot be "
            "compressed; expected a model without experts."
        )


def _tied(model: nn.Module) -> set[str]:
    """Names of the parameters that stand more than once in the model, such as those of an embedding and a head."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    return {name for same in names.values() if len(same) > 1 for name in same}


def _common_prefix(paths: Iterable[str]) -> str:
    """The leading path that all have in common, with its dot."""
    split = [path.split(".")[:-1] for path in paths]
    shared: list[str] = []
    for parts in zip(*split, strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "".join(f"{part}." for part in shared)


def _role(path: str) -> str:
    leaf = path.split(".")[-1]
    for role, pattern in _ROLES.items():
        if pattern.search(leaf):
            return role
    return "O" if _ATTENTION.search(path) else "FC"


def _left_out(model: nn.Module, chosen: set[str], tied: set[str], *, has_blocks: bool) -> tuple[LeftOut, ...]:
    found = []
    counted: set[int] = set()
    for name, module in model.named_modules():
        own = [p for p in module.parameters(recurse=False) if id(p) not in counted]
        counted.update(map(id, own))
        if not own or name in chosen:
            continue
        if isinstance(module, nn.Embedding):
            why = "an embedding"
        elif not is_linear(module):
            why = "not a linear layer"
        elif f"{name}.weight" in tied:
            why = "it shares its weight with another layer"
        else:
            why = "outside the blocks" if has_blocks else "the last layer"
        found.append(LeftOut(name, type(module).__name__, sum(p.numel() for p in own), why))
    return tuple(found)

"""What a compressed model looks like: the form and the shapes of each of its layers, as plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, TypeAlias, get_args

import torch
from torch import nn

from betabo.compress.int8 import Int8CompactLinear, Int8Linear
from betabo.compress.layers import CompactLinear, is_linear, weight_of
from betabo.compress.plan import CompressionPlan, Ratios

Form: TypeAlias = Literal["compact", "dense", "original"]
FORMS: tuple[Form, ...] = get_args(Form)
"""A `CompactLinear`; an `nn.Linear` with all its weights; a layer of another kind that stayed as it was."""

Bits: TypeAlias = Literal[32, 8]
BITS: tuple[Bits, ...] = get_args(Bits)
"""The layers have numbers of the model's precision, or whole numbers of eight bits with a scale for each output."""


@dataclass(frozen=True)
class LayerForm:
    """One layer of a compressed model.

    Attributes:
        form: `"compact"`, `"dense"` or `"original"`.
        outputs: Length of a vector that comes out.
        inputs: Length of a vector that goes in.
        rank: Rank of the low-rank part of a compact layer, else 0.
        rows: Rows of their own of a compact layer, else 0.
        bias: Whether it has a bias.
        ratio: The parameter ratio that was asked for.
        coordinate: The coordinate of the search that it belongs to.
    """

    form: Form
    outputs: int
    inputs: int
    rank: int
    rows: int
    bias: bool
    ratio: float
    coordinate: str

    @property
    def parameters(self) -> int:
        """How many parameters it has, the bias included."""
        compact = self.rank * (self.outputs + self.inputs) + self.rows * self.inputs
        weights = compact if self.form == "compact" else self.outputs * self.inputs
        return weights + self.bias * self.outputs


@dataclass(frozen=True)
class Structure:
    """The layers of a compressed model, and how they came about.

    Attributes:
        layers: The form of each layer of the plan, by its path in the model.
        group: What a coordinate stood for, as in `CompressionPlan`.
        keep: The share of rows that was to be kept.
        metrics: Results that belong to the model, such as its accuracy.
        bits: 8 if the weights of the layers are rounded to eight bits, else 32, whatever the model's precision.
    """

    layers: dict[str, LayerForm]
    group: str
    keep: float
    metrics: dict[str, float] = field(default_factory=dict)
    bits: Bits = 32

    @classmethod
    def of(
        cls,
        model: nn.Module,
        plan: CompressionPlan,
        ratios: Ratios,
        keep: float,
        metrics: Mapping[str, float] | None = None,
    ) -> Structure:
        """Read the structure off a model whose layers are in their final form.

        Args:
            model: The compressed model.
            plan: The plan of the uncompressed one.
            ratios: What `CompressionPlan.ratios` takes.
            keep: The share of rows that was to be kept.
            metrics: Results to keep with the model.
        """
        asked = plan.ratios(ratios)
        layers = {}
        for layer in plan.layers:
            module = model.get_submodule(layer.name)
            if not isinstance(module, CompactLinear) and not is_linear(module):
                raise ValueError(f"layer {layer.name} is a {type(module).__name__}; materialise the layers first.")
            compact = isinstance(module, CompactLinear)
            layers[layer.name] = LayerForm(
                form="compact" if compact else "dense" if isinstance(module, nn.Linear) else "original",
                outputs=layer.outputs,
                inputs=layer.inputs,
                rank=module.rank if isinstance(module, CompactLinear) else 0,
                rows=module.rows if isinstance(module, CompactLinear) else 0,
                bias=layer.bias,
                ratio=asked[layer.name],
                coordinate=layer.group,
            )
        return cls(layers, plan.group, float(keep), {name: float(value) for name, value in (metrics or {}).items()})

    @property
    def parameters(self) -> int:
        """How many parameters the layers have, biases included."""
        return sum(layer.parameters for layer in self.layers.values())

    def to_json(self) -> dict[str, Any]:
        """As JSON can write it."""
        return asdict(self)

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Structure:
        """The structure that `to_json` gave.

        Raises:
            ValueError: Something is missing, unknown or of the wrong type.
        """
        layers = {str(name): _layer_form(name, layer) for name, layer in _get(stored, "layers", dict).items()}
        metrics = {str(name): float(value) for name, value in _get(stored, "metrics", dict).items()}
        bits = _get({"bits": 32, **stored}, "bits", int)
        if bits not in BITS:
            raise ValueError(f"bits is {bits!r}, expected one of {', '.join(map(str, BITS))}.")
        return cls(layers, _get(stored, "group", str), float(_get(stored, "keep", (int, float))), metrics, bits)

    def shape(self, model: nn.Module) -> None:
        """Give an uncompressed model this structure, in place.

        The new layers have no memory of their own yet (they are on the meta device): weights must be assigned to them.

        Raises:
            ValueError: The model lacks a layer, or one has other sizes.
        """
        for name, layer in self.layers.items():
            try:
                module = model.get_submodule(name)
            except AttributeError:
                raise ValueError(f"{type(model).__name__} has no layer {name}; it is another model.") from None
            sizes = tuple(weight_of(module).shape) if is_linear(module) else None
            if sizes != (layer.outputs, layer.inputs):
                found = type(module).__name__ if sizes is None else f"{sizes[0]} x {sizes[1]}"
                raise ValueError(
                    f"layer {name} is {found}, expected linear of {layer.outputs} outputs x {layer.inputs} inputs."
                )
            if layer.form != "original" or self.bits == 8:
                with torch.device("meta"):
                    made = self._made(layer)
                model.set_submodule(name, made.train(module.training))

    def _made(self, layer: LayerForm) -> nn.Module:
        """A layer of this form."""
        if layer.form == "compact":
            compact = Int8CompactLinear if self.bits == 8 else CompactLinear
            return compact(layer.inputs, layer.outputs, layer.rank, layer.rows, bias=layer.bias)
        plain = Int8Linear if self.bits == 8 else nn.Linear
        return plain(layer.inputs, layer.outputs, bias=layer.bias)


_KINDS: dict[str, type | tuple[type, ...]] = {"str": str, "Form": str, "int": int, "bool": bool, "float": (int, float)}


def _layer_form(name: str, stored: Any) -> LayerForm:
    if not isinstance(stored, dict):
        raise ValueError(f"layer {name} is {stored!r}, expected an object.")
    values = {item.name: _get(stored, item.name, _KINDS[str(item.type)]) for item in fields(LayerForm)}
    if values["form"] not in FORMS:
        raise ValueError(f"the form of layer {name} is {values['form']!r}, expected one of {', '.join(FORMS)}.")
    layer = LayerForm(**values)
    if min(layer.outputs, layer.inputs) < 1 or not 0 <= layer.rows <= layer.outputs or layer.rank < 0:
        raise ValueError(f"layer {name} has impossible sizes: {layer}.")
    return layer


def _get(stored: Mapping[str, Any], key: str, kind: type | tuple[type, ...]) -> Any:
    value = stored.get(key)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise ValueError(f"{key} is {value!r}, which is missing or of the wrong type.")
    return value

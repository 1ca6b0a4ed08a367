"""The report of a compression: one page that needs no network and runs no script.

It shows size against error, which layer keeps how much, what each layer costs, and how the training went.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from betabo import __version__
from betabo.compress.plan import CompressionPlan, LayerInfo
from betabo.compress.sensitivity import Sensitivities
from betabo.compress.structure import Structure
from betabo.compress.svg import Series, chart
from betabo.visible import visible

_GREEN, _ORANGE = "#1f9e7a", "#e08a3c"
_STRONGEST = 70  # percent of a colour in the strongest cell of a map, on which text is still read


@dataclass(frozen=True)
class CompressionPage:
    """What the page of a compression shows.

    Attributes:
        title: The model and the task.
        plan: Which layers there were.
        structure: What became of them.
        table: The model beside its alternatives, heads first.
        badness: What is drawn against the size, see `Task.badness`.
        points: Size and badness by name: the original, the compression, one ratio for all.
        front: The same of compressions of the same model to other sizes.
        sensitivities: What each coordinate was found to be worth, if it was measured.
        measured: What rises as a coordinate is compressed.
        losses: The loss at each step of training.
    """

    title: str
    plan: CompressionPlan
    structure: Structure
    table: Sequence[Sequence[str]]
    badness: str
    points: Mapping[str, tuple[float, float]]
    front: Sequence[tuple[float, float]] = ()
    sensitivities: Sensitivities | None = None
    measured: str = "the loss"
    losses: Sequence[float] = ()

    def html(self) -> str:
        """The whole page."""
        sections = [self._result(), self._sizes(), self._map()]
        sections += [] if self.sensitivities is None else [self._costs(self.sensitivities)]
        sections += [self._training()] if self.losses else []
        kept = self.structure.parameters / self.plan.parameters
        compact = sum(layer.form == "compact" for layer in self.structure.layers.values())
        environment = Environment(autoescape=True, finalize=_shown, trim_blocks=True, lstrip_blocks=True)
        return environment.from_string(_resource("betabo.compress", "page.html")).render(
            title=self.title,
            lead=f"{kept:.1%} of the parameters of {len(self.plan.layers)} linear layers are left; {compact} of the "
            "layers are products of two thin matrices now.",
            sections=sections,
            version=__version__,
            style=Markup(_resource("betabo.report", "style.css")),
        )

    def _result(self) -> _Section:
        caption = (
            "One ratio: the same decompositions, with the same ratio in all layers. int8: the original with torch's "
        )
        return _Section("result", "Result", caption + "dynamic eight-bit weights.", rows=self.table)

    def _sizes(self) -> _Section:
        series = [Series(name, [point]) for name, point in self.points.items()]
        if self.front:
            series.insert(0, Series("other sizes", sorted(self.front), line=True))
        caption = f"Share of the layers' parameters that is left, and {self.badness} on the validation examples."
        return _Section("sizes", "Size and error", caption, chart=Markup(chart(series, "size", self.badness)))

    def _map(self) -> _Section:
        layers = self.structure.layers

        def kept(found: Sequence[LayerInfo]) -> float:
            return sum(layers[layer.name].parameters for layer in found) / sum(layer.parameters for layer in found)

        caption = (
            "The share of its parameters that each layer keeps, by block and by what it does there: Q, K, V and O "
        )
        caption += "are the attention, FC the feed-forward part in its order."
        return self._table("layers", "Layers", caption, kept, lambda value: f"{value:.0%}", lambda value: value, _GREEN)

    def _costs(self, sensitivities: Sensitivities) -> _Section:
        ratio = sorted(next(iter(sensitivities.losses.values())))[1]

        def rise(found: Sequence[LayerInfo]) -> float:
            groups = dict.fromkeys(layer.group for layer in found)
            return sum(dict(sensitivities.rises(name))[ratio] for name in groups)

        most = max((dict(sensitivities.rises(name))[ratio] for name in self.plan.coordinates), default=0.0) or 1.0
        caption = f"How much {self.measured} rises when one layer alone is compressed to a ratio of {ratio:g}, on "
        caption += "examples of the training data."
        if self.plan.group == "block":
            caption += " Layers of one block were compressed together: each cell is that of its block."
        title = "What each layer costs"
        return self._table(
            "costs",
            title,
            caption,
            rise,
            lambda v: f"{v:.2g}",
            lambda value: math.sqrt(min(1.0, value / most)),
            _ORANGE,
        )

    def _training(self) -> _Section:
        width = max(1, len(self.losses) // 50)
        means = [
            (float(start + width), sum(part) / len(part))
            for start in range(0, len(self.losses), width)
            if (part := self.losses[start : start + width])
        ]
        figure = chart([Series("training loss", means, line=True)], "step", "loss")
        return _Section("training", "Training", f"The loss after compression, means of {width} steps.", Markup(figure))

    def _table(
        self,
        anchor: str,
        title: str,
        caption: str,
        value: Callable[[Sequence[LayerInfo]], float],
        show: Callable[[float], str],
        shade: Callable[[float], float],
        colour: str,
    ) -> _Section:
        """A row for each block, a column for each role."""
        found: dict[int | None, dict[str, list[LayerInfo]]] = {}
        for layer in self.plan.layers:
            found.setdefault(layer.block, {}).setdefault(layer.role, []).append(layer)
        roles = list(dict.fromkeys(layer.role for layer in self.plan.layers))
        rows: list[list[str]] = [["block", *roles]]
        shades: list[list[int]] = []
        for block, by_role in found.items():
            values = [value(by_role[role]) if role in by_role else None for role in roles]
            rows.append(["outside" if block is None else str(block), *("" if v is None else show(v) for v in values)])
            shades.append([0 if v is None else round(_STRONGEST * shade(v)) for v in values])
        return _Section(anchor, title, caption, rows=rows, shades=shades, colour=colour)


@dataclass(frozen=True)
class _Section:
    """One part of the page: a chart or a table, and what is to be said of it."""

    anchor: str
    title: str
    caption: str
    chart: Markup | None = None
    rows: Sequence[Sequence[str]] = ()
    shades: list[list[int]] = field(default_factory=list)
    colour: str = ""


def _shown(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _resource(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")

"""Damage to JSON documents, drawn from a seed: what a careless hand or a hostile one may make of a stored file."""

from __future__ import annotations

import copy
import random
from typing import Any

WRONG = (
    None, True, False, 0, 1, -1, 2, 1.5, -0.25, 1e308, -1e308, 5e-324, 10**400, 2**63, -(2**53),
    float("nan"), float("inf"), -float("inf"),
    "", "x", "start", "0.5", "\x1b]52;c;aGk=\x07", "\ud800", "a" * 5000,
    [], [0.5], [None], [[]], ["x"], [0.5] * 100, {}, {"": 0}, {"unit": [0.5]},
)  # fmt: skip
"""Values of every type of JSON, and those that Python's reader takes besides: NaN, infinity and huge integers."""


def mutated(document: Any, seed: int, changes: int = 1) -> Any:
    """A copy of a document with something changed: a value replaced, left out, repeated, moved, or a key added.

    Args:
        document: What `json.loads` returns. It stays as it is.
        seed: The same seed makes the same changes.
        changes: How many of them.
    """
    generator = random.Random(seed)
    damaged = copy.deepcopy(document)
    for _ in range(changes):
        damaged = _changed(damaged, generator)
    return damaged


def _changed(document: Any, generator: random.Random) -> Any:
    places = list(_places(document))
    if not places:
        return copy.deepcopy(generator.choice(WRONG))
    # The deeper a place, the more there are of its kind: first choose how deep.
    depth = generator.choice(sorted({depth for depth, _, _ in places}))
    _, holder, key = generator.choice([place for place in places if place[0] == depth])
    kind = generator.choice(["wrong", "wrong", "wrong", "nudge", "drop", "add", "copy"])
    if kind == "nudge" and isinstance(holder[key], int | float) and not isinstance(holder[key], bool):
        holder[key] = generator.choice([-1, 10, 1e-12, 1e12]) * holder[key] + generator.choice([0, 1, -1e-6])
    elif kind == "drop":
        del holder[key]
    elif kind == "add" and isinstance(holder, dict):
        holder[generator.choice(["", "extra", "type", "\x1b[2J"])] = copy.deepcopy(generator.choice(WRONG))
    elif kind == "add":
        holder.insert(key, copy.deepcopy(generator.choice([*WRONG, holder[key]])))
    elif kind == "copy":
        _, other, source = generator.choice(places)
        holder[key] = copy.deepcopy(other[source])
    else:
        holder[key] = copy.deepcopy(generator.choice(WRONG))
    return document


def _places(document: Any, depth: int = 0) -> Any:
    """Every place within a document: how deep it lies, what holds it, and its key there."""
    keys = document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    for key in list(keys):
        yield depth, document, key
        yield from _places(document[key], depth + 1)

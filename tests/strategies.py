"""Hypothesis strategies: what a kernel on the unit cube may be given."""

from __future__ import annotations

import torch
from hypothesis import strategies as st
from torch import Tensor

bandwidths = st.floats(-3, 3).map(lambda exponent: 10.0**exponent)
lengthscales = st.floats(-1, 1).map(lambda exponent: 10.0**exponent)
weights = st.floats(0, 1)


@st.composite
def clouds(draw: st.DrawFn) -> Tensor:
    """Up to 24 points in up to 4 dimensions; often with vertices, faces, duplicates and nearly equal points."""
    dims = draw(st.integers(1, 4))
    count = draw(st.integers(1, 12))
    row = st.lists(st.floats(0, 1), min_size=dims, max_size=dims)
    rows = torch.tensor(draw(st.lists(row, min_size=count, max_size=count)), dtype=torch.float64)
    kind = draw(st.sampled_from(["as drawn", "with vertices", "with near twins"]))
    if kind == "with vertices":
        return torch.cat([rows, rows.round()])
    if kind == "with near twins":
        return torch.cat([rows, (rows + 10.0 ** -draw(st.integers(4, 15))).clamp(0, 1)])
    return rows

"""Tables 4 and 5, Figures 6 to 9: models compressed by search, drawn from stored searches.

The paper compresses ViT, BERT, GPT-2 and DeBERTa-v3 by choosing how much of each layer is left, with 5 starting points
and 30 iterations. Such searches need a GPU, so they were done once and are stored beside this file; every scale draws
the same. `experiments.json` says which model, data and settings each experiment has: not those of the paper, so that
its claims are tested, not its numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from betabo.lab.reproduce.entry import Context, Summary


def summarize(context: Context) -> Summary:
    """Draw the searches that come with the package."""
    from betabo.lab.reproduce.compression import draw  # whoever makes searches needs nothing to draw them with

    return draw.summarize(context)

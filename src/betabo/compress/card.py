"""The card of a compressed model: what it is, how small and how good, and how it is loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from betabo.compress.store import CompressedModel
from betabo.visible import visible

if TYPE_CHECKING:
    from betabo.compress.tasks import Task

CARD_FILE = "README.md"


def model_card(model: CompressedModel, task: Task, rows: Sequence[Sequence[str]]) -> str:
    """The card as Markdown, with the head that the Hugging Face hub reads.

    Args:
        model: The model.
        task: What it was compressed for.
        rows: The table of it and its alternatives, its heads first.
    """
    structure, name = model.compression, type(model).__name__
    source = str(getattr(getattr(model, "config", None), "name_or_path", "") or "")
    known = bool(source) and not Path(source).exists()  # a folder of one machine says nothing elsewhere
    ours = hasattr(model, "config")
    head = {"library_name": "transformers" if ours else "betabo", "tags": ["betabo", "compressed", "low-rank"]}
    if known:
        head["base_model"] = visible(source)
    forms = [layer.form for layer in structure.layers.values()]
    compact = forms.count("compact")
    bits = ", with weights of eight bits" if structure.bits == 8 else ""
    rank = f"{compact} of {len(forms)} linear layers are products of two thin matrices"
    lines = [
        "---",
        *(f"{key}: {json.dumps(value)}" for key, value in head.items()),
        "---",
        "",
        f"# {name}, compressed for {visible(task.name)}",
        "",
        f"{rank}{' and some rows of their own' if structure.keep else ''}{bits}; the others stayed as they were. The "
        "metrics below are of the task that it was compressed for; on anything else it may have lost more.",
        "",
        _table(rows),
        "",
        "Made with betabo, which loads it:",
        "",
        "```python",
        "from betabo.compress import load_compressed",
        "",
        'model = load_compressed("this folder")',
        "```",
        "",
        f"After `import betabo`, `{name}.from_pretrained` of Transformers loads it too; without, it refuses."
        if ours
        else "",
    ]
    return "\n".join(lines).rstrip() + "\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    heads, *body = [[visible(cell).replace("|", "\\|") for cell in row] for row in rows]
    marks = ["---", *("---:" for _ in heads[1:])]
    return "\n".join("| " + " | ".join(row) + " |" for row in (heads, marks, *body))

"""Run a reproduction and record how."""

from __future__ import annotations

import json
import time
from pathlib import Path

from betabo.lab.reproduce.catalogue import reproduction_by_name
from betabo.lab.reproduce.entry import SCALES, Context, Scale, Summary
from betabo.lab.reproduce.files import write_text

RECORD = "reproduction.json"
"""The file that says how the others were made."""


def reproduce(
    name: str,
    *,
    scale: Scale = "standard",
    out: str | Path = "out/reproduce",
    workers: int = 1,
    progress: bool = False,
    finished: bool = False,
) -> Summary:
    """Make a figure or table of the paper anew.

    Args:
        name: A name in `REPRODUCTIONS`.
        scale: `"smoke"`, `"standard"` or `"paper"`.
        out: Folder; the files go to a folder of the reproduction's name in it.
        workers: Processes to use, where a reproduction can use several.
        progress: Whether to show on the terminal how far it is.
        finished: Whether to draw the searches that are finished, and to start none.

    Returns:
        How the result compares with the paper. The same, with the command, the versions and the time, is in
        `reproduction.json` beside the results.

    Example:
        >>> summary = reproduce("diagonal-bound", scale="smoke")
        >>> print(summary.comparison)
    """
    from betabo.lab.bench.versions import versions

    entry = reproduction_by_name(name)
    if scale not in SCALES:
        raise ValueError(f"scale is {scale!r}, expected one of {', '.join(map(repr, SCALES))}.")
    if workers < 1:
        raise ValueError(f"workers is {workers}, expected at least 1.")
    context = Context(Path(out) / name, scale, workers, progress, finished)
    start = time.perf_counter()
    summary = entry.run(context)
    record = {
        "name": name,
        "command": f"betabo reproduce {name} --scale {scale}{' --finished' if finished else ''}",
        "scale": scale,
        "seconds": round(time.perf_counter() - start, 1),
        "versions": versions(),
        "files": context.files,
        "settings": summary.settings,
        "comparison": summary.comparison,
        "claims": [{"claim": c.text, "verdict": c.verdict, "evidence": c.evidence} for c in summary.claims],
        "figures": summary.figures,
    }
    write_text(context.out, RECORD, json.dumps(record, indent=2, allow_nan=False) + "\n")
    return summary

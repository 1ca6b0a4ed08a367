"""Divide the SQuADShifts files into a training, a validation and a test set.

Train: all of Amazon and Reddit, and 60 % of the contexts of New Wikipedia. Validation: another 10 % of those. Test: the
remaining 30 %. No context is in two of them. What the sets were made for is testing, so results are not those of SQuAD.

    python examples/compression/squadshifts.py --data squadshifts --out data/squad
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

PARTS = {"train": (0.0, 0.6), "validation": (0.6, 0.7), "test": (0.7, 1.0)}


def divide(folder: Path, out: Path, seed: int) -> dict[str, int]:
    """Write the three files; returns how many questions each has."""
    wiki = pq.read_table(folder / "squadshifts_new_wiki.parquet")
    contexts = sorted(set(wiki["context"].to_pylist()))
    place = dict(zip(contexts, np.random.default_rng(seed).permutation(len(contexts)) / len(contexts), strict=True))
    places = np.array([place[context] for context in wiki["context"].to_pylist()])
    out.mkdir(parents=True, exist_ok=True)
    counts = {}
    for part, (low, high) in PARTS.items():
        table = wiki.filter(pa.array((places >= low) & (places < high)))
        if part == "train":
            others = [pq.read_table(folder / f"squadshifts_{name}.parquet") for name in ("amazon", "reddit")]
            table = pa.concat_tables([table, *others])
        pq.write_table(table, out / f"squadshifts_{part}.parquet", compression="zstd")
        counts[part] = len(table)
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with squadshifts_*.parquet")
    parser.add_argument("--out", type=Path, required=True, help="folder for the three new files")
    parser.add_argument("--seed", type=int, default=0, help="seed of the division")
    arguments = parser.parse_args()
    print(divide(arguments.data, arguments.out, arguments.seed))

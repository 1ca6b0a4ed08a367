"""An encoder and the examples of some tasks, small enough to be sent to another machine: no tokenizer, no Parquet.

    python examples/compression/packing.py MODEL DATA SQUADSHIFTS packed

MODEL is the folder of an encoder, DATA has the Parquet files of SST-2 and MRPC, and SQUADSHIFTS what `squadshifts.py`
wrote. Examples travel as the numbers of their tokens. Of the embeddings only those of tokens that occur travel, in
eight bits with a scale for each; all other weights are rounded to float16. `unpack` gives a folder for `load_model` and
the examples, and needs NumPy, torch and Transformers alone.
"""

from __future__ import annotations

import argparse
import io
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from betabo.compress.tasks import Split, TaskData, task_by_name

LENGTHS = {"sst2": 64, "mrpc": 128, "squadshifts": 256}
"""Tokens of a text."""
MOST = {"sst2": (40_000, 2_000), "mrpc": (None, None), "squadshifts": (24_000, 1_000)}
"""Examples to train on and to choose by, at most."""
EMBEDDINGS = "embeddings.word_embeddings.weight"
_PADDED = ("input_ids", "token_type_ids", "context", "offsets")


def pack(model: Path, glue: Path, squadshifts: Path, out: Path) -> None:
    """Write the packed model and examples to a folder."""
    from safetensors.torch import load_file, save_file

    out.mkdir(parents=True, exist_ok=True)
    loaded: dict[str, TaskData] = {}
    for name, length in LENGTHS.items():
        task = task_by_name(name, model, max_length=length)
        source = squadshifts if name == "squadshifts" else glue
        loaded[name] = task.load(source, max_train=MOST[name][0], max_validation=MOST[name][1])
    parts = [split.tensors["input_ids"] for data in loaded.values() for split in data.splits.values()]
    used = torch.cat([part.flatten().unique() for part in parts]).unique()
    number = torch.full((int(used.max()) + 1,), -1, dtype=torch.int64)
    number[used] = torch.arange(len(used))
    for name, data in loaded.items():
        for part, split in data.splits.items():
            tensors = {**split.tensors, "input_ids": number[split.tensors["input_ids"]]}
            (out / f"{name}-{part}.xz").write_bytes(
                _compressed(Split(tensors, split.details), training=part == "train")
            )
        (out / f"{name}.json").write_text(json.dumps({"labels": data.labels}), encoding="utf-8")
    weights = load_file(model / "model.safetensors")
    rows = weights.pop(EMBEDDINGS)[used].float()
    scale = rows.abs().amax(1) / 127
    weights = {key: value.half() if value.is_floating_point() else value for key, value in weights.items()}
    weights["whole"] = (rows / scale.unsqueeze(1)).round().to(torch.int8)
    weights["scale"] = scale
    save_file({key: value.contiguous() for key, value in weights.items()}, out / "packed.safetensors")
    config = json.loads((model / "config.json").read_text(encoding="utf-8"))
    config |= {"vocab_size": len(used), "pad_token_id": int(number[0])}
    (out / "config.json").write_text(json.dumps(config), encoding="utf-8")
    print(f"{len(used)} tokens, {sum(file.stat().st_size for file in out.iterdir()) / 2**20:.1f} MiB")


def unpack_model(packed: Path, out: Path) -> None:
    """Make a folder for `load_model` of what was packed, if it is not there."""
    from safetensors.torch import load_file, save_file

    if (out / "config.json").is_file():
        return
    out.mkdir(parents=True, exist_ok=True)
    weights = load_file(packed / "packed.safetensors")
    rows = weights.pop("whole").float() * weights.pop("scale").unsqueeze(1)
    weights[EMBEDDINGS] = rows
    weights = {key: value.float() if value.is_floating_point() else value for key, value in weights.items()}
    save_file(weights, out / "model.safetensors", metadata={"format": "pt"})
    (out / "config.json").write_text((packed / "config.json").read_text(encoding="utf-8"), encoding="utf-8")


def unpack_data(packed: Path, name: str) -> TaskData:
    """The examples of a task."""
    labels = json.loads((packed / f"{name}.json").read_text(encoding="utf-8"))["labels"]
    train, validation, test = (
        _uncompressed((packed / f"{name}-{part}.xz").read_bytes(), LENGTHS[name])
        for part in ("train", "validation", "test")
    )
    return TaskData(train, validation, test, None if labels is None else tuple(labels))


def _compressed(split: Split, *, training: bool) -> bytes:
    """The tensors of a split without padding, compressed."""
    mask = split.tensors["attention_mask"].bool()
    arrays: dict[str, Any] = {"lengths": mask.sum(1).numpy().astype(np.uint16)}
    for name, tensor in split.tensors.items():
        if name == "attention_mask" or (training and name in ("context", "offsets", "question")):
            continue
        kept = tensor[mask] if name in _PADDED else tensor
        arrays[name] = kept.numpy().astype({"input_ids": np.uint16, "offsets": np.uint16}.get(name, np.int16))
    details = split.details if not training or "classes" in (split.details or {}) else None
    arrays["details"] = np.frombuffer(json.dumps(details).encode(), dtype=np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)
    return lzma.compress(content.getvalue(), preset=6)


def _uncompressed(content: bytes, length: int) -> Split:
    with np.load(io.BytesIO(lzma.decompress(content)), allow_pickle=False) as stored:
        arrays = {name: stored[name] for name in stored.files}
    details = json.loads(arrays.pop("details").tobytes())
    lengths = torch.from_numpy(arrays.pop("lengths").astype(np.int64))
    mask = torch.arange(length) < lengths.unsqueeze(1)
    tensors: dict[str, Tensor] = {"attention_mask": mask.long()}
    for name, array in arrays.items():
        values = torch.from_numpy(array.astype(np.int64))
        if name in _PADDED:
            whole = torch.zeros((*mask.shape, *values.shape[1:]), dtype=torch.int64)
            whole[mask] = values
            values = whole
        tensors[name] = values.bool() if name == "context" else values.int() if name == "offsets" else values
    return Split(tensors, details)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("glue", type=Path)
    parser.add_argument("squadshifts", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    pack(arguments.model, arguments.glue, arguments.squadshifts, arguments.out)

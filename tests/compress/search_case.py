"""What the tests of searches share: a tiny BERT without a head, and pairs of sentences that are the same or not."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Any

from betabo.compress.objective import CompressionObjective
from betabo.compress.settings import Training
from tiny_models import WORDS, make_bert, make_word_tokenizer, save_folder

TRAINING = Training(steps=4, batch=8, rate=1e-3)


def make_files(folder: Path, *, head: bool = False) -> None:
    """A model in `my-bert` and examples in `glue`, below a folder."""
    model = make_bert()
    save_folder(folder / "my-bert", model if head else model.bert, make_word_tokenizer())
    (folder / "glue").mkdir()
    draw = random.Random(0)
    for part, count in (("train", 60), ("test", 20)):
        with (folder / "glue" / f"mrpc_{part}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["sentence1", "sentence2", "label"])
            for number in range(count):
                first = draw.choices(WORDS[:24], k=4)
                second = draw.sample(first, 4) if number % 2 else draw.choices(WORDS[:24], k=4)
                writer.writerow([" ".join(first), " ".join(second), number % 2])


def make_objective(folder: Path, **settings: Any) -> CompressionObjective:
    """The objective for the files of a folder."""
    defaults = {"model": str(folder / "my-bert"), "task": "mrpc", "data": str(folder / "glue"), "training": TRAINING}
    return CompressionObjective(**{**defaults, "device": "cpu", **settings})

"""The scripts that train models from scratch, and data that take them seconds."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from example_case import EXAMPLES

COLOURS = [(200, 30, 30), (30, 200, 30), (30, 30, 200)]


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("transformers")
    monkeypatch.syspath_prepend(str(EXAMPLES / "compression"))


@pytest.fixture
def vit(scripts: None) -> ModuleType:
    return importlib.import_module("train_vit")


@pytest.fixture
def gpt2(scripts: None) -> ModuleType:
    return importlib.import_module("train_gpt2")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Noisy images of three colours, as CIFAR-10's files have them."""
    image = pytest.importorskip("PIL.Image")
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "images"
    folder.mkdir()
    noise = np.random.default_rng(0)
    for part, count in (("train", 60), ("test", 12)):
        encoded, labels = [], [number % 3 for number in range(count)]
        for label in labels:
            pixels = np.clip(np.array(COLOURS[label]) + noise.integers(-20, 20, (32, 32, 3)), 0, 255)
            buffer = io.BytesIO()
            image.fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
            encoded.append(buffer.getvalue())
        pq.write_table(pa.table({"image": encoded, "label": labels}), folder / f"cifar10_{part}.parquet")
    return folder


@pytest.fixture
def text(tmp_path: Path) -> Path:
    pytest.importorskip("tokenizers")
    folder = tmp_path / "text"
    folder.mkdir()
    (folder / "tinyshakespeare.txt").write_text("To be, or not to be: that is the question.\n" * 100, encoding="utf-8")
    return folder

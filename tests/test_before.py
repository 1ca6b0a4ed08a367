"""What the version before the rooms moved has written still opens, and its searches go on as they would have then."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from betabo import Categorical, Float, Int, Optimizer, minimize

BEFORE = Path(__file__).parent / "before"

MIXED = {"rate": Float(1e-5, 1.0, log=True), "layers": Int(1, 8), "act": Categorical(["relu", "tanh", "gelu"])}


def valley(x: Any) -> float:
    return float(100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2)


def face(x: Any) -> float:
    return float(x[0] + (x[1] - 0.3) ** 2 + math.cos(3 * x[2]) * 0.2)


def mixed(p: Any) -> float:
    return (
        (math.log10(p["rate"]) + 2) ** 2
        + abs(p["layers"] - 3) * 0.3
        + {"relu": 0.0, "tanh": 0.4, "gelu": 0.1}[p["act"]]
    )


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(
    ("name", "fun", "where", "seed"),
    [
        ("valley", valley, {"bounds": [(-2, 2), (-1, 3)]}, 1),
        ("face", face, {"bounds": [(0, 1)] * 3}, 2),
        ("mixed", mixed, {"space": MIXED}, 3),
    ],
)
def test_the_same_seeds_give_the_same_points(name: str, fun: Any, where: Any, seed: int) -> None:
    expected = json.loads((BEFORE / "proposals.json").read_text())[name]
    found = minimize(fun, **where, budget=len(expected), seed=seed, local_steps=False)
    np.testing.assert_allclose([e.unit for e in found.history], expected, rtol=0, atol=1e-5)  # what rounding comes to


def test_a_saved_search_opens_and_goes_on_as_it_would_have() -> None:
    search = Optimizer.load(BEFORE / "search.json")
    written = json.loads((BEFORE / "search_next.json").read_text())
    assert len(search.history) == 15
    assert search.history[-1].error == "RuntimeError: no luck"
    following = search.ask()
    assert following["rate"] == pytest.approx(written["next"]["rate"], rel=1e-5)
    assert (following["layers"], following["act"]) == (written["next"]["layers"], written["next"]["act"])
    search.tell(written["pending"], mixed(written["pending"]))


def test_a_stored_study_opens(tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    pytest.importorskip("pyarrow")
    from betabo.studies import export, load_study

    shutil.copy(BEFORE / "study.db", tmp_path / "study.db")
    study = load_study("kept", f"sqlite:///{tmp_path / 'study.db'}")
    export(study, tmp_path / "study.json", format="json")
    assert json.loads((tmp_path / "study.json").read_text()) == json.loads((BEFORE / "study.json").read_text())


def test_a_stored_model_opens() -> None:
    pytest.importorskip("transformers")
    from betabo.compress import load_compressed

    model = load_compressed(BEFORE / "model")
    with torch.no_grad():
        logits = model(input_ids=torch.arange(1, 13).reshape(2, 6)).logits
    torch.testing.assert_close(logits, torch.tensor(json.loads((BEFORE / "model_logits.json").read_text())))


def test_a_compression_by_the_protocol_of_the_paper_tries_the_same_and_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformers")
    from betabo.compress import CompressionSession, CompressionSettings, Training
    from compress.search_case import make_files

    monkeypatch.chdir(tmp_path)
    make_files(tmp_path, head=True)
    expected = json.loads((BEFORE / "compress_search.json").read_text())["trials"]
    training = Training(steps=3, batch=8, rate=1e-3)
    settings = CompressionSettings(
        model="./my-bert",
        task="mrpc",
        data="glue",
        trials=len(expected),
        starting_points=2,
        kernel="beta",
        device="cpu",
        training=training,
    )
    session = CompressionSession(settings, "out")
    session.search()
    for found, before in zip(session.trials(), expected, strict=True):
        assert found.ratios == pytest.approx(before["ratios"], abs=1e-6)
        assert found.notes == pytest.approx(before["notes"], abs=1e-6)

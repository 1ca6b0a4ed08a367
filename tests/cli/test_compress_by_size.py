from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from betabo.cli.compress_by_size import Goal
from betabo.compress.by_size import CompressionBySize
from betabo.compress.front import SizedModel
from betabo.compress.store import load_compressed
from cli.command_case import Betabo, one_line
from compress.models_case import make_llama
from tiny_models import make_byte_tokenizer, save_folder

QUICK = ["--model", "./my-bert", "--task", "mrpc", "--data", "glue", "--device", "cpu", "--dense-steps", "2"]


def test_a_size_gives_a_model_and_a_table(compress: Betabo) -> None:
    result = compress(*QUICK, "--target-size", "0.4")
    assert result.exit_code == 0, result.output
    for line in (
        r"^  2 of 2 steps, loss 0\.\d+$",
        r"^decomposing the layers, and measuring what each of the 12 coordinates is worth$",
        r"^  12 of 12$",
        r"^ +original +compressed +one ratio +int8 *$",
        r"^size of the layers +1\.000 +0\.\d{3} +0\.\d{3} +1\.000",
        r"^megabytes( +\d+\.\d){4}",
        r"^MFLOPs( +\d+\.\d){4}",
        r"^latency \(cpu\), ms( +\d+\.\d\d){4}",
        r"^accuracy, validation( +\d\.\d{4}){4}",
        r"^accuracy, test( +\d\.\d{4}){4}",
        r"^f1, test( +\d\.\d{4}){4}",
        r"^model: compressed$",
    ):
        assert re.search(line, result.stdout, re.MULTILINE), (line, result.stdout)
    summary = json.loads(Path("compressed/summary.json").read_text())
    assert 0.35 < summary["result"]["size"] <= 0.4
    assert load_compressed("compressed").compression.parameters == round(summary["result"]["size"] * 16_832)
    assert not Path("betabo.db").exists()  # nothing was searched
    again = compress(*QUICK, "--target-size", "0.3", "--steps", "1", "--batch", "8")
    assert again.exit_code == 2  # the original was trained with another batch
    assert "was prepared with batch 32" in again.output


def test_texts_are_cut_where_the_user_says(compress: Betabo) -> None:
    result = compress(*QUICK, "--target-size", "0.4", "--max-length", "7")
    assert result.exit_code == 0, result.output
    assert "max_length 7, which is None now" in one_line(compress(*QUICK, "--target-size", "0.4"))


def test_a_front_is_made_once_and_any_point_stored_later(compress: Betabo) -> None:
    result = compress(*QUICK, "--front", "--out", "front")
    assert result.exit_code == 0, result.output
    sizes = [float(size) for size in re.findall(r"^ *(\d\.\d{3}) +[\d,]+ +[\d,]+ +\d\.\d{4}", result.stdout, re.M)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 1.0  # the original
    assert not Path("front/compression.json").exists()
    picked = compress("--pick", "front", "--target-size", "0.45", "--out", "small")
    assert picked.exit_code == 0, picked.output
    size = json.loads(Path("small/summary.json").read_text())["result"]["size"]
    assert round(size, 3) == max(found for found in sizes if found <= 0.45)
    load_compressed("small")
    assert "other sizes" in Path("small/report.html").read_text()
    assert compress("--pick", "front", "--target-size", "0.45", "--int8", "--out", "smaller").exit_code == 0
    assert load_compressed("smaller").compression.bits == 8  # type: ignore[union-attr]
    assert "compressed already; expected the original" in one_line(
        compress("--model", "small", "--task", "mrpc", "--data", "glue", "--target-size", "0.5", "--quiet")
    )


def test_a_front_that_was_stopped_goes_on(compress: Betabo, monkeypatch: pytest.MonkeyPatch) -> None:
    at, asked = CompressionBySize.at, []

    def stopped(self: CompressionBySize, size: float) -> SizedModel:
        asked.append(size)
        if len(asked) == 4:
            raise KeyboardInterrupt
        return at(self, size)

    monkeypatch.setattr(CompressionBySize, "at", stopped)
    assert compress(*QUICK, "--front", "--out", "front").exit_code != 0
    points = json.loads(Path("front/front.json").read_text())["points"]
    assert [point["target"] for point in points] == asked[:3]
    result = compress(*QUICK, "--front", "--out", "front")
    assert result.exit_code == 0, result.output
    assert not set(asked[4:]) & set(asked[:3])
    assert json.loads(Path("front/front.json").read_text())["points"][:3] == points
    assert len(re.findall(r"^  size 0\.\d+: accuracy", result.stdout, re.MULTILINE)) > 3
    del asked[:]
    asked.extend([0.0] * 4)
    assert compress(*QUICK, "--front", "--out", "front", "--examples", "16").exit_code == 0
    assert set(asked[4:]) >= {point["target"] for point in points}  # other settings: all anew


def test_a_drop_that_nothing_can_exceed_gives_a_small_model(compress: Betabo) -> None:
    result = compress(*QUICK, "--max-drop", "99%")
    assert result.exit_code == 0, result.output
    assert "looking for the smallest size that loses at most 99.00%" in result.stdout
    assert json.loads(Path("compressed/summary.json").read_text())["target"] < 0.13


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target-size", "0"], "--target-size is 0, expected a share"),
        (["--target-size", "0.5", "--max-drop", "1%"], "the goal is --target-size and --max-drop; expected one of"),
        (["--max-drop", "some"], "--max-drop is 'some', expected a share such as 0.01 or 1%"),
        (["--max-drop", "200%"], "--max-drop is 2, expected a share"),
        (["--protocol", "sensitivity"], "the goal is none; expected one of --target-size"),
        (["--protocol", "paper", "--front"], "--front is given with --protocol paper"),
        (["--target-size", "0.5", "--kernel", "rbf"], "--kernel is for a search by the paper's protocol"),
        (["--max-latency", "1.5"], "--max-latency is 1.5, expected a share of the original's"),
        (["--int8"], "--int8 is without a goal; give one"),
        (["--examples", "64", "--protocol", "paper"], "--examples is without a goal; give one"),
        (["--target-size", "0.5", "--examples", "0"], "--examples is 0, expected at least 1"),
        ([], "there is no goal; give --target-size 0.5"),
        (["--pick", "front"], "--pick is without --target-size"),
        (["--pick", "front", "--target-size", "0.5"], "front.json is missing"),
    ],
)
def test_mistakes_are_one_line_before_anything_is_loaded(compress: Betabo, arguments: list[str], message: str) -> None:
    assert message in one_line(compress(*QUICK, *arguments))
    assert not Path("compressed").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target-size", "0.01"], r"the target size is 0\.01, but the smallest that can be had is 0\.\d+"),
        (["--target-size", "0.5", "--device", "cuda"], "device is 'cuda', but torch sees no GPU"),
        (["--target-size", "0.5", "--task", "cifar10"], "cannot do image-classification"),
        (["--front", "--task", "wikitext2"], "sees the tokens that it would have to predict"),
    ],
)
def test_what_cannot_be_is_one_line_before_anything_is_trained(
    compress: Betabo, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert re.search(message, one_line(compress(*QUICK, *arguments, "--quiet")))
    assert not Path("compressed").exists()


def test_a_goal_is_given_or_not() -> None:
    assert not Goal().given
    goals = (Goal(0.5), Goal(max_drop=0.0), Goal(max_latency=0.5), Goal(front=True), Goal(pick=Path("x")))
    assert all(goal.given for goal in goals)


def test_eight_bits_rows_and_a_search_go_together_and_are_stored(compress: Betabo) -> None:
    options = ["--int8", "--keep", "0.1", "--trials", "3", "--steps", "4", "--batch", "8"]
    result = compress(*QUICK, "--target-size", "0.5", *options)
    assert result.exit_code == 0, result.output
    assert re.search(r"^ +original +compressed, int8 +one ratio, int8 +int8 *$", result.stdout, re.MULTILINE)
    assert re.search(r"^  4 of 4 steps, loss", result.stdout, re.MULTILINE)
    model = load_compressed("compressed")
    assert model.compression.bits == 8  # type: ignore[union-attr]
    assert any(layer.rows for layer in model.compression.layers.values())  # type: ignore[union-attr]
    summary = json.loads(Path("compressed/summary.json").read_text())
    assert (summary["int8"], summary["keep"], len(summary["losses"])) == (True, 0.1, 4)
    assert "weights of eight bits" in Path("compressed/README.md").read_text()


def test_a_latency_is_reached_or_refused(compress: Betabo, monkeypatch: pytest.MonkeyPatch) -> None:
    def latencies(models: list[Any], *_: Any, **__: Any) -> list[Any]:
        seconds = [float(sum(p.numel() for p in model.parameters())) for model in models]
        return [SimpleNamespace(median=value) for value in seconds]

    for module in ("by_size", "timing"):
        monkeypatch.setattr(f"betabo.compress.{module}.measure_latencies", latencies)
    result = compress(*QUICK, "--max-latency", "0.8")
    assert result.exit_code == 0, result.output
    assert "takes at most 80% of the original's time" in result.stdout
    summary = json.loads(Path("compressed/summary.json").read_text())
    assert summary["result"]["size"] < 0.9
    assert "to be 0.01 of the original's, but the least that was measured" in one_line(
        compress(*QUICK, "--max-latency", "0.01", "--quiet")
    )


def test_a_language_model_is_judged_by_its_perplexity_and_stored_as_it_was(compress: Betabo, tmp_path: Path) -> None:
    folder = save_folder(
        tmp_path / "llama", make_llama(vocabulary=257, tied=True).to(torch.bfloat16), make_byte_tokenizer()
    )
    (tmp_path / "text.txt").write_text("the cat sat on the mat, and the dog ran. " * 200)
    options = [
        "--model",
        str(folder),
        "--task",
        "wikitext2",
        "--data",
        str(tmp_path / "text.txt"),
        "--max-length",
        "16",
    ]
    result = compress(*options, "--max-drop", "5%", "--device", "cpu")
    assert result.exit_code == 0, result.output
    found = re.search(r"^perplexity, validation +([\d.]+) +([\d.]+)", result.stdout, re.MULTILINE)
    assert found is not None
    assert float(found[2]) <= 1.05 * float(found[1])
    weights = {tensor.dtype for tensor in load_compressed("compressed").state_dict().values()}
    assert weights - {torch.int64} == {torch.bfloat16}


def test_a_mixture_of_experts_is_refused_with_the_reason(compress: Betabo, tmp_path: Path) -> None:
    model = make_llama("Mixtral", vocabulary=257, num_local_experts=4)
    folder = save_folder(tmp_path / "mixtral", model, make_byte_tokenizer())
    line = one_line(compress("--model", str(folder), "--task", "wikitext2", "--target-size", "0.5", "--quiet"))
    assert "is a mixture of experts: 8" in line
    assert "such as model.layers.0.mlp.experts" in line
    assert not Path("compressed").exists()

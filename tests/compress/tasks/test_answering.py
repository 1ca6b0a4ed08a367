from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from betabo.compress.data import DataError, Rows
from betabo.compress.tasks import QuestionAnswering, Split, task_by_name
from tiny_models import make_bert, make_gpt2

CONTEXT = "The big cat sat on the mat. A small dog ran under the red tree, and she was not in it. One two three!"


def make_rows(answers: list[list[str]], context: str = CONTEXT) -> Rows:
    return Rows(
        {
            "context": [context] * len(answers),
            "question": ["who sat?"] * len(answers),
            "answers": answers,
            "answer_starts": [[context.index(text) for text in texts] for texts in answers],
        }
    )


def make_task(tokenizer: Any, **options: Any) -> QuestionAnswering:
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return QuestionAnswering(**{"max_length": 24, "overlap": 6, "max_question": 8, "tokenizer": tokenizer, **options})


class Fixed(nn.Module):
    """A model that gives the logits it was made with."""

    def __init__(self, start: torch.Tensor, end: torch.Tensor) -> None:
        super().__init__()
        self.start, self.end = start, end

    def forward(self, **_: Any) -> SimpleNamespace:
        return SimpleNamespace(start_logits=self.start, end_logits=self.end)


def answer_of(split: Split, window: int, start: int, end: int) -> str:
    offsets = split.tensors["offsets"][window]
    return CONTEXT[int(offsets[start, 0]) : int(offsets[end, 1])]


@pytest.mark.parametrize("kind", ["word", "byte"])
@pytest.mark.parametrize("answer", ["big cat", "the red tree", "One two three!", "The", "dog ran under"])
def test_training_windows_point_at_the_answer(request: pytest.FixtureRequest, kind: str, answer: str) -> None:
    task = make_task(request.getfixturevalue(f"{kind}_tokenizer"), **({"max_length": 48} if kind == "byte" else {}))
    split = task.encode(make_rows([[answer, "cat"]]), None, training=True)
    assert len(split) >= 1
    for window in range(len(split)):
        start, end = int(split.tensors["start"][window]), int(split.tensors["end"][window])
        assert answer_of(split, window, start, end) == answer
        assert split.tensors["context"][window, start : end + 1].all()


@pytest.mark.parametrize("kind", ["word", "byte"])
def test_windows_cover_the_context_and_no_question(request: pytest.FixtureRequest, kind: str) -> None:
    tokenizer = request.getfixturevalue(f"{kind}_tokenizer")
    split = make_task(tokenizer, max_length=32).encode(make_rows([["cat"]]), None, training=False)
    seen = set()
    for window in range(len(split)):
        offsets = split.tensors["offsets"][window][split.tensors["context"][window]].tolist()
        seen |= {position for begin, end in offsets for position in range(begin, end)}
        ids = split.tensors["input_ids"][window][split.tensors["context"][window]]
        text = CONTEXT[offsets[0][0] : offsets[-1][1]]
        assert ids.tolist() == tokenizer(text, add_special_tokens=False)["input_ids"]
    assert {position for position, letter in enumerate(CONTEXT) if not letter.isspace()} <= seen
    assert len(split) > 1


def test_windows_without_the_answer_are_only_left_out_of_training(word_tokenizer: Any) -> None:
    task, rows = make_task(word_tokenizer), make_rows([["cat"]])
    training, whole = task.encode(rows, None, training=True), task.encode(rows, None, training=False)
    assert len(training) < len(whole)
    assert (training.tensors["start"] >= 0).all()
    without = whole.tensors["start"] == -1
    assert without.sum() == len(whole) - len(training)
    assert (whole.tensors["end"][without] == -1).all()


@pytest.mark.parametrize("architecture", ["bert", "gpt2"])
def test_loss_is_that_of_transformers(request: pytest.FixtureRequest, architecture: str) -> None:
    tokenizer = request.getfixturevalue("word_tokenizer" if architecture == "bert" else "byte_tokenizer")
    model = make_bert("QuestionAnswering") if architecture == "bert" else make_gpt2("ForQuestionAnswering")
    task = make_task(tokenizer, max_length=48)
    batch = task.encode(make_rows([["cat"], ["red tree"], ["dog"]]), None, training=True).tensors
    with torch.no_grad():
        output = model(**task.inputs(batch), start_positions=batch["start"], end_positions=batch["end"])
        torch.testing.assert_close(task.loss(model, batch), output.loss)


def test_best_span_is_that_of_a_search_over_all(word_tokenizer: Any) -> None:
    task = make_task(word_tokenizer, max_answer=4)
    split = task.encode(make_rows([["cat"], ["dog"]]), None, training=False)
    generator = torch.Generator().manual_seed(0)
    for _ in range(5):
        start, end = torch.randn(2, len(split), 24, generator=generator)
        predictions = task.predictions(Fixed(start, end), split.tensors)
        for window in range(len(split)):
            inside = split.tensors["context"][window].tolist()
            spans = {
                (first, last): start[window, first].item() + end[window, last].item()
                for first in range(24)
                for last in range(first, min(24, first + 4))
                if inside[first] and inside[last]
            }
            best = max(spans, key=lambda span: spans[span])
            assert (predictions["start"][window].item(), predictions["end"][window].item()) == best
            assert predictions["score"][window].item() == pytest.approx(spans[best], abs=1e-5)


def test_the_window_with_the_best_score_answers(word_tokenizer: Any) -> None:
    task = make_task(word_tokenizer)
    split = task.encode(make_rows([["cat"], ["small dog", "dog"]]), None, training=False)
    windows = split.tensors["question"].tolist()
    right = [int(torch.nonzero(split.tensors["start"] >= 0).squeeze(1)[0])]
    right.append(next(n for n in range(len(split)) if windows[n] == 1 and split.tensors["start"][n] >= 0))
    score = torch.zeros(len(split))
    score[right] = 1.0
    context = split.tensors["context"].int().argmax(1)
    start = torch.where(split.tensors["start"] >= 0, split.tensors["start"], context).float()
    end = torch.where(split.tensors["end"] >= 0, split.tensors["end"], context).float()
    assert task.metrics(split, {"score": score, "start": start, "end": end}) == {"f1": 1.0, "exact_match": 1.0}
    end[right[1]] += 1  # "small dog ran": two of three words
    assert task.metrics(split, {"score": score, "start": start, "end": end}) == {
        "f1": pytest.approx((1 + 0.8) / 2),
        "exact_match": 0.5,
    }
    subset = torch.nonzero(split.tensors["question"] == 1).squeeze(1)
    part = {name: value[subset] for name, value in {"score": score, "start": start, "end": end}.items()}
    assert task.metrics(split.subset(subset), part) == {"f1": pytest.approx(0.8), "exact_match": 0.0}


def test_answers_as_records_of_the_hub(word_tokenizer: Any) -> None:
    task = make_task(word_tokenizer)
    plain = task.encode(make_rows([["cat"]]), None, training=True)
    record = {"text": ["cat"], "answer_start": [CONTEXT.index("cat")]}
    rows = Rows({"context": [CONTEXT], "question": ["who sat?"], "answers": [record]})
    hub = task.encode(rows, None, training=True)
    assert all(torch.equal(tensor, hub.tensors[name]) for name, tensor in plain.tensors.items())
    assert hub.details == plain.details


def test_a_question_without_answer_is_refused(word_tokenizer: Any) -> None:
    record = {"text": ["cat"], "answer_start": [4]}
    none: dict[str, list[Any]] = {"text": [], "answer_start": []}
    rows = Rows({"context": [CONTEXT] * 2, "question": ["who?"] * 2, "answers": [record, none]})
    with pytest.raises(DataError, match="question 1 has no answer"):
        make_task(word_tokenizer).encode(rows, None, training=True)


def test_long_questions_are_cut(word_tokenizer: Any) -> None:
    rows = Rows(
        {
            "context": [CONTEXT],
            "question": ["cat " * 50],
            "answers": [["cat"]],
            "answer_starts": [[CONTEXT.index("cat")]],
        }
    )
    split = make_task(word_tokenizer).encode(rows, None, training=True)
    cat = word_tokenizer.convert_tokens_to_ids("cat")
    before = (split.tensors["input_ids"][0] == cat) & ~split.tensors["context"][0]
    assert before.sum() == 7
    assert len(split) >= 1


@pytest.mark.parametrize("options", [{"overlap": 13}, {"overlap": -1}])
def test_an_overlap_must_leave_room(word_tokenizer: Any, options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="overlap is"):
        make_task(word_tokenizer, **options).encode(make_rows([["cat"]]), None, training=True)


def test_no_context_is_on_both_sides_and_limits_count_questions(tmp_path: Path, bert_folder: Path) -> None:
    contexts = [f"The cat {'very ' * number}sat." for number in range(20)]
    articles = [
        {
            "title": "t",
            "paragraphs": [
                {
                    "context": text,
                    "qas": [
                        {"id": f"{number}-{n}", "question": "who?", "answers": [{"text": "cat", "answer_start": 4}]}
                        for n in range(3)
                    ],
                }
            ],
        }
        for number, text in enumerate(contexts)
    ]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train-v1.1.json").write_text(json.dumps({"data": articles[:18]}))
    (tmp_path / "data" / "dev-v1.1.json").write_text(json.dumps({"data": articles[18:]}))
    task = task_by_name("squad", bert_folder, overlap=8, max_question=16)
    data = task.load(tmp_path / "data")
    held = set(data.validation.details["contexts"])
    assert held
    assert not held & set(data.train.details["contexts"])
    assert data.test is not None
    assert set(data.test.details["contexts"]) == set(contexts[18:])
    few = task.load(tmp_path / "data", max_train=5, max_validation=2, cache=tmp_path / "cache")
    assert len(few.train.details["answers"]) == 5
    assert len(few.validation.details["answers"]) == 2
    assert task.load(tmp_path / "data", max_train=5, max_validation=2, cache=tmp_path / "cache").validation.details == (
        few.validation.details
    )

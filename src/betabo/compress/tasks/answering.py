"""Extractive question answering: where in a text the answer stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from betabo.compress.data import DataError, Rows, hold_out
from betabo.compress.tasks.split import Split
from betabo.compress.tasks.squad import exact_match, f1
from betabo.compress.tasks.task import Batch, Kind, SplitRule, Task
from betabo.compress.tasks.text import first_of_pair, suited_tokenizer, text_inputs, tokenizer_of


@dataclass(frozen=True)
class QuestionAnswering(Task):
    """The span of a context that answers a question, scored by the rules of SQuAD 1.1.

    A context that is too long is read in windows that overlap. An example of a split is a window: `input_ids`,
    `attention_mask`, `token_type_ids` if the tokenizer makes them (windows x max_length, int64), `start` and `end`
    (first and last token of the first reference answer, int64), `context` (which tokens are of the context), `offsets`
    (where each token begins and ends in the context, in characters, int32) and `question` (number of the question,
    int64). Windows without the whole answer are left out of training data; elsewhere their `start` and `end` are -1.
    Where data are held out, questions on one context stay together.

    The data have columns `context`, `question`, `answers` and, to train on, `answer_starts`; or `answers` as records of
    `text` and `answer_start`.

    Attributes:
        name: Name of the task.
        dataset: Its dataset on the hub.
        rule: Which parts of the data serve for what.
        max_length: Tokens of a window, padding included.
        overlap: Tokens of the context that a window shares with the next one.
        max_question: Longest question in tokens; longer ones are cut.
        max_answer: Longest answer in tokens.
        tokenizer: A fast tokenizer of transformers, see `suited_to`.
    """

    kind: ClassVar[Kind] = "question-answering"
    metric: ClassVar[str] = "f1"

    name: str = "question-answering"
    dataset: str | None = None
    rule: SplitRule = field(default_factory=SplitRule)
    max_length: int = 384
    overlap: int = 128
    max_question: int = 64
    max_answer: int = 30
    tokenizer: Any = field(default=None, repr=False, compare=False)

    def suited_to(self, model: str | Path) -> Self:
        """This task with a model's tokenizer, and no longer windows than it takes."""
        tokenizer, length = suited_tokenizer(model, self.max_length)
        return replace(self, tokenizer=tokenizer, max_length=length)

    def with_length(self, most: int) -> Self:
        """This task with windows of some tokens, which overlap by the same share."""
        return replace(self, max_length=most, overlap=self.overlap * most // self.max_length)

    def held_out(self, rows: Rows, share: float, seed: int) -> tuple[Rows, Rows]:
        """Divide rows into those that stay and about a share held out, no context on both sides."""
        kept, held = hold_out(len(rows), share, seed, rows["context"])
        return rows.take(kept), rows.take(held)

    def encode(self, rows: Rows, labels: tuple[str, ...] | None, *, training: bool) -> Split:  # noqa: ARG002
        """The questions and contexts as windows of tokens."""
        tokenizer = self._tokenizer()
        contexts = [str(context) for context in rows["context"]]
        answers, starts = _answers(rows)
        encoded = tokenizer(
            self._questions(rows["question"], tokenizer),
            contexts,
            padding="max_length",
            truncation="only_second",
            max_length=self.max_length,
            stride=self.overlap,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        question = torch.tensor(encoded["overflow_to_sample_mapping"], dtype=torch.int64)
        offsets = torch.from_numpy(
            np.asarray(encoded["offset_mapping"], dtype=np.int32).reshape(-1, self.max_length, 2)
        )
        second = [[part == 1 for part in encoded.sequence_ids(window)] for window in range(len(question))]
        context = torch.tensor(second, dtype=torch.bool).reshape(-1, self.max_length)
        start, end = _spans(context, offsets, question, answers, starts)
        tensors = text_inputs(
            {
                name: torch.tensor(value, dtype=torch.int64)
                for name, value in encoded.items()
                if name != "offset_mapping"
            }
        )
        names, places = np.unique(np.asarray(contexts, dtype=object), return_inverse=True)
        split = Split(
            {**tensors, "start": start, "end": end, "context": context, "offsets": offsets, "question": question},
            {"contexts": names.tolist(), "context": places.tolist(), "answers": answers},
        )
        return split.subset(torch.nonzero(start >= 0).squeeze(1)) if training else split

    def inputs(self, batch: Mapping[str, Tensor]) -> Batch:
        """The tokens."""
        return text_inputs(batch)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """The mean cross-entropy of the first and of the last token of the answer, half of each."""
        starts, ends = self.answers(model, batch)
        first = nn.functional.cross_entropy(starts.float(), batch["start"], ignore_index=-1)
        last = nn.functional.cross_entropy(ends.float(), batch["end"], ignore_index=-1)
        return (first + last) / 2

    def answers(self, model: nn.Module, batch: Batch) -> tuple[Tensor, ...]:
        """The logits of the first and of the last token of the answer."""
        output = model(**self.inputs(batch))
        return output.start_logits, output.end_logits

    def predictions(self, model: nn.Module, batch: Batch) -> Batch:
        """The best span of each window: its `score` (the sum of two logits), and its `start` and `end`.

        All spans of up to `max_answer` tokens of the context are compared.
        """
        starts, ends = self.answers(model, batch)
        outside = ~batch["context"]
        first = starts.float().masked_fill(outside, -torch.inf)
        last = ends.float().masked_fill(outside, -torch.inf)
        longest = min(self.max_answer, first.shape[1])
        padded = nn.functional.pad(last, (0, longest - 1), value=-torch.inf)
        scores = first[:, :, None] + padded.unfold(1, longest, 1)  # windows x first token x further tokens
        score, place = scores.flatten(1).max(1)
        start = place // longest
        return {"score": score, "start": start, "end": start + place % longest}

    def metrics(self, split: Split, predictions: Mapping[str, Tensor]) -> dict[str, float]:
        """F1 and exact match, means over the questions.

        The answer to a question is that of its window with the best score.
        """
        details = split.details
        best: dict[int, tuple[float, int]] = {}
        questions: list[int] = split.tensors["question"].tolist()
        for window, (number, score) in enumerate(zip(questions, predictions["score"].tolist(), strict=True)):
            if number not in best or score > best[number][0]:
                best[number] = (score, window)
        offsets = split.tensors["offsets"].cpu()
        start, end = predictions["start"].cpu().long(), predictions["end"].cpu().long()
        scores = []
        for number, (_, window) in best.items():
            context = details["contexts"][details["context"][number]]
            answer = context[int(offsets[window, start[window], 0]) : int(offsets[window, end[window], 1])]
            references = details["answers"][number]
            scores.append((f1(answer, references), exact_match(answer, references)))
        means = np.mean(scores, axis=0)
        return {"f1": float(means[0]), "exact_match": float(means[1])}

    def _tokenizer(self) -> Any:
        tokenizer = tokenizer_of(self.name, self.tokenizer)
        if not tokenizer.is_fast:
            raise ValueError(
                f"{type(tokenizer).__name__} gives no character positions: question answering needs a fast tokenizer."
            )
        room = (
            self.max_length
            - min(self.max_question, self.max_length // 2)
            - tokenizer.num_special_tokens_to_add(pair=True)
        )
        if not 0 <= self.overlap < room:
            raise ValueError(
                f"overlap is {self.overlap}, expected less than {room}: what max_length = {self.max_length} tokens "
                "leave beside a question."
            )
        return tokenizer

    def _questions(self, texts: Sequence[Any], tokenizer: Any) -> list[str]:
        """The questions, cut where they are too long."""
        texts = [str(text).strip() for text in texts]
        most = min(self.max_question, self.max_length // 2) - 1  # one for a mark at the end
        encoded = tokenizer(texts, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return [
            first_of_pair(text if len(offsets) <= most else text[: offsets[most - 1][1]], tokenizer)
            for text, offsets in zip(texts, encoded["offset_mapping"], strict=True)
        ]


def _answers(rows: Rows) -> tuple[list[list[str]], list[int]]:
    """All reference answers of each question, and where the first one begins (-1 if that is not told)."""
    answers = rows["answers"]
    if all(isinstance(answer, Mapping) for answer in answers):
        texts, starts = [answer["text"] for answer in answers], [answer["answer_start"] for answer in answers]
    else:
        texts = [[answer] if isinstance(answer, str) else answer for answer in answers]
        column = rows.first_of("answer_starts", "answer_start")
        starts = rows[column] if column else [[-1]] * len(texts)
    for number, text in enumerate(texts):
        if not text:
            raise DataError(f"question {number} has no answer, expected at least one: SQuAD 1.1, not 2.0.")
    return texts, [start if isinstance(start, int) else start[0] for start in starts]


def _spans(
    context: Tensor, offsets: Tensor, question: Tensor, answers: Sequence[Sequence[str]], starts: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """First and last token of the first answer in each window, -1 where the window does not have all of it."""
    begin = torch.tensor(starts, dtype=torch.int64)[question]
    stop = begin + torch.tensor([len(texts[0]) for texts in answers], dtype=torch.int64)[question]
    inside = context & (offsets[..., 1] > begin[:, None]) & (offsets[..., 0] < stop[:, None])
    length = context.shape[1]
    start = inside.int().argmax(1)
    end = length - 1 - inside.int().flip(1).argmax(1)
    window = torch.arange(len(question))
    covers = (offsets[window, start, 0] <= begin) & (offsets[window, end, 1] >= stop)
    whole = inside.any(1) & (begin >= 0) & covers
    missing = torch.full_like(start, -1)
    return torch.where(whole, start, missing), torch.where(whole, end, missing)

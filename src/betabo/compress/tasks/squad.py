"""Scores of an answer by the rules of SQuAD 1.1.

Texts are compared in small letters, without ASCII punctuation, without the articles a, an and the, and with single
spaces. The best score over the reference answers counts.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalise(text: str) -> str:
    """A text as it is compared."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def exact_match(answer: str, references: Sequence[str]) -> float:
    """1 if the answer equals a reference, else 0."""
    return _best(lambda reference: float(normalise(answer) == normalise(reference)), references)


def f1(answer: str, references: Sequence[str]) -> float:
    """The largest F1 of the words of answer and reference, as bags; 0 if none is common, even if there are none."""
    return _best(lambda reference: _overlap(normalise(answer).split(), normalise(reference).split()), references)


def _overlap(words: list[str], reference: list[str]) -> float:
    common = (Counter(words) & Counter(reference)).total()
    return 2 * common / (len(words) + len(reference)) if common else 0.0


def _best(score: Callable[[str], float], references: Sequence[str]) -> float:
    if not references:
        raise ValueError("there is no reference answer, expected at least one.")
    return max(map(score, references))

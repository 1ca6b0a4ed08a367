from __future__ import annotations

from pathlib import Path
from typing import Any

from torch import nn

from betabo.compress.card import model_card
from betabo.compress.plan import CompressionPlan
from betabo.compress.tasks import TextClassification
from betabo.compress.without_training import compress_model, eight_bits

ROWS = [["", "original", "com|pressed"], ["size", "1.0", "0.5"]]
TASK = TextClassification(name="mrpc")


def test_a_card_says_what_the_model_is_and_how_it_is_loaded(tiny_bert: Any) -> None:
    tiny_bert.config.name_or_path = "some/bert"
    small = compress_model(tiny_bert, 0.3, keep=0.0)
    card = model_card(small, TASK, ROWS)
    head, body = card.split("---\n")[1:3]
    assert 'library_name: "transformers"' in head
    assert 'base_model: "some/bert"' in head
    assert "# BertForSequenceClassification, compressed for mrpc" in body
    assert "12 of 12 linear layers are products of two thin matrices; the others" in body
    assert "|  | original | com\\|pressed |\n| --- | ---: | ---: |\n| size | 1.0 | 0.5 |" in card
    assert 'load_compressed("this folder")' in card
    assert "BertForSequenceClassification.from_pretrained" in card
    more = model_card(eight_bits(compress_model(tiny_bert, 0.3)), TASK, ROWS)
    assert "two thin matrices and some rows of their own, with weights of eight bits;" in more


def test_places_of_one_machine_and_control_characters_stay_out(tiny_bert: Any, tmp_path: Path) -> None:
    small = compress_model(tiny_bert, 0.3)
    small.config.name_or_path = str(tmp_path)
    assert str(tmp_path) not in model_card(small, TASK, ROWS)
    small.config.name_or_path = "a\x1b[2Jb"
    assert "\x1b" not in model_card(small, TextClassification(name="x\x1by"), [["\x1b"], ["b"]])


def test_a_model_of_torch_alone_has_a_card_too() -> None:
    blocks = nn.Sequential(*(nn.Sequential(nn.Linear(16, 16), nn.ReLU()) for _ in range(2)))
    card = model_card(compress_model(blocks, 0.3, plan=CompressionPlan.of(blocks)), TASK, ROWS)
    assert 'library_name: "betabo"' in card
    assert "from_pretrained" not in card

"""Text of unknown origin, made safe to show on a terminal."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from betabo.visible import visible


def test_control_characters_are_seen() -> None:
    assert visible("\x1b]52;c;aGk=\x07\r\x00\x7f") == "␛]52;c;aGk=␇␍␀␡"
    assert visible("\x9b2J\u202eabc\ud800") == "�2J�abc�"


def test_ordinary_text_stays() -> None:
    text = "lr=0.001\tπ ≤ 4\n日本語 🎉 e\u0301"
    assert visible(text) == text


@given(st.text(st.characters()))
def test_nothing_is_left_that_controls_a_terminal(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any(unicodedata.category(char) in ("Cc", "Cs") and char not in "\n\t" for char in shown)
    shown.encode()

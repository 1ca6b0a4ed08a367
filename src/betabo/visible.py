"""Text of unknown origin, made safe to show on a terminal."""

from __future__ import annotations

_UNKNOWN = "\ufffd"
_KEPT = "\n\t"
_REPLACED = {
    **dict.fromkeys(range(0x80, 0xA0), _UNKNOWN),  # C1: an escape sequence in one character
    **dict.fromkeys([0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)], _UNKNOWN),  # change the order
    **dict.fromkeys(range(0xD800, 0xE000), _UNKNOWN),  # lone surrogates, which cannot be written
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in _KEPT},
    0x7F: "\u2421",
}


def visible(text: str) -> str:
    """The text with a visible sign in place of each control character; newlines and tabs stay.

    A control character can move the cursor, write to the clipboard or change the order of what is read. Text that was
    not written here passes through this function before it is shown: text from a storage, a program or an error.
    """
    return text.translate(_REPLACED)

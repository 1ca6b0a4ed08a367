from __future__ import annotations

from pathlib import Path

import pytest

from betabo.studies import ObjectiveError
from betabo.studies.signatures import signature_of, takes_by_name, written_signature

DEFINITIONS = [
    "def f(x): ...",
    "def f(x, y=1, *, z=[1, 2], **rest): ...",
    "def f(a, /, b: int, *rest): ...",
    "def f(): ...",
    "def f(point: dict[str, float]) -> float: ...",
]


@pytest.mark.parametrize("text", DEFINITIONS)
def test_a_signature_is_read_as_python_reads_it(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(text)
    names: dict[str, object] = {}
    exec("from __future__ import annotations\n" + text.replace("...", "pass"), names)
    read, real = written_signature(path, "f", "job.py:f"), signature_of(names["f"])  # type: ignore[arg-type]
    assert read is not None
    assert real is not None
    assert str(read) == str(real).split(" ->")[0]
    assert [p.kind for p in read.parameters.values()] == [p.kind for p in real.parameters.values()]


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import f",
        "from elsewhere import *",
        "import f",
        "f = lambda x: x",
        "@decorated\ndef f(x): ...",
        "if True:\n    def f(x): ...",
        "class f: ...",
        "def __getattr__(name): ...",
        "globals()['f'] = 1",
        "def g():\n    global f\n    f = 1",
        "def f(x): ...\nf = changed(f)",
        "def broken(",
    ],
)
def test_a_text_that_does_not_tell_is_left_to_the_import(text: str, tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(text)
    assert written_signature(path, "f", "job.py:f") is None


def test_a_name_that_is_not_there_is_seen_in_the_text(tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text("def one(x): ...\ndef two(x): ...")
    with pytest.raises(ObjectiveError, match=r"^job.py has no function f; it has one, two\.$"):
        written_signature(path, "f", "job.py:f")


@pytest.mark.parametrize(
    ("text", "names", "by_name"),
    [
        ("def f(x): ...", ["x"], True),
        ("def f(x, y): ...", ["y", "x"], True),
        ("def f(**any): ...", ["x"], True),
        ("def f(params): ...", ["x"], False),
        ("def f(z: dict): ...", ["x"], False),
        ("def f(z, /): ...", ["x"], False),
        ("def f(z): ...", ["x", "y"], False),
    ],
)
def test_how_parameters_go_in(text: str, names: list[str], by_name: bool, tmp_path: Path) -> None:
    path = tmp_path / "job.py"
    path.write_text(text)
    assert takes_by_name(written_signature(path, "f", "job.py:f"), names, "job.py:f") is by_name


@pytest.mark.parametrize(
    ("text", "names", "message"),
    [
        ("def f(x): ...", ["y"], "f takes x, the space has y .*write x: dict"),
        ("def f(x: float): ...", ["y", "z"], "f takes x, the space has y, z"),
        ("def f(x): ...", ["x", "y"], "f takes x, the space has x, y"),
        ("def f(): ...", ["x"], "f takes nothing, the space has x"),
    ],
)
def test_a_function_that_takes_other_parameters_is_refused(
    text: str, names: list[str], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "job.py"
    path.write_text(text)
    with pytest.raises(ObjectiveError, match=message):
        takes_by_name(written_signature(path, "f", "job.py:f"), names, "job.py:f")

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from betabo.space import Categorical, Fixed, Float, Int, Parameter, Profile, Space
from betabo.space.text import parse_parameter, parse_parameters, parse_point, show_parameter, space_from_toml


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("lr=1e-5..1e-1:log", Float(1e-5, 1e-1, log=True)),
        ("lr = -2 .. 3", Float(-2, 3)),
        ("layers=1..8:int", Int(1, 8)),
        ("units=16..512:int:log", Int(16, 512, log=True)),
        ("units=16..512:log:int", Int(16, 512, log=True)),
        ("n=1e2..1e3:int", Int(100, 1000)),
        ("act=relu|gelu", Categorical(["relu", "gelu"])),
        ("act= relu | gelu ", Categorical(["relu", "gelu"])),
        ("size=16|32|64", Categorical([16, 32, 64])),
        ("size=16|0.5", Categorical([16, 0.5])),
        ("size=16|auto", Categorical(["16", "auto"])),
        ("flag=true|false", Categorical([True, False])),
        ("digit='1'|'2'", Categorical(["1", "2"])),
        ("pipe='a|b'|c", Categorical(["a|b", "c"])),
        ("seed=7", Fixed(7)),
        ("rate=0.5", Fixed(0.5)),
        ("name=resnet", Fixed("resnet")),
        ("name='7'", Fixed("7")),
        ("name='0..1'", Fixed("0..1")),
        ("path=a=b", Fixed("a=b")),
        ("flag=true", Fixed(True)),
    ],
)
def test_text_becomes_a_parameter(text: str, parameter: Parameter) -> None:
    name, parsed = parse_parameter(text)
    assert name == text.partition("=")[0].strip()
    assert parsed == parameter
    assert str(parsed.to_json()) == str(parameter.to_json())  # 1 and True are equal, their texts are not


def test_step_becomes_a_grid() -> None:
    _, parsed = parse_parameter("x=0..1:step=0.1")
    assert parsed == Float(0, 1, step=0.1)
    _, parsed = parse_parameter("n=0..10:int:step=5")
    assert parsed == Int(0, 10, step=5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr", "has no '='"),
        ("=1..2", "name '' is not allowed"),
        ("1x=1..2", "name '1x' is not allowed"),
        ("learning rate=1..2", "name 'learning rate' is not allowed"),
        ("lr=", "nothing behind '='"),
        ("lr=2..1", "lr: low is 2.0 and high is 1.0"),
        ("lr=1..1", "lr: low and high are both"),
        ("lr=a..1", "lower bound is 'a', expected a number"),
        ("lr=0..", "upper bound is '', expected a number"),
        ("lr=0..nan", "lr: high is nan, expected a finite number"),
        ("lr=0..1:log", "lr: low is 0.0, expected a number > 0"),
        ("lr=1..2:lgo", "unknown option ':lgo'"),
        ("u=0..1:profile", "unknown option ':profile'"),
        ("u=0..1:profile=1", "count is 1, expected at least 2"),
        ("u=0..1:profile=2.5", "count"),
        ("u=0..9:int:profile=3", "u has int and profile"),
        ("u=0..9:step=3:profile=3", "u has step and profile"),
        ("lr=1..2:log:log", "has ':log' twice"),
        ("n=1..2.5:int", "high is 2.5, expected a whole number"),
        ("act=relu|", "empty choice"),
        ("act=relu|relu", "equal to choices"),
        ("act='relu|gelu", "open quote"),
    ],
)
def test_mistakes_are_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("|", r"\|").replace("(", r"\(")) as caught:
        parse_parameter(text)
    assert "\n" not in str(caught.value)


def test_a_name_may_be_given_once() -> None:
    with pytest.raises(ValueError, match="x is given twice"):
        parse_parameters(["x=0..1", "x=1..2"])


def test_a_space_needs_a_free_parameter() -> None:
    with pytest.raises(ValueError, match="no free parameter"):
        parse_parameters(["x=1"])


NUMBERS = st.floats(-1e12, 1e12).map(lambda x: x + 0.0)
TEXTS = st.text(
    st.characters(codec="utf-8", exclude_characters="'\"", categories=("L", "N", "P", "S", "Zs")), max_size=8
)


@given(
    st.one_of(
        st.tuples(NUMBERS, NUMBERS).filter(lambda b: b[0] < b[1]).map(lambda b: Float(*b)),
        st.tuples(st.floats(1e-9, 1), st.floats(2, 1e9)).map(lambda b: Float(*b, log=True)),
        st.tuples(st.integers(-99, 0), st.integers(1, 10**9)).map(lambda b: Int(*b)),
        st.tuples(st.integers(1, 9), st.integers(10, 99)).map(lambda b: Int(*b, log=True)),
        st.lists(TEXTS, min_size=2, max_size=4, unique=True).map(Categorical),
        st.lists(st.integers() | NUMBERS, min_size=2, max_size=4, unique=True).map(Categorical),
        TEXTS.map(Fixed),
        st.booleans().map(Fixed),
        NUMBERS.map(Fixed),
    )
)
def test_shown_parameters_read_back(parameter: Parameter) -> None:
    _, parsed = parse_parameter(f"p={show_parameter(parameter)}")
    assert parsed == parameter


def write(folder: Path, text: str) -> Path:
    path = folder / "space.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_holds_a_space(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        """
        [parameters]
        lr = "1e-5..1e-1:log"
        units = {low = 16, high = 512, int = true, log = true}
        act = {choices = ["relu", "gelu"]}
        depth = "1..3:int"
        seed = 7
        data = {value = "mnist"}
        """,
    )
    assert dict(space_from_toml(path).parameters) == {
        "lr": Float(1e-5, 1e-1, log=True),
        "units": Int(16, 512, log=True),
        "act": Categorical(["relu", "gelu"]),
        "depth": Int(1, 3),
        "seed": Fixed(7),
        "data": Fixed("mnist"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "unknown entry 'x'"),
        ("", r"no table \[parameters\]"),
        ("parameters = 3", r"no table \[parameters\]"),
        ("[parameters", "is no TOML"),
        ("[parameters]\nx = {low = 0, hihg = 1}", "unknown key 'hihg'"),
        ("[parameters]\nx = {low = 0}", "has the keys low"),
        ("[parameters]\nx = {low = 0, high = 1, choices = [1, 2]}", "has the keys choices, high, low"),
        ("[parameters]\nx = {low = 0, high = 1, log = 1}", "log is 1, expected true or false"),
        ("[parameters]\nx = {low = '0', high = 1}", "low is '0', expected a number"),
        ("[parameters]\nx = '3..1'", "low is 3.0 and high is 1.0"),
    ],
)
def test_mistakes_in_a_file_are_explained(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        space_from_toml(write(tmp_path, text))


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot read .*nothing.toml: No such file"):
        space_from_toml(tmp_path / "nothing.toml")


def test_other_objects_are_not_shown() -> None:
    stranger: Any = "x"
    with pytest.raises(TypeError, match="expected a Float"):
        show_parameter(stranger)


@pytest.mark.parametrize("text", ["0-1", "0,1", "0:1", "1e-5 to 1e-1", "[0, 1]", "-1--0.5", "relu,gelu"])
def test_what_looks_like_a_range_or_like_choices_is_no_constant(text: str) -> None:
    with pytest.raises(ValueError, match=r"was read as the constant text .* a range is written x="):
        parse_parameter(f"x={text}")
    assert parse_parameter(f"x='{text}'") == ("x", Fixed(text))
    assert parse_parameter(f"x={show_parameter(Fixed(text))}") == ("x", Fixed(text))


@pytest.mark.parametrize("text", ["2026-11-19", "resnet-50", "a-b", "-7", "1e-5", "http://host:80"])
def test_other_text_is_a_constant(text: str) -> None:
    _, parameter = parse_parameter(f"x={text}")
    assert isinstance(parameter, Fixed)


@pytest.mark.parametrize(
    ("text", "parameter"),
    [
        ("C=1e-3..1e3:log when model=svm", Float(1e-3, 1e3, log=True, when={"model": "svm"})),
        ("d=1..9:int when m=a|b and fast=true", Int(1, 9, when={"m": ["a", "b"], "fast": True})),
        ("k=a|b when n=2|3", Categorical(["a", "b"], when={"n": [2, 3]})),
        ("t=' when x'|y when m='a and b'", Categorical([" when x", "y"], when={"m": "a and b"})),
    ],
)
def test_a_parameter_says_when_it_exists(text: str, parameter: Parameter) -> None:
    name, found = parse_parameter(text)
    assert found == parameter
    assert parse_parameter(f"{name}={show_parameter(found)}") == (name, parameter)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x=0..1 when m", "'m' behind 'when'; expected when CHOICE"),
        ("x=0..1 when ", "'' behind 'when'"),
        ("x=0..1 when m=a and m=b", "'m=b' behind 'when'"),
        ("x=3 when m=a", "a constant, which exists always"),
    ],
)
def test_mistakes_behind_when_are_explained(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_parameter(text)


def test_a_choice_stands_before_what_depends_on_it() -> None:
    with pytest.raises(ValueError, match="x exists when 'm' is 'a', expected the name of a Categorical before it"):
        parse_parameters(["x=0..1 when m=a", "m=a|b"])


def test_conditions_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text(
        "[parameters]\nm = 'svm|tree'\nC = '1..9 when m=svm'\n"
        "d = {low = 1, high = 4, int = true, when = {m = 'tree'}}\n"
    )
    expected = {
        "m": Categorical(["svm", "tree"]),
        "C": Float(1, 9, when={"m": "svm"}),
        "d": Int(1, 4, when={"m": "tree"}),
    }
    assert space_from_toml(path) == Space(expected)


def test_a_point_names_what_exists_there() -> None:
    space = parse_parameters(["m=a|b", "x=0..1 when m=a", "y=0..1 when m=b", "z=3"])
    assert parse_point("m=a,x=0.3", space) == {"m": "a", "x": 0.3, "z": 3}
    with pytest.raises(ValueError, match="'y', which does not exist there"):
        parse_point("m=a,x=0.3,y=0.1", space)


@pytest.mark.parametrize(("text", "meant"), [("x=0-1", "x=0..1"), ("x=-2:3", "x=-2..3"), ("x=[1e-3;2]", "x=1e-3..2")])
def test_a_slip_is_answered_by_the_range_that_was_meant(text: str, meant: str) -> None:
    with pytest.raises(ValueError, match=rf"a range is written {re.escape(meant)},"):
        parse_parameter(text)


def test_a_profile_is_as_many_floats() -> None:
    space = parse_parameters(["u=-1..1:profile=20", "gain=1..10:log"])
    assert space.names == (*(f"u[{number}]" for number in range(20)), "gain")
    assert space.profiles == (tuple(range(20)),)
    assert parse_parameters([f"{name}={show_parameter(p)}" for name, p in space.parameters.items()]) == space
    assert parse_parameter("u=1..10:log:profile=3") == ("u", Profile(3, 1, 10, log=True))


def test_a_profile_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "space.toml"
    path.write_text('[parameters]\nu = { low = 0, high = 1, profile = 9 }\nv = "0..2:profile=2"\n')
    assert space_from_toml(path) == Space({"u": Profile(9, 0, 1), "v": Profile(2, 0, 2)})

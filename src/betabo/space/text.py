"""The little language of parameters: `lr=1e-5..1e-1:log`, `layers=1..8:int`, `u=0..1:profile=20`, `act=relu|gelu`.

A parameter that exists only under a choice says so at its end: `C=1e-3..1e3:log when model=svm`.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any

from betabo.space.conditions import as_conditions
from betabo.space.parameters import Categorical, Fixed, Float, Int, Parameter
from betabo.space.profiles import Profile
from betabo.space.space import Space

_NAME = re.compile(r"[A-Za-z_]\w*(\[\d+\])?")
_NUMBERS = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_LIKE_A_RANGE = re.compile(rf"[\[(]?\s*({_NUMBERS.pattern})\s*(?:-|:|;|to|\.\.\.)\s*({_NUMBERS.pattern})\s*[\])]?")
_FORMS = "NAME=LOW..HIGH[:int][:log][:step=S][:profile=N], NAME=A|B|C or NAME=VALUE"
_WHEN = "when CHOICE=A|B [and CHOICE=C]"
_JOINTS = (" when ", " and ")
_KEYS = {"low", "high", "int", "log", "step", "profile", "choices", "value", "when"}
_CONSTANTS = {"true": True, "false": False}


def parse_parameter(text: str) -> tuple[str, Parameter | Profile]:
    """One parameter from its text.

    Args:
        text: `NAME=LOW..HIGH` with any of `:int`, `:log` and `:step=S` behind it, or with `:profile=N` for so many
            numbers in an order; `NAME=A|B|C` for choices, or `NAME=VALUE` for a constant. Choices that are all numbers,
            or all true and false, become such; quotes keep text, as in `digit='1'|'2'`. ` when CHOICE=A|B` at the end
            names the values of another parameter under which this one exists; ` and ` joins several.

    Returns:
        The name and the parameter.

    Raises:
        ValueError: The text is none of these.
    """
    name, equals, definition = text.partition("=")
    name = name.strip()
    if not equals:
        raise ValueError(f"parameter {text!r} has no '='; expected {_FORMS}.")
    _check_name(name)
    return name, _parse_definition(name, definition)


def parse_parameters(texts: Sequence[str]) -> Space:
    """The space of several parameters, see `parse_parameter`."""
    parameters: dict[str, Parameter | Profile] = {}
    for text in texts:
        name, parameter = parse_parameter(text)
        if name in parameters:
            raise ValueError(f"parameter {name} is given twice; expected each name once, so remove one of them.")
        parameters[name] = parameter
    return _space(parameters)


def space_from_toml(path: str | PathLike[str]) -> Space:
    """The space in the table `[parameters]` of a TOML file.

    Args:
        path: The file. A parameter is text as for `parse_parameter` without the name, such as `lr = "1e-5..1e-1:log"`,
            a table with `low` and `high` and perhaps `int`, `log`, `step` or `profile`, a table with `choices`, or with
            `value`. Where a parameter exists only under a choice, a table has `when = {model = "svm"}` besides.

    Raises:
        ValueError: The file cannot be read, or a parameter in it is wrong.
    """
    data = read_toml(path)
    unknown = sorted(set(data) - {"parameters"})
    if unknown:
        raise ValueError(f"{path} has the unknown entry {unknown[0]!r}; expected one table, [parameters].")
    return space_of_table(data.get("parameters"), path)


def read_toml(path: str | PathLike[str]) -> dict[str, Any]:
    """The entries of a TOML file.

    Raises:
        ValueError: It cannot be read.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}; give the path of a TOML file.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no TOML: {error}.") from error


def space_of_table(table: object, source: str | PathLike[str]) -> Space:
    """The space in a table of parameters, see `space_from_toml`; `source` says where it is from."""
    if not isinstance(table, dict):
        raise ValueError(f"{source} has no table [parameters]; expected lines such as lr = '1e-5..1e-1:log' under it.")
    parameters = {}
    for name, entry in table.items():
        _check_name(name)
        parameters[name] = _from_entry(name, entry)
    return _space(parameters)


def parse_point(text: str, space: Space) -> dict[str, Any]:
    """A point from its text, such as `lr=0.01,layers=3,act=relu`.

    Raises:
        ValueError: It is no point of the space; constants may be left out.
    """
    point: dict[str, Any] = {}
    for part in _split("of a point", text, ","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name in point:
            raise ValueError(f"the point {text!r} has {part!r}, expected each parameter once, as in lr=0.01,layers=3.")
        point[name] = _value_of(space.parameters.get(name), value)
    try:
        space.to_unit(point)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the point {text!r} is none of the space: {error}") from error
    parameters = [(name, space.parameters[name]) for name in space.active(point)]
    return {name: p.value if isinstance(p, Fixed) else point[name] for name, p in parameters}


def _value_of(parameter: Parameter | None, text: str) -> Any:
    if isinstance(parameter, Categorical | Fixed):
        choices = parameter.choices if isinstance(parameter, Categorical) else (parameter.value,)
        return next((c for c in choices if _show_scalars([c])[0] == text or str(c) == _unquoted(text)), text)
    number = _as_number(text)
    return text if number is None else number


def show_parameter(parameter: Parameter) -> str:
    """The text behind `NAME=` that `parse_parameter` reads as this parameter."""
    conditions = as_conditions(getattr(parameter, "when", None))
    if conditions and isinstance(parameter, Float | Int | Categorical):
        needed = " and ".join(f"{name}={'|'.join(_show_scalars(values))}" for name, values in conditions)
        return f"{show_parameter(replace(parameter, when=None))} when {needed}"
    if isinstance(parameter, Float | Int):
        text = f"{_show_number(parameter.low)}..{_show_number(parameter.high)}"
        if isinstance(parameter, Int):
            text += ":int"
        if parameter.log:
            text += ":log"
        step = getattr(parameter, "step", None)
        if step is not None and not (isinstance(parameter, Int) and step == 1):
            text += f":step={_show_number(step)}"
        return text
    if isinstance(parameter, Categorical):
        return "|".join(_show_scalars(parameter.choices))
    if isinstance(parameter, Fixed):
        return _show_scalars([parameter.value])[0]
    raise TypeError(f"parameter is {parameter!r}, expected a Float, Int, Categorical or Fixed.")


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"parameter name {name!r} is not allowed; expected letters, digits and '_', no digit first.")


def _space(parameters: Mapping[str, Parameter | Profile]) -> Space:
    try:
        return Space(parameters)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _parse_definition(name: str, definition: str) -> Parameter | Profile:
    definition, when, conditions = _outside_quotes(name, definition, _JOINTS[0])
    if when:
        return _with_conditions(name, _parse_definition(name, definition), _parse_conditions(name, conditions))
    definition = definition.strip()
    if not definition:
        raise ValueError(f"parameter {name} has nothing behind '='; expected {_FORMS}.")
    fields = _split(name, definition, "|")
    if len(fields) > 1:
        return _make(name, Categorical, choices=_scalars(name, fields))
    if definition[0] not in "'\"" and ".." in definition:
        return _parse_interval(name, definition)
    if _is_slip(definition):
        meant = _LIKE_A_RANGE.fullmatch(definition)
        numbers = meant.groups() if meant else _NUMBERS.findall(definition)
        example = f"{name}={numbers[0]}..{numbers[1]}" if len(numbers) == 2 else f"{name}=0..1"
        raise ValueError(
            f"parameter {name}={definition} was read as the constant text {definition!r}; a range is written "
            f"{example}, and choices {name}=a|b|c. For the text itself put it in quotes: {name}='{definition}'."
        )
    return _make(name, Fixed, value=_scalars(name, fields)[0])


def _parse_conditions(name: str, text: str) -> dict[str, list[Any]]:
    """What stands behind `when`: the choices on which a parameter depends, with their values."""
    found: dict[str, list[Any]] = {}
    while text or not found:
        first, _, text = _outside_quotes(name, text, _JOINTS[1])
        other, equals, values = (part.strip() for part in first.partition("="))
        if not equals or not _NAME.fullmatch(other) or other in found:
            raise ValueError(f"parameter {name} has {first.strip()!r} behind 'when'; expected {_WHEN}.")
        found[other] = _scalars(name, _split(name, values, "|"))
    return found


def _with_conditions(name: str, parameter: Parameter | Profile, when: Any) -> Parameter:
    if not isinstance(parameter, Float | Int | Categorical):
        what = "a profile" if isinstance(parameter, Profile) else "a constant"
        raise ValueError(f"parameter {name} is {what}, which exists always; leave its 'when' out.")
    try:
        return replace(parameter, when=when)
    except (TypeError, ValueError) as error:
        raise ValueError(f"parameter {name}: {error}") from error


def _outside_quotes(name: str, text: str, separator: str) -> tuple[str, str, str]:
    """The text before the first separator that is not in quotes, the separator, and the text behind it."""
    for place in range(len(text)):
        if text.startswith(separator, place):
            with suppress(ValueError):  # a quote is open there
                _split(name, text[:place].replace("=", "|"), "|")
                return text[:place], separator, text[place + len(separator) :]
    return text, "", ""


def _is_slip(text: str) -> bool:
    """Whether a text without quotes was rather meant as a range or as choices."""
    return text[:1] not in ("'", '"') and ("," in text or _LIKE_A_RANGE.fullmatch(text) is not None)


def _parse_interval(name: str, definition: str) -> Parameter | Profile:
    interval, *options = (part.strip() for part in definition.split(":"))
    low, _, high = interval.partition("..")
    settings: dict[str, Any] = {"low": _number(name, "lower bound", low), "high": _number(name, "upper bound", high)}
    for option in options:
        key, equals, value = option.partition("=")
        if key in settings:
            raise ValueError(f"parameter {name} has ':{key}' twice; expected it once.")
        if key in ("int", "log") and not equals:
            settings[key] = True
        elif key in ("step", "profile") and equals:
            settings[key] = _number(name, key, value)
        else:
            raise ValueError(
                f"parameter {name} has the unknown option ':{option}'; expected :int, :log, :step=S or :profile=N."
            )
    return _interval(name, settings)


def _interval(name: str, settings: Mapping[str, Any]) -> Parameter | Profile:
    arguments = {key: value for key, value in settings.items() if key != "int"}
    for key in ("int", "log"):
        if not isinstance(settings.get(key, False), bool):
            raise ValueError(f"parameter {name}: {key} is {settings[key]!r}, expected true or false.")
    if "profile" in arguments:
        if beside := sorted({"int", "step"} & settings.keys()):
            raise ValueError(f"parameter {name} has {beside[0]} and profile; a profile is of numbers without steps.")
        return _make(name, Profile, count=arguments.pop("profile"), **arguments)
    if not settings.get("int"):
        return _make(name, Float, **arguments)
    for key in {"low", "high", "step"} & arguments.keys():
        value = arguments[key]
        if isinstance(value, float) and math.isfinite(value):
            if not value.is_integer():
                raise ValueError(f"parameter {name}: {key} is {value!r}, expected a whole number with int.")
            arguments[key] = int(value)
    return _make(name, Int, **arguments)


def _from_entry(name: str, entry: object) -> Parameter | Profile:
    """A parameter from its value in a TOML table."""
    if isinstance(entry, str):
        return _parse_definition(name, entry)
    if not isinstance(entry, dict):
        return _make(name, Fixed, value=entry)
    unknown = sorted(set(entry) - _KEYS)
    if unknown:
        raise ValueError(f"parameter {name} has the unknown key {unknown[0]!r}; expected {', '.join(sorted(_KEYS))}.")
    if "when" in entry:
        rest = {key: value for key, value in entry.items() if key != "when"}
        return _with_conditions(name, _from_entry(name, rest), entry["when"])
    if "choices" in entry and len(entry) == 1:
        return _make(name, Categorical, choices=entry["choices"])
    if "value" in entry and len(entry) == 1:
        return _make(name, Fixed, value=entry["value"])
    if {"low", "high"} <= entry.keys() and not {"choices", "value"} & entry.keys():
        return _interval(name, entry)
    raise ValueError(
        f"parameter {name} has the keys {', '.join(sorted(entry)) or 'none'}; "
        "expected low and high (perhaps int, log, step, profile), or choices, or value."
    )


def _make(name: str, kind: type[Parameter | Profile], **arguments: Any) -> Parameter | Profile:
    try:
        return kind(**arguments)
    except (TypeError, ValueError) as error:
        raise ValueError(f"parameter {name}: {error}") from error


def _number(name: str, what: str, text: str) -> float | int:
    number = _as_number(text.strip())
    if number is None:
        raise ValueError(f"parameter {name}: the {what} is {text.strip()!r}, expected a number.")
    return number


def _as_number(text: str) -> float | int | None:
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return None


def _split(name: str, text: str, separator: str) -> list[str]:
    """The fields of a text, with their quotes, where separators inside quotes do not count."""
    fields, field, quote = [], "", ""
    for character in text:
        if quote or character != separator:
            if character in "'\"" and (not field.strip() or quote):
                quote = "" if character == quote else quote or character
            field += character
        else:
            fields.append(field.strip())
            field = ""
    if quote:
        raise ValueError(f"parameter {name} has an open quote in {text!r}; close it.")
    fields.append(field.strip())
    return fields


def _scalars(name: str, fields: Sequence[str]) -> list[Any]:
    """The values that texts mean: all numbers, all booleans, or text."""
    if any(not field for field in fields):
        raise ValueError(
            f"parameter {name} has an empty choice in {'|'.join(fields)!r}; write '' in quotes to mean it."
        )
    numbers = [_as_number(field) for field in fields]
    if all(number is not None for number in numbers):
        return numbers
    if all(field in _CONSTANTS for field in fields):
        return [_CONSTANTS[field] for field in fields]
    return [_unquoted(field) for field in fields]


def _unquoted(field: str) -> str:
    return field[1:-1] if len(field) > 1 and field[0] == field[-1] and field[0] in "'\"" else field


def _show_number(number: float) -> str:
    if isinstance(number, float) and number.is_integer() and abs(number) < 1e6:
        return str(int(number))
    return repr(number)


def _show_scalars(values: Sequence[Any]) -> list[str]:
    """Texts that `_scalars` reads as these values."""
    shown = [json.dumps(value) if isinstance(value, bool) else str(value) for value in values]
    if all(isinstance(value, str) for value in values):
        plain = all(_as_number(v) is None and v not in _CONSTANTS and not set(v) & set("|'\"") for v in shown)
        plain = plain and not any(word in v for word in _JOINTS for v in shown)
        dotted = len(values) == 1 and (".." in shown[0] or _is_slip(shown[0]))
        if not plain or dotted or not all(v == v.strip() and v for v in shown):
            return [_quoted(v) for v in shown]
    return shown


def _quoted(text: str) -> str:
    return f'"{text}"' if "'" in text else f"'{text}'"

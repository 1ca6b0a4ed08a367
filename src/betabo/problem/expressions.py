"""Constraints as text: a closed language that is parsed, checked against the space, and never run as code.

Numbers, parameters, `+ - * / // % **`, a few functions, comparisons, `and`, `or`, `not` and `in`: nothing else is read.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from betabo.problem.duals import Dual, as_dual, choose
from betabo.space import Categorical, Fixed, Space
from betabo.suggestions import did_you_mean

Truth = npt.NDArray[np.bool_]
Kind = Literal["number", "text", "truth"]

CLOSE = 1e-9
"""Numbers that differ by no more than this share of the larger one, or by this much below 1, are equal."""

_MOST_CHARACTERS = 5000
_MOST_PARTS = 2000
_UNDEFINED = 1e6  # the gap of what is not defined, such as 1 / 0
_STRICT = 1e-12  # how far `<` stays away from the bound, as a share like CLOSE

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CONSTANTS = {"pi": math.pi, "e": math.e}


@dataclass(frozen=True)
class _Function:
    """A function of one number: of a float, of an array, and its derivative from argument and value."""

    scalar: Callable[[float], float]
    array: Callable[[Any], Any]
    rate: Callable[[Any, Any], Any]

    def __call__(self, x: Any) -> Any:
        if isinstance(x, Dual):
            value = self.array(x.value)
            return x.along(value, np.asarray(self.rate(x.value, value), dtype=np.float64))
        return self.array(x) if isinstance(x, np.ndarray) else float(self.scalar(x))


def _flat(x: Any, _: Any) -> Any:
    return np.zeros_like(x)


FUNCTIONS = {
    "sqrt": _Function(math.sqrt, np.sqrt, lambda _, y: 0.5 / y),
    "exp": _Function(math.exp, np.exp, lambda _, y: y),
    "log": _Function(math.log, np.log, lambda x, _: 1 / x),
    "log2": _Function(math.log2, np.log2, lambda x, _: 1 / (x * math.log(2))),
    "log10": _Function(math.log10, np.log10, lambda x, _: 1 / (x * math.log(10))),
    "sin": _Function(math.sin, np.sin, lambda x, _: np.cos(x)),
    "cos": _Function(math.cos, np.cos, lambda x, _: -np.sin(x)),
    "tan": _Function(math.tan, np.tan, lambda _, y: 1 + y * y),
    "tanh": _Function(math.tanh, np.tanh, lambda _, y: 1 - y * y),
    "abs": _Function(abs, np.abs, lambda x, _: np.sign(x)),
    "floor": _Function(math.floor, np.floor, _flat),
    "ceil": _Function(math.ceil, np.ceil, _flat),
    "round": _Function(round, np.round, _flat),
}
"""Functions of one number, by name; `min`, `max` and `sum` take several."""

_SEVERAL = ("min", "max", "sum")


@dataclass(frozen=True)
class Expression:
    """A constraint that is written as text, such as `"x + y <= 1"`.

    Attributes:
        text: The text.
        names: The parameters in it.
    """

    text: str
    names: tuple[str, ...]
    _tree: ast.expr = field(repr=False, compare=False)

    @classmethod
    def parse(cls, text: str, space: Space) -> Expression:
        """Read a constraint on the parameters of a space.

        Raises:
            ValueError: It is not in the language, or names something else than the parameters.
        """
        if len(text) > _MOST_CHARACTERS:
            raise ValueError(f"known constraint of {len(text)} characters, expected at most {_MOST_CHARACTERS}.")
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            reason = getattr(error, "msg", None) or error
            raise ValueError(f"known constraint {text!r} cannot be read: {reason}.") from error
        if sum(1 for _ in ast.walk(tree)) > _MOST_PARTS:
            raise ValueError(f"known constraint {text[:60]!r}... has too many parts, expected at most {_MOST_PARTS}.")
        reader = _Reader(text, space)
        if reader.kind(tree) != "truth":
            raise ValueError(f"known constraint {text!r} is no comparison, expected one such as 'x + y <= 1'.")
        return cls(text.strip(), tuple(reader.used), tree)

    def holds(self, values: Mapping[str, Any]) -> Any:
        """Whether it holds: of parameters that are arrays an array, of numbers a truth value.

        Where it is not defined, as for the logarithm of a negative number, it does not hold.
        """
        with np.errstate(all="ignore"):
            return _truth(self._tree, values)[0]

    def gaps(self, values: Mapping[str, Any]) -> list[tuple[Dual, bool]]:
        """By how much each part is violated, at most 0 where it holds, with slopes.

        Args:
            values: A `Dual` for each number, an array for text.

        Returns:
            A gap for each part that has to hold, and whether it is an equation, which holds where the gap is 0; none
            where there is no number.
        """
        like = next((value for value in values.values() if isinstance(value, Dual)), None)
        if like is None:
            return []
        with np.errstate(all="ignore"):
            return [_with_kind(part, values, like) for part in _conjuncts(self._tree)]


class _Reader:
    """What the parts of a text are, and whether they are allowed."""

    def __init__(self, text: str, space: Space) -> None:
        self._text, self._space = text, space
        self.used: dict[str, None] = {}

    def kind(self, node: ast.expr) -> Kind:
        match node:
            case ast.Constant(value=bool()):
                raise self._refuse(node)
            case ast.Constant(value=int() | float() as value):
                if not math.isfinite(float(value)):
                    raise self._refuse(node)
                return "number"
            case ast.Constant(value=str()):
                return "text"
            case ast.Name(id=name):
                return self._name(name)
            case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
                return self._all([operand], "number", "number")
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._all([operand], "truth", "truth")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self._all([left, right], "number", "number")
            case ast.BoolOp(values=values):
                return self._all(values, "truth", "truth")
            case ast.Compare(left=left, ops=ops, comparators=rights):
                return self._comparison([left, *rights], ops)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if args:
                if name in _SEVERAL or (name in FUNCTIONS and len(args) == 1):
                    return self._all(args, "number", "number")
                if name not in FUNCTIONS:
                    hint = did_you_mean(name, [*FUNCTIONS, *_SEVERAL])
                    raise ValueError(
                        f"known constraint {self._text!r} has the unknown function {name}, expected "
                        f"{', '.join([*FUNCTIONS, *_SEVERAL])}.{hint}"
                    )
        raise self._refuse(node)

    def _name(self, name: str) -> Kind:
        parameter = self._space.parameters.get(name)
        if parameter is None and name in _CONSTANTS:
            return "number"
        if parameter is None:
            hint = did_you_mean(name, self._space.names)
            raise ValueError(
                f"known constraint {self._text!r} has {name}, which is no parameter; expected "
                f"{', '.join(self._space.names)}.{hint}"
            )
        self.used[name] = None
        return "text" if is_text(parameter) else "number"

    def _all(self, nodes: list[ast.expr], wanted: Kind, result: Kind) -> Kind:
        for node in nodes:
            found = self.kind(node)
            if found != wanted and not (wanted == "truth" and self._is_switch(node)):
                raise ValueError(
                    f"known constraint {self._text!r}: {ast.unparse(node)} is a {found}, expected a {wanted}."
                )
        return result

    def _is_switch(self, node: ast.expr) -> bool:
        """Whether a name is that of a choice between True and False."""
        parameter = self._space.parameters.get(node.id) if isinstance(node, ast.Name) else None
        values = parameter.choices if isinstance(parameter, Categorical) else getattr(parameter, "value", None)
        return all(isinstance(v, bool) for v in (values if isinstance(values, tuple) else (values,)))

    def _comparison(self, nodes: list[ast.expr], ops: list[ast.cmpop]) -> Kind:
        for left, op, right in zip(nodes, ops, nodes[1:], strict=False):
            if isinstance(op, ast.In | ast.NotIn):
                if not isinstance(right, ast.Tuple | ast.List | ast.Set) or not right.elts:
                    raise self._refuse(right)
                kind = self.kind(left)
                self._all(right.elts, kind, "truth")
                continue
            kinds = {self.kind(left), self.kind(right)}
            allowed = kinds == {"number"} or (kinds == {"text"} and isinstance(op, ast.Eq | ast.NotEq))
            if not allowed or not isinstance(op, (*_ORDERS, ast.Eq, ast.NotEq)):
                raise ValueError(
                    f"known constraint {self._text!r} compares {ast.unparse(left)} with {ast.unparse(right)}, expected "
                    "two numbers, or text with == or !=."
                )
        return "truth"

    def _refuse(self, node: ast.expr) -> ValueError:
        return ValueError(
            f"known constraint {self._text!r} has {ast.unparse(node)!r}, expected numbers, parameters, + - * / ** and "
            "comparisons, such as 'x + y <= 1'."
        )


def is_text(parameter: Any) -> bool:
    """Whether a parameter's values are compared as text, since not all of them are numbers."""
    values = parameter.choices if isinstance(parameter, Categorical) else ()
    values = (parameter.value,) if isinstance(parameter, Fixed) else values
    return any(not isinstance(value, bool | int | float) for value in values)


def _value(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            found = values[name] if name in values else _CONSTANTS[name]
            return float(found) if isinstance(found, bool | int) else found
        case ast.UnaryOp(op=op, operand=operand):
            return -_value(operand, values) if isinstance(op, ast.USub) else _value(operand, values)
        case ast.BinOp(left=left, op=op, right=right):
            result = _ARITHMETIC[type(op)](_value(left, values), _value(right, values))
            if isinstance(result, complex):
                raise ArithmeticError("a root of a negative number")
            return result
        case ast.Call(func=ast.Name(id=name), args=args):
            numbers = [_value(arg, values) for arg in args]
            return _of_several(name, numbers) if name in _SEVERAL else FUNCTIONS[name](numbers[0])
    raise AssertionError(ast.dump(node))  # the reader lets nothing else through


def _of_several(name: str, numbers: list[Any]) -> Any:
    total = numbers[0]
    for number in numbers[1:]:
        if name == "sum":
            total = total + number
        elif isinstance(total, Dual) or isinstance(number, Dual):
            like = total if isinstance(total, Dual) else number
            one, other = as_dual(total, like), as_dual(number, like)
            total = choose((one.value <= other.value) == (name == "min"), one, other)
        else:
            total = np.minimum(total, number) if name == "min" else np.maximum(total, number)
    return total


def _truth(node: ast.expr, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """Whether a part is true, and whether it is false; it is neither where it is not defined."""
    match node:
        case ast.BoolOp(op=op, values=parts):
            return _joined([_truth(part, values) for part in parts], every=isinstance(op, ast.And))
        case ast.UnaryOp(operand=operand):
            true, false = _truth(operand, values)
            return false, true
        case ast.Compare(left=left, ops=ops, comparators=rights):
            pairs = zip([left, *rights], ops, rights, strict=False)
            return _joined([_compare(one, op, other, values) for one, op, other in pairs], every=True)
    on = np.asarray(_value(node, values), dtype=np.float64) > 0.5  # a choice between True and False
    return on, ~on


def _joined(parts: list[tuple[Any, Any]], every: bool) -> tuple[Any, Any]:
    """Whether all parts are true, or any of them."""
    trues, falses = zip(*parts, strict=True)
    both, either = (np.logical_and, np.logical_or) if every else (np.logical_or, np.logical_and)
    return reduce(both, trues), reduce(either, falses)


def _compare(left: ast.expr, op: ast.cmpop, right: ast.expr, values: Mapping[str, Any]) -> tuple[Any, Any]:
    if isinstance(op, ast.In | ast.NotIn):
        assert isinstance(right, ast.Tuple | ast.List | ast.Set)
        true, false = _joined([_compare(left, ast.Eq(), entry, values) for entry in right.elts], every=False)
        return (true, false) if isinstance(op, ast.In) else (false, true)
    try:
        one, other = _value(left, values), _value(right, values)
    except (ArithmeticError, ValueError):
        return False, False
    if isinstance(op, ast.Eq | ast.NotEq):
        same = _same(one, other)
        holds = same if isinstance(op, ast.Eq) else np.logical_not(same)
    else:
        compare = {ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge}[type(op)]
        holds = compare(one, other)
    defined = np.logical_and(_is_defined(one), _is_defined(other))
    return np.logical_and(defined, holds), np.logical_and(defined, np.logical_not(holds))


def _is_defined(number: Any) -> Any:
    is_number = isinstance(number, float) or (isinstance(number, np.ndarray) and number.dtype.kind == "f")
    return np.isfinite(number) if is_number else True


def _same(one: Any, other: Any) -> Any:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if np.asarray(one).dtype.kind not in "fiub" or np.asarray(other).dtype.kind not in "fiub":
        return np.asarray(one == other)
    return abs(one - other) <= CLOSE * np.maximum(1.0, np.maximum(abs(one), abs(other)))


def _conjuncts(node: ast.expr, negated: bool = False) -> list[tuple[ast.expr, bool]]:
    """The parts that have to hold, each perhaps negated."""
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _conjuncts(operand, not negated)
        case ast.BoolOp(op=op, values=parts) if isinstance(op, ast.Or) == negated:
            return [piece for part in parts for piece in _conjuncts(part, negated)]
        case ast.Compare(left=left, ops=ops, comparators=rights) if len(ops) > 1 and not negated:
            pairs = zip([left, *rights], ops, rights, strict=False)
            return [(ast.Compare(one, [op], [other]), False) for one, op, other in pairs]
    return [(node, negated)]


def _with_kind(part: tuple[ast.expr, bool], values: Mapping[str, Any], like: Dual) -> tuple[Dual, bool]:
    node, negated = part
    if isinstance(node, ast.Compare) and not negated and isinstance(node.ops[0], ast.Eq):
        one, other = _sides(node, values)
        if isinstance(one, Dual) or isinstance(other, Dual):
            return _defined(as_dual(one, like) - other), True
    return _gap(node, negated, values, like), False


def _gap(node: ast.expr, negated: bool, values: Mapping[str, Any], like: Dual) -> Dual:
    """At most 0 where a part holds."""
    parts = _conjuncts(node, negated)
    if len(parts) > 1:
        return _extreme([_gap(*part, values, like) for part in parts], largest=True)
    ((node, negated),) = parts
    if isinstance(node, ast.BoolOp):  # one that is joined by "or", once negations are seen to
        return _extreme([_gap(part, negated, values, like) for part in node.values], largest=False)
    if isinstance(node, ast.Compare) and len(node.ops) > 1:  # negated: some part of the chain fails
        pairs = zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
        pieces: list[ast.expr] = [ast.Compare(one, [op], [other]) for one, op, other in pairs]
        return _extreme([_gap(piece, True, values, like) for piece in pieces], largest=False)
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (*_ORDERS, ast.Eq, ast.NotEq)):
        one, other = _sides(node, values)
        if isinstance(one, Dual) or isinstance(other, Dual):
            return _defined(_gap_of_numbers(as_dual(one, like), node.ops[0], as_dual(other, like), negated))
    plain = {name: value.value if isinstance(value, Dual) else value for name, value in values.items()}
    return as_dual(np.where(_truth(node, plain)[negated], 0.0, 1.0), like)


def _sides(node: ast.Compare, values: Mapping[str, Any]) -> tuple[Any, Any]:
    """The sides of a comparison; not numbers where they are not defined, as 1 / 0 is."""
    try:
        return _value(node.left, values), _value(node.comparators[0], values)
    except (ArithmeticError, ValueError):
        return math.nan, math.nan


def _defined(gap: Dual) -> Dual:
    """A gap that is large where it is not defined."""
    wrong = ~np.isfinite(gap.value)
    return choose(wrong, as_dual(_UNDEFINED, gap), gap) if wrong.any() else gap


def _gap_of_numbers(one: Dual, op: ast.cmpop, other: Dual, negated: bool) -> Dual:
    difference = one - other
    scale = np.maximum(1.0, np.maximum(abs(one.value), abs(other.value)))
    if isinstance(op, ast.Eq | ast.NotEq):
        away = abs(difference) - 0.5 * CLOSE * scale
        return away if isinstance(op, ast.Eq) != negated else -away + CLOSE * scale
    gap = difference if isinstance(op, ast.Lt | ast.LtE) != negated else -difference
    return gap + _STRICT * scale if isinstance(op, ast.Lt | ast.Gt) != negated else gap


def _extreme(gaps: list[Dual], largest: bool) -> Dual:
    result = gaps[0]
    for gap in gaps[1:]:
        result = choose((gap.value > result.value) == largest, gap, result)
    return result

"""How a function takes the parameters of a trial: by name, or all of them as one dict.

What can be seen in the text of a file is seen there, so that a wrong signature is refused before anything is imported.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from betabo.studies.errors import ObjectiveError

_WHOLE = (
    *("args", "candidate", "cfg", "conf", "config", "configuration", "d", "hparams", "hyperparameters", "hyperparams"),
    *("kwargs", "options", "opts", "p", "parameterization", "parameters", "params", "point", "settings", "trial"),
    "values",
)
"""What an argument is called that stands for all parameters."""

_NUMBERS = ("bool", "complex", "float", "int", "str")


def signature_of(function: Callable[..., Any]) -> inspect.Signature | None:
    """The signature of a function; None for one of an extension module that does not tell."""
    try:
        return inspect.signature(function)
    except (TypeError, ValueError):
        return None


def written_signature(path: Path, name: str, target: str) -> inspect.Signature | None:
    """The signature of a function as the text of its file has it, without importing the file.

    Args:
        path: The file.
        name: The function's name.
        target: How the user calls it, for messages.

    Returns:
        None where the text alone does not tell, as with a decorator or a name that is imported.

    Raises:
        ObjectiveError: The file has no such name.
    """
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, SyntaxError, ValueError):
        return None  # importing it says more
    found: ast.stmt | None = None
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == name:
            found = statement
        elif not isinstance(statement, ast.FunctionDef | ast.Expr) and name in _bound(statement):
            return None
    if isinstance(found, ast.FunctionDef):
        return None if found.decorator_list else _from_text(found.args)
    if not _tells_all_names(tree):
        return None
    functions = [statement.name for statement in tree.body if isinstance(statement, ast.FunctionDef)]
    hint = f"; it has {', '.join(functions)}" if functions else ""
    raise ObjectiveError(f"{target.rpartition(':')[0]} has no function {name}{hint}.")


def takes_by_name(signature: inspect.Signature | None, names: Sequence[str], target: str) -> bool:
    """Whether the parameters go in by name, rather than as one dict.

    Args:
        signature: That of the function, None if it is not known.
        names: The parameters.
        target: What the function is called, for messages.

    Raises:
        ObjectiveError: The function takes them in neither way.
    """
    if signature is None:
        return True
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as error:
        if _takes_dict(signature, names):
            return False
        raise ObjectiveError(_refusal(signature, names, target, error)) from error
    return True


def _takes_dict(signature: inspect.Signature, names: Sequence[str]) -> bool:
    """Whether a function can be called with one argument that stands for all parameters."""
    try:
        signature.bind({})
    except TypeError:
        return False
    first = next(iter(signature.parameters.values()))
    if first.kind is first.VAR_POSITIONAL:
        return True
    if first.name in names or _annotation(first) in _NUMBERS:
        return False
    # Of a single parameter, an argument by another name is a slip more often than a dict.
    unsaid = first.annotation is first.empty and first.kind is not first.POSITIONAL_ONLY
    return not (unsaid and len(names) == 1 and first.name not in _WHOLE)


def _refusal(signature: inspect.Signature, names: Sequence[str], target: str, error: TypeError) -> str:
    """What the function takes and what the space has."""
    taken = [p.name for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    name = target.rpartition(":")[2] or target
    takes = f"{name} takes {', '.join(taken) or 'nothing'}, the space has {', '.join(names)}"
    text = f"{target}{signature} cannot be called with the parameters {', '.join(names)}: {takes} ({error}). "
    text += "Name the parameters as the arguments"
    if len(taken) == 1 and taken[0] not in names:
        text += f", or write {taken[0]}: dict for one that gets all of them"
    return text + "."


def _annotation(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")


def _bound(statement: ast.stmt) -> set[str]:
    """The names that a statement may bind."""
    names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(statement):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
    return names


def _tells_all_names(tree: ast.Module) -> bool:
    """Whether no name of a module can come from elsewhere than its text."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Global) or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__"):
            return False
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return False
        if isinstance(node, ast.Name) and node.id in ("eval", "exec", "globals", "locals", "setattr", "sys", "vars"):
            return False
    return True


def _from_text(arguments: ast.arguments) -> inspect.Signature:
    """The signature that a definition has."""
    kind = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    without = len(positional) - len(arguments.defaults)
    defaults = [None] * without + list(arguments.defaults)
    parameters = [
        _parameter(argument, kind.POSITIONAL_ONLY if i < len(arguments.posonlyargs) else kind.POSITIONAL_OR_KEYWORD, d)
        for i, (argument, d) in enumerate(zip(positional, defaults, strict=True))
    ]
    if arguments.vararg is not None:
        parameters.append(_parameter(arguments.vararg, kind.VAR_POSITIONAL, None))
    parameters += [
        _parameter(argument, kind.KEYWORD_ONLY, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg is not None:
        parameters.append(_parameter(arguments.kwarg, kind.VAR_KEYWORD, None))
    return inspect.Signature(parameters)


class _Text:
    """A default value as it is written."""

    def __init__(self, node: ast.expr) -> None:
        self._node = node

    def __repr__(self) -> str:
        return ast.unparse(self._node)


def _parameter(argument: ast.arg, kind: Any, default: ast.expr | None) -> inspect.Parameter:
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        argument.arg,
        kind,
        default=empty if default is None else _Text(default),
        annotation=empty if argument.annotation is None else ast.unparse(argument.annotation),
    )

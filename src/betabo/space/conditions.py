"""Parameters that exist only under a choice: `when={"model": "svm"}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from betabo.space.checks import Array
from betabo.suggestions import did_you_mean

if TYPE_CHECKING:
    from betabo.space.parameters import Parameter

Conditions: TypeAlias = tuple[tuple[str, tuple[Any, ...]], ...]
"""Names of choices with those of their values under which a parameter exists; all have to hold."""

ConditionsLike: TypeAlias = Mapping[str, Any] | Conditions | None
"""`{"model": "svm"}`, or several values as in `{"model": ["svm", "knn"]}`."""


def as_conditions(when: ConditionsLike) -> Conditions:
    """The conditions in one form.

    Raises:
        TypeError: It is none of what `ConditionsLike` says.
        ValueError: A name comes without a value.
    """
    if when is None:
        return ()
    if isinstance(when, tuple) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in when):
        when = dict(when)
    if not isinstance(when, Mapping):
        raise TypeError(f"when is {when!r}, expected a dict such as {{'model': 'svm'}}.")
    found = []
    for name, values in when.items():
        several = tuple(values) if isinstance(values, Sequence) and not isinstance(values, str) else (values,)
        if not isinstance(name, str) or not several:
            raise ValueError(
                f"when has {name!r}: {values!r}, expected the name of a choice and one or more of its values."
            )
        found.append((name, several))
    return tuple(found)


class Activity:
    """Which parameters of a space exist at a point.

    Args:
        parameters: All parameters by name, those on which others depend first.
        slices: The coordinates of each.

    Raises:
        ValueError: A condition names what is no choice before it, or a value that the choice does not have.
    """

    def __init__(self, parameters: Mapping[str, Parameter], slices: Mapping[str, slice]) -> None:
        self._parameters, self._slices = parameters, slices
        self.conditional = {name: conditions for name, p in parameters.items() if (conditions := _conditions_of(p))}
        names = list(parameters)
        for name, conditions in self.conditional.items():
            for other, values in conditions:
                choices = getattr(parameters.get(other), "choices", None)
                if choices is None or names.index(other) >= names.index(name):
                    before = [n for n in names[: names.index(name)] if hasattr(parameters[n], "choices")]
                    raise ValueError(
                        f"{name} exists when {other!r} is {values[0]!r}, expected the name of a Categorical before it: "
                        f"{', '.join(map(repr, before)) or 'there is none'}.{did_you_mean(other, before)}"
                    )
                for value in values:
                    if value not in choices:
                        raise ValueError(
                            f"{name} exists when {other!r} is {value!r}, expected one of its choices "
                            f"{', '.join(map(repr, choices))}."
                        )

    def names_at(self, values: Mapping[str, Any]) -> list[str]:
        """The parameters that exist at a point, of which the choices that others depend on are given."""
        found: list[str] = []
        for name in self._parameters:
            conditions = self.conditional.get(name, ())
            if all(other in found and values.get(other) in allowed for other, allowed in conditions):
                found.append(name)
        return found

    def settle(self, points: Array) -> Array:
        """Snapped points, `n x dims`, with the coordinates of what does not exist at rest."""
        settled = points.copy()
        for name, here in self.exists(points).items():
            settled[~here, self._slices[name]] = self.rest(self._parameters[name])
        return settled

    def exists(self, points: Array) -> dict[str, npt.NDArray[np.bool_]]:
        """At which of many snapped points, `n x dims`, each parameter exists."""
        found: dict[str, npt.NDArray[np.bool_]] = {}
        for name in self._parameters:
            here = np.ones(len(points), dtype=bool)
            for other, allowed in self.conditional.get(name, ()):
                parent = self._parameters[other]
                choices: tuple[Any, ...] = parent.choices  # type: ignore[attr-defined]
                chosen = points[:, self._slices[other]].argmax(axis=1)
                here &= found[other] & np.isin(chosen, [choices.index(value) for value in allowed])
            found[name] = here
        return found

    def rest(self, parameter: Parameter) -> Array:
        """Coordinates of a parameter where it does not exist: in the middle, where all such points are alike."""
        return np.full(parameter.width, 1 / parameter.width if hasattr(parameter, "choices") else 0.5)


def _conditions_of(parameter: Parameter) -> Conditions:
    return getattr(parameter, "when", ())

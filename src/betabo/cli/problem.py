"""The problem that options, or a file, describe."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from betabo.problem import Problem
    from betabo.problem.file import ProblemFile
    from betabo.space import Space

SPACE_PANEL = "Space"
PROBLEM_PANEL = "Problem"

ProblemPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--problem",
        metavar="FILE.toml",
        help="The whole problem in a file: parameters, objectives, constraints, and what to call.",
        rich_help_panel=PROBLEM_PANEL,
    ),
]
Objectives: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--objective",
        metavar="NAME=minimize|maximize",
        help="A named objective; give one for each. The function returns a dict, or the program prints JSON.",
        rich_help_panel=PROBLEM_PANEL,
    ),
]
Constraints: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--constraint",
        metavar="TEXT",
        help="A limit of something that is measured: 'temperature <= 80', 'mass = 20..80'.",
        rich_help_panel=PROBLEM_PANEL,
    ),
]
Known: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        metavar="TEXT",
        help="A constraint on the parameters: 'x + y <= 1', 'simplex(a, b, c)', 'at_most(2, a, b, c)'.",
        rich_help_panel=PROBLEM_PANEL,
    ),
]
Enqueue: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--enqueue", metavar="POINT", help="A point to try first: lr=0.01,layers=3.", rich_help_panel=PROBLEM_PANEL
    ),
]
From: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="STUDY|FILE",
        help="Learn from an earlier study of this storage, or from a table, where they fit the space.",
        rich_help_panel=PROBLEM_PANEL,
    ),
]


@dataclass(frozen=True)
class ProblemOptions:
    """What the options say of a problem."""

    file: Path | None
    parameters: list[str] | None
    space: Path | None
    maximize: bool
    directions: list[str] | None
    objectives: list[str] | None
    constraints: list[str] | None
    known: list[str] | None
    enqueue: list[str] | None
    source: str | None

    def read(self, storage: str) -> ProblemFile:
        """The problem with what is to be called, if a file says that.

        Raises:
            ValueError: Options contradict each other, or something cannot be read.
        """
        from betabo.problem.file import ProblemFile, read_problem

        if self.file is None:
            found = ProblemFile(self._from_options(self._space()))
        else:
            self._check_alone()
            found = read_problem(self.file)
        return replace(found, problem=self._with_points(found.problem, storage))

    def _check_alone(self) -> None:
        from betabo.studies import StudyError

        given = {
            "--param": self.parameters,
            "--space": self.space,
            "--maximize": self.maximize,
            "--direction": self.directions,
            "--objective": self.objectives,
            "--constraint": self.constraints,
            "--known": self.known,
        }
        twice = [name for name, value in given.items() if value]
        if twice:
            raise StudyError(f"both --problem and {twice[0]} are given; put everything into the file.")

    def _space(self) -> Space:
        from betabo.studies import StudyError, parse_parameters, space_from_toml

        if self.parameters and self.space is not None:
            raise StudyError("both --param and --space are given; expected one of them.")
        if self.space is not None:
            return space_from_toml(self.space)
        if not self.parameters:
            raise StudyError(
                "no parameters; give each with --param, such as --param lr=1e-5..1e-1:log, or all with --space or "
                "--problem."
            )
        return parse_parameters(self.parameters)

    def _from_options(self, space: Space) -> Problem:
        from betabo.problem import Problem

        return Problem(space, objectives=self._objectives(), constraints=self.constraints or (), known=self.known or ())

    def _objectives(self) -> Any:
        from betabo.problem import VALUE
        from betabo.studies import StudyError

        given = {"--maximize": self.maximize, "--direction": self.directions, "--objective": self.objectives}
        named = [name for name, value in given.items() if value]
        if len(named) > 1:
            raise StudyError(f"both {named[0]} and {named[1]} are given; expected one of them.")
        if self.objectives:
            return _named(self.objectives)
        directions = self.directions or ["maximize" if self.maximize else "minimize"]
        if len(directions) == 1:
            return {VALUE: directions[0]}
        return {f"{VALUE}_{index}": direction for index, direction in enumerate(directions)}

    def _with_points(self, problem: Problem, storage: str) -> Problem:
        """The problem with the points that options name beside its own."""
        from betabo.problem import Problem
        from betabo.space.text import parse_point

        if not self.enqueue and self.source is None:
            return problem
        return Problem(
            problem.space,
            objectives=problem.objectives,
            constraints=problem.constraints,
            known=problem.known,
            initial=[*problem.initial, *(parse_point(text, problem.space) for text in self.enqueue or ())],
            **self._results(problem, storage),
        )

    def _results(self, problem: Problem, storage: str) -> dict[str, Any]:
        """The results that are known: those of a table are of this problem, those of a study of an earlier one."""
        results = {"known_points": problem.known_points, "earlier": problem.earlier}
        if self.source is None:
            return results
        if _is_table(self.source):
            return {**results, "known_points": self.source}
        from betabo.studies import load_study
        from betabo.studies.beginning import points_of_study

        return {**results, "earlier": points_of_study(load_study(self.source, storage), problem)}


def _is_table(source: str) -> bool:
    return Path(source).suffix.lower() in (".csv", ".parquet", ".json") and Path(source).exists()


def _named(texts: Iterable[str]) -> dict[str, str]:
    from betabo.studies import StudyError

    objectives: dict[str, str] = {}
    for text in texts:
        name, equals, direction = (part.strip() for part in text.partition("="))
        if not equals or not name or name in objectives:
            raise StudyError(f"--objective is {text!r}, expected each name once, as in loss=minimize.")
        objectives[name] = direction
    return objectives

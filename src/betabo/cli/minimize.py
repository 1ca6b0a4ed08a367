"""`betabo minimize`: search, with everything stored as it happens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betabo.cli import names
from betabo.cli.consent import consent
from betabo.cli.errors import user_errors, warn
from betabo.cli.options import (
    DEFAULT_LOGS,
    DEFAULT_STORAGE,
    SEARCH_PANEL,
    AsJson,
    KernelName,
    Logs,
    Plain,
    Quiet,
    StopRules,
    Storage,
    Target,
    Timeout,
    Workers,
    Yes,
    acquisition_option,
    at_least_one,
    starting_points_option,
    storage_option,
    study_option,
    trials_option,
)

if TYPE_CHECKING:
    from betabo.optimizer import Config
    from betabo.space import Space
    from betabo.studies import Objective

_OBJECTIVE = "Objective"
_SPACE = "Space"


@user_errors
def minimize(
    context: typer.Context,
    function: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE.py:FUNCTION",
            help="The objective: a function in a file or in a module (package.module:function).",
            show_default=False,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="A program in place of a function, with {name} where a parameter goes.",
            rich_help_panel=_OBJECTIVE,
        ),
    ] = None,
    result: Annotated[
        str,
        typer.Option(
            metavar="last-line|FILE.json",
            help="Where the program leaves its value: its last line of output, or a JSON file in its trial's folder.",
            rich_help_panel=_OBJECTIVE,
        ),
    ] = "last-line",
    trial_timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Longest time of one trial.", rich_help_panel=_OBJECTIVE),
    ] = None,
    maximize: Annotated[
        bool, typer.Option("--maximize", help="Look for the largest value.", rich_help_panel=_OBJECTIVE)
    ] = False,
    direction: Annotated[
        list[str] | None,
        typer.Option(
            metavar="minimize|maximize",
            help="Direction of an objective; give one for each if there are several.",
            rich_help_panel=_OBJECTIVE,
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=RANGE",
            help="A parameter: lr=1e-5..1e-1:log, layers=1..8:int, 'act=relu|gelu', x=0..1:step=0.1, seed=7.",
            rich_help_panel=_SPACE,
        ),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="All parameters in a file, in its table [parameters].",
            rich_help_panel=_SPACE,
        ),
    ] = None,
    trials: Annotated[int, trials_option(callback=at_least_one)] = 50,
    timeout: Timeout = None,
    target: Target = None,
    stop: StopRules = None,
    study: Annotated[str | None, study_option("from the objective")] = None,
    storage: Storage = DEFAULT_STORAGE,
    workers: Workers = 1,
    logs: Logs = DEFAULT_LOGS,
    kernel: KernelName = None,
    acquisition: Annotated[str | None, acquisition_option("log_ei")] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="unknown|none|VARIANCE",
            help="Noise of the objective.",
            show_default="unknown",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    starting_points: Annotated[int | None, starting_points_option("twice the dimension, 5 to 60")] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of the search.", rich_help_panel=SEARCH_PANEL)
    ] = None,
    quiet: Quiet = False,
    plain: Plain = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Minimize a function or the result of a program, and store every trial as it happens.

    The same command again goes on where it stopped, also after a crash; --trials is the total. Ctrl-C stops after the
    running trials, a second one at once. --timeout, --target and --stop end a run sooner.

    Example: betabo minimize train.py:objective --param lr=1e-5..1e-1:log --param layers=1..8:int --trials 50

    Example: betabo minimize --command "python train.py --lr {lr}" --param lr=1e-5..1e-1:log --workers 4
    """
    from betabo.cli.loading import loading

    quiet = quiet or as_json
    with loading(shown=not quiet):
        from betabo.cli.run import ProgressStyle, StudyRun
        from betabo.studies import Plan, as_stopping, open_study

        name = study or _study_name(function, command)
        plan = Plan(
            study=name,
            storage=storage,
            space=_space(param, space),
            objective=_objective(function, command, result, trial_timeout),
            trials=trials,
            directions=_directions(maximize, direction),
            config=_config(kernel, acquisition, noise, starting_points, direction),
            seed=seed,
            logs=logs,
        )
        stopping = as_stopping(timeout, target, stop, plan.directions)
        opened = open_study(plan, on_warning=warn, confirm=consent(yes))
    run = StudyRun(plan, opened, workers, ProgressStyle.choose(quiet=quiet, plain=plain), stopping)
    outcome = run.to_the_end()
    if as_json:
        run.print_json()
    else:
        run.summarize(storage_option=storage_option(context, storage))
    outcome.exit_unless_complete()


def _study_name(function: str | None, command: str | None) -> str:
    if command is not None:
        return names.study_of_command(command)
    return names.study_of_function(function or "")


def _objective(function: str | None, command: str | None, result: str, timeout: float | None) -> Objective:
    from betabo.studies import CommandObjective, FunctionObjective, StudyError

    if function is not None and command is not None:
        raise StudyError(f"both the objective {function!r} and --command are given; expected one of them.")
    if command is not None:
        return CommandObjective(command, result=result, timeout=timeout)
    if function is None:
        raise StudyError("nothing to minimize; give FILE.py:FUNCTION, or a program with --command.")
    if result != "last-line":
        raise StudyError(f"--result {result} is for --command; a function returns its value.")
    return FunctionObjective(function, timeout=timeout)


def _space(parameters: list[str] | None, path: Path | None) -> Space:
    from betabo.studies import StudyError, parse_parameters, space_from_toml

    if parameters and path is not None:
        raise StudyError("both --param and --space are given; expected one of them.")
    if path is not None:
        return space_from_toml(path)
    if not parameters:
        raise StudyError(
            "no parameters; give each with --param, such as --param lr=1e-5..1e-1:log, or all with --space."
        )
    return parse_parameters(parameters)


def _directions(maximize: bool, directions: list[str] | None) -> tuple[str, ...]:
    from betabo.studies import StudyError

    if maximize and directions:
        raise StudyError("both --maximize and --direction are given; expected one of them.")
    return tuple(directions) if directions else ("maximize" if maximize else "minimize",)


def _config(
    kernel: str | None,
    acquisition: str | None,
    noise: str | None,
    starting_points: int | None,
    directions: list[str] | None,
) -> Config:
    from betabo.optimizer import Config
    from betabo.studies import StudyError

    if acquisition is not None and len(directions or ()) > 1:
        raise StudyError(
            f"--acquisition is {acquisition!r} with {len(directions or ())} objectives, which have one of their own; "
            "leave it out."
        )
    given: dict[str, Any] = {
        "kernel": kernel,
        "acquisition": acquisition,
        "noise": None if noise is None else _noise(noise),
        "starting_points": starting_points,
    }
    return Config(**{name: value for name, value in given.items() if value is not None})


def _noise(text: str) -> str | float:
    try:
        return float(text)
    except ValueError:
        return text

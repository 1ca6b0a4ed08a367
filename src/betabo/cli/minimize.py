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
from betabo.cli.problem import (
    SPACE_PANEL,
    Constraints,
    Enqueue,
    From,
    Known,
    Objectives,
    ProblemOptions,
    ProblemPath,
)

if TYPE_CHECKING:
    from betabo.optimizer import Config
    from betabo.studies import Objective

_OBJECTIVE = "Objective"


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
            help="A parameter: lr=1e-5..1e-1:log, layers=1..8:int, 'act=relu|gelu', x=0..1:step=0.1, "
            "u=0..1:profile=20, seed=7.",
            rich_help_panel=SPACE_PANEL,
        ),
    ] = None,
    space: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="All parameters in a file, in its table [parameters].",
            rich_help_panel=SPACE_PANEL,
        ),
    ] = None,
    problem: ProblemPath = None,
    objective: Objectives = None,
    constraint: Constraints = None,
    known: Known = None,
    enqueue: Enqueue = None,
    source: From = None,
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

    Example: betabo minimize --problem mixture.toml --trials 40

    Example: betabo minimize --command "python train.py --lr {lr}" --param lr=1e-5..1e-1:log --workers 4
    """
    from betabo.cli.loading import loading

    quiet = quiet or as_json
    with loading(shown=not quiet):
        from betabo.cli.run import ProgressStyle, StudyRun
        from betabo.studies import Plan, as_stopping, open_study

        found = ProblemOptions(
            problem, param, space, maximize, direction, objective, constraint, known, enqueue, source
        ).read(storage)
        if function is None and command is None:
            function, command = found.objective or None, found.command or None
            result = found.result or result
        plan = Plan(
            study=study or _study_name(function, command),
            storage=storage,
            space=found.problem.space,
            problem=found.problem,
            objective=_objective(function, command, result, trial_timeout),
            trials=trials,
            config=_config(kernel, acquisition, noise, starting_points, len(found.problem.objectives)),
            seed=seed,
            logs=logs,
        )
        stopping = as_stopping(timeout, target, stop, plan.directions)
        opened = open_study(plan, on_warning=warn, confirm=consent(yes), proposes=False)
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


def _config(
    kernel: str | None,
    acquisition: str | None,
    noise: str | None,
    starting_points: int | None,
    objectives: int,
) -> Config:
    from betabo.optimizer.config import Config
    from betabo.studies import StudyError

    if acquisition is not None and objectives > 1:
        raise StudyError(
            f"--acquisition is {acquisition!r} with {objectives} objectives, which have one of their own; leave it out."
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

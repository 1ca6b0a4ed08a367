"""`betabo compress`: search the rank of each layer of a model, and store the best compressed model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from betabo.cli.compress_by_size import ONLY_GUESSES, Goal, SizeOptions, compress_by_size, pick_from_front
from betabo.cli.errors import FAILURE, fail, user_errors, warn
from betabo.cli.options import (
    DEFAULT_LOGS,
    DEFAULT_STORAGE,
    SEARCH_PANEL,
    KernelName,
    Logs,
    Plain,
    Quiet,
    Storage,
    Workers,
    acquisition_option,
    starting_points_option,
    storage_option,
    study_option,
    trials_option,
)
from betabo.compress.settings import ACQUISITION, EXAMPLES, CompressionSettings, Device, Group, Start

if TYPE_CHECKING:
    from betabo.compress.presets import Preset

DEFAULTS = CompressionSettings(model="", task="")
"""What is not said, for the help; a preset may say other."""

_WHAT = "What is compressed"
_HOW = "How"
_GOAL = "Goal"

Protocol: TypeAlias = Literal["paper", "sensitivity"]


@user_errors
def compress(
    context: typer.Context,
    preset: Annotated[
        str | None,
        typer.Argument(metavar="PRESET", help="A preset, see --list; options override it.", show_default=False),
    ] = None,
    preset_option: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help="The same as an option.", rich_help_panel=_WHAT)
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the presets.", rich_help_panel=_WHAT)] = False,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|NAME", help="A Hugging Face model: a local folder or a name.", rich_help_panel=_WHAT
        ),
    ] = None,
    task: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What it does: mrpc, rte, squad, cifar10, ...", rich_help_panel=_WHAT),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|FILE|NAME",
            help="The examples: files such as train.csv and dev.csv, or a dataset on the hub.",
            show_default="the task's own on the hub",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    max_train: Annotated[
        int | None, typer.Option(metavar="N", help="Most examples to train on.", rich_help_panel=_WHAT)
    ] = None,
    max_validation: Annotated[
        int | None, typer.Option(metavar="N", help="Most examples to judge a trial by.", rich_help_panel=_WHAT)
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(metavar="N", help="Most tokens of a text.", show_default="the task's own", rich_help_panel=_WHAT),
    ] = None,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the compressed model.", rich_help_panel=_WHAT)
    ] = Path("compressed"),
    group: Annotated[
        Group | None,
        typer.Option(help="A coordinate for each layer or block.", show_default=DEFAULTS.group, rich_help_panel=_HOW),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(
            metavar="W",
            help="The value is W x size + error.",
            show_default=f"{DEFAULTS.weight:g}",
            rich_help_panel=_HOW,
        ),
    ] = None,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            help="Reach a goal by sensitivities, or search as the paper does.",
            show_default="by the other options",
            rich_help_panel=_GOAL,
        ),
    ] = None,
    target_size: Annotated[
        float | None,
        typer.Option(metavar="S", help="Share of the layers' parameters that is left.", rich_help_panel=_GOAL),
    ] = None,
    max_drop: Annotated[
        str | None,
        typer.Option(
            metavar="D", help="The smallest that loses at most D of the metric: 1% or 0.01.", rich_help_panel=_GOAL
        ),
    ] = None,
    max_latency: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="What loses least in at most this share of the original's time.", rich_help_panel=_GOAL
        ),
    ] = None,
    front: Annotated[
        bool, typer.Option("--front", help="Ten sizes at once, to pick one later.", rich_help_panel=_GOAL)
    ] = False,
    pick: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Store the model of --target-size from the front in DIR.", rich_help_panel=_GOAL
        ),
    ] = None,
    int8: Annotated[
        bool, typer.Option("--int8", help="Weights of eight bits on top of a goal.", rich_help_panel=_GOAL)
    ] = False,
    examples: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training examples to decompose layers for, and to measure on.",
            show_default=str(EXAMPLES),
            rich_help_panel=_GOAL,
        ),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Size and error as two objectives.", rich_help_panel=_HOW)
    ] = False,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Rows that each layer keeps beside its low-rank part.",
            show_default=f"{DEFAULTS.pruning.keep:g}, 0 with a goal",
            rich_help_panel=_HOW,
        ),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="LOW..HIGH",
            help="Range of the ratios, see above.",
            show_default="{}..{}".format(*DEFAULTS.bounds),
            rich_help_panel=_HOW,
        ),
    ] = None,
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training steps of a trial, or after compression with a goal.",
            show_default=f"{DEFAULTS.training.steps}, 0 with a goal",
            rich_help_panel=_HOW,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Examples in a step.", show_default=str(DEFAULTS.training.batch), rich_help_panel=_HOW
        ),
    ] = None,
    rate: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Learning rate.", show_default=f"{DEFAULTS.training.rate:g}", rich_help_panel=_HOW
        ),
    ] = None,
    dense_steps: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Training steps of the original before it is compressed.",
            show_default="three epochs if its head is new, else none",
            rich_help_panel=_HOW,
        ),
    ] = None,
    graph: Annotated[
        bool | None,
        typer.Option(
            "--graph/--no-graph",
            help="Record training steps as CUDA graphs on a GPU.",
            show_default="graph",
            rich_help_panel=_HOW,
        ),
    ] = None,
    device: Annotated[
        Device | None, typer.Option(help="Where to compute.", show_default=DEFAULTS.device, rich_help_panel=_HOW)
    ] = None,
    trials: Annotated[
        int | None, trials_option(show_default=f"{DEFAULTS.trials}; with a goal 0, and designs that are compared")
    ] = None,
    study: Annotated[str | None, study_option("from the model and the task")] = None,
    storage: Storage = DEFAULT_STORAGE,
    workers: Workers = 1,
    logs: Logs = DEFAULT_LOGS,
    kernel: KernelName = None,
    acquisition: Annotated[str | None, acquisition_option(ACQUISITION)] = None,
    starting_points: Annotated[int | None, starting_points_option(str(DEFAULTS.starting_points))] = None,
    start: Annotated[
        Start | None,
        typer.Option(
            help="What they are: Sobol points, or the same ratio in all layers, from the lowest to the highest.",
            show_default=DEFAULTS.start,
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Seed of the search, the examples, the training.",
            show_default=str(DEFAULTS.seed),
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    quiet: Quiet = False,
    plain: Plain = False,
) -> None:
    """Compress a transformer to a size, a drop of the metric or a latency, or search as the paper does.

    Layers are decomposed for what comes out of them, and the size is spent where it costs least, by forward passes that
    tell what each layer is worth: minutes on a CPU for a small encoder. --steps trains afterwards, 0 by default, and
    --trials searches from there for a better use of the same size.

    Example: betabo compress --model ./my-bert --task mrpc --data glue/ --target-size 0.3

    Example: betabo compress --model ./my-bert --task mrpc --data glue/ --max-drop 1% --int8

    The paper's protocol searches a ratio for each layer, the parameters of its low-rank part as a share of what it had.
    A trial compresses the model, trains it for a short while and judges it; its value is the share of size that is left
    plus the error. The search is a study, stored as it happens: the same command again goes on where it stopped.

    Example: betabo compress --protocol paper --model ./my-bert --task mrpc --data glue/ --trials 35 --kernel beta

    Example: betabo compress minilm-mrpc --model ./minilm --data glue/ --pareto --workers 2

    Example: betabo compress --list
    """
    from betabo.cli.compress_tables import print_front, print_prepared, print_presets, print_summary
    from betabo.cli.loading import loading
    from betabo.cli.tables import console

    screen = console()
    if show_list:
        print_presets(screen)
        return

    goal = Goal(target_size, _share("--max-drop", max_drop), max_latency, front, pick)
    chosen = {"--kernel": kernel, "--acquisition": acquisition, "--start": start, "--weight": weight}
    chosen |= {"--starting-points": starting_points, "--study": study, "--pareto": pareto or None}
    search = [name for name, value in chosen.items() if value is not None]
    if goal.given or protocol == "sensitivity":
        goal.check(protocol, search)
    elif int8 or examples is not None:
        option = "--int8" if int8 else "--examples"
        raise ValueError(f"{option} is without a goal; give one, such as --target-size 0.5.")
    elif protocol is None and preset is None and preset_option is None and trials is None and not search and model:
        raise ValueError(
            "there is no goal; give --target-size 0.5, --max-drop 1%, --max-latency 0.6 or --front, or --protocol "
            "paper to search as the paper does."
        )
    if examples is not None and examples < 1:
        raise ValueError(f"--examples is {examples}, expected at least 1.")
    options = SizeOptions(
        steps=steps or 0, keep=keep or 0.0, int8=int8, search=trials or 0, examples=examples or EXAMPLES
    )
    with loading(shown=not quiet):
        from betabo.cli.run import ProgressStyle, StudyRun
        from betabo.compress.session import CompressionSession

        if pick is not None and target_size is not None:
            pick_from_front(pick, target_size, out, int8=int8, quiet=quiet)
            return
        settings = _settings(
            _preset(preset, preset_option),
            {
                "model": model,
                "task": task,
                "data": data,
                "max_train": max_train,
                "max_validation": max_validation,
                "max_length": max_length,
                "group": group,
                "weight": weight,
                "pareto": pareto or None,
                "bounds": None if bounds is None else _bounds(bounds),
                "dense_steps": dense_steps,
                "device": device,
                "trials": trials,
                "kernel": kernel,
                "acquisition": acquisition,
                "starting_points": starting_points,
                "start": start,
                "seed": seed,
            },
            training={"steps": steps, "batch": batch, "rate": rate, "graph": graph},
            pruning={"keep": keep},
        )

        def say(line: str) -> None:
            if not quiet:
                screen.print(line, soft_wrap=True)

        session = CompressionSession(
            settings,
            out,
            study=study,
            storage=storage,
            logs=logs,
            on_stage=say,
            on_warning=warn,
            short=goal.given,
        )
        if goal.target_size is not None:
            session.check_size(goal.target_size, options.keep)
    prepared = session.prepared
    if not quiet:
        print_prepared(screen, prepared)
    if goal.given:
        compress_by_size(session, goal, options, say)
        return
    run = StudyRun(session.plan, session.study, workers, ProgressStyle.choose(quiet=quiet, plain=plain))
    outcome = run.to_the_end()
    run.summarize(storage_option=storage_option(context, storage), points=False)
    outcome.exit_unless_complete()
    if not session.trials():
        fail("no trial has a value, so that there is no model to store; the logs may say why.", code=FAILURE)
    if settings.pareto:
        print_front(screen, session.front(), session.best())
    summary = session.finish()
    print_summary(screen, summary)
    if summary.only_guesses:
        warn(ONLY_GUESSES)
    screen.print(f"model: {out}", soft_wrap=True)


def _share(option: str, text: str | None) -> float | None:
    """A share, given as 0.01 or 1%."""
    if text is None:
        return None
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise ValueError(f"{option} is {text!r}, expected a share such as 0.01 or 1%.") from None


def _preset(name: str | None, option: str | None) -> Preset | None:
    """The preset that was named, if any."""
    from betabo.compress.presets import preset_by_name

    if name is not None and option is not None and name != option:
        raise ValueError(f"the presets {name!r} and {option!r} are given; expected one of them.")
    named = name or option
    return None if named is None else preset_by_name(named)


def _settings(
    preset: Preset | None,
    given: Mapping[str, Any],
    *,
    training: Mapping[str, Any],
    pruning: Mapping[str, Any],
) -> CompressionSettings:
    """The settings of a preset, or the defaults, with what is given in their place; None is not given."""
    base = DEFAULTS if preset is None else preset
    chosen = {name: value for name, value in given.items() if value is not None}
    if preset is None and not {"model", "task"} <= chosen.keys():
        raise ValueError(
            "nothing to compress; give --model and --task, such as --model ./my-bert --task mrpc, or a preset (--list)."
        )
    for name, values in (("training", training), ("pruning", pruning)):
        chosen[name] = replace(
            getattr(base, name), **{key: value for key, value in values.items() if value is not None}
        )
    return base.convert(CompressionSettings, **chosen)


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(".."))
    except ValueError:
        raise ValueError(f"--bounds is {text!r}, expected LOW..HIGH, such as 0.05..0.95.") from None
    return low, high

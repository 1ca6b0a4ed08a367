"""`betabo compress`: search the rank of each layer of a model, and store the best compressed model."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betabo.cli import names
from betabo.cli.errors import FAILURE, INTERRUPTED, fail, user_errors, warn
from betabo.cli.minimize import storage_option
from betabo.cli.options import (
    DEFAULT_LOGS,
    DEFAULT_STORAGE,
    SEARCH_PANEL,
    STUDY_PANEL,
    KernelName,
    Logs,
    Plain,
    Quiet,
    Storage,
)

if TYPE_CHECKING:
    from rich.console import Console

    from betabo.cli.trials import Trial
    from betabo.compress.finish import CompressionSummary
    from betabo.compress.objective import CompressionObjective
    from betabo.compress.preparation import Prepared
    from betabo.compress.presets import Preset
    from betabo.optimizer import Config

_NOTICEABLE = 1e-6  # difference of two objectives

_WHAT = "What is compressed"
_HOW = "How"


class Device(StrEnum):
    """Where to compute."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


class Start(StrEnum):
    """What a search begins with."""

    SOBOL = "sobol"
    UNIFORM = "uniform"


class Grouping(StrEnum):
    """What a coordinate of the search stands for."""

    LAYER = "layer"
    BLOCK = "block"


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
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the compressed model.", rich_help_panel=_WHAT)
    ] = Path("compressed"),
    group: Annotated[
        Grouping | None,
        typer.Option(help="A coordinate for each layer or block.", show_default="layer", rich_help_panel=_HOW),
    ] = None,
    weight: Annotated[
        float | None,
        typer.Option(metavar="W", help="The value is W x size + error.", show_default="1", rich_help_panel=_HOW),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Size and error as two objectives.", rich_help_panel=_HOW)
    ] = False,
    keep: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Rows that each layer keeps beside its low-rank part.",
            show_default="0.1",
            rich_help_panel=_HOW,
        ),
    ] = None,
    bounds: Annotated[
        str,
        typer.Option(metavar="LOW..HIGH", help="Range of the ratios, see above.", rich_help_panel=_HOW),
    ] = "0.05..0.95",
    steps: Annotated[
        int | None,
        typer.Option(metavar="N", help="Training steps of a trial.", show_default="100", rich_help_panel=_HOW),
    ] = None,
    batch: Annotated[
        int | None, typer.Option(metavar="N", help="Examples in a step.", show_default="32", rich_help_panel=_HOW)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="R", help="Learning rate.", show_default="5e-5", rich_help_panel=_HOW)
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
        bool, typer.Option(help="Record training steps as CUDA graphs on a GPU.", rich_help_panel=_HOW)
    ] = True,
    device: Annotated[Device, typer.Option(help="Where to compute.", rich_help_panel=_HOW)] = Device.AUTO,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="How many trials the study should reach in total.",
            show_default="35",
            rich_help_panel=STUDY_PANEL,
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the study, which goes on if it exists.",
            show_default="from the model and the task",
            rich_help_panel=STUDY_PANEL,
        ),
    ] = None,
    storage: Storage = DEFAULT_STORAGE,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, help="Trials at the same time.", rich_help_panel=STUDY_PANEL)
    ] = 1,
    logs: Logs = DEFAULT_LOGS,
    kernel: KernelName = None,
    acquisition: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Acquisition function; see `betabo acquisitions`.",
            show_default="ucb",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = None,
    starting_points: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Trials before the model is asked.", show_default="5", rich_help_panel=SEARCH_PANEL
        ),
    ] = None,
    start: Annotated[
        Start,
        typer.Option(
            help="What they are: Sobol points, or the same ratio in all layers, from the lowest to the highest.",
            rich_help_panel=SEARCH_PANEL,
        ),
    ] = Start.SOBOL,
    seed: Annotated[
        int,
        typer.Option(metavar="N", help="Seed of the search, the examples, the training.", rich_help_panel=SEARCH_PANEL),
    ] = 0,
    quiet: Quiet = False,
    plain: Plain = False,
) -> None:
    """Compress a transformer: search the rank of each linear layer, and store the best model.

    Each linear layer becomes a low-rank part and a few rows of its own. What is searched is a ratio for each layer: the
    parameters of its low-rank part, as a share of what the layer had. A trial compresses the model, trains it for a
    short while and judges it; its value is the share of size that is left plus the error. The search is a study, stored
    as it happens: the same command again goes on where it stopped, also after a crash.

    Example: betabo compress --model ./my-bert --task mrpc --data glue/ --trials 35 --kernel beta --out compressed/

    Example: betabo compress minilm-mrpc --model ./minilm --data glue/ --pareto --workers 2

    Example: betabo compress --list
    """
    if show_list:
        _print_presets()
        return
    from betabo.cli.loading import loading

    with loading(shown=not quiet):
        from betabo.cli.run import ProgressStyle, StudyRun
        from betabo.cli.tables import console
        from betabo.cli.trials import TrialReader
        from betabo.compress.preparation import prepare
        from betabo.compress.problem import uniform_levels
        from betabo.space import Float, Space
        from betabo.studies import Plan, StudyError, open_study

        chosen = _preset(preset, preset_option, model, task)
        if trials is not None and trials < 1:
            raise StudyError(f"--trials is {trials}, expected at least 1.")
        objective = _objective(
            chosen,
            data=data,
            group=None if group is None else group.value,
            bounds=_bounds(bounds),
            weight=weight,
            keep=keep,
            steps=steps,
            batch=batch,
            rate=rate,
            graph=graph,
            max_train=max_train,
            max_validation=max_validation,
            seed=seed,
            device=device.value,
            pareto=pareto,
        )
        config = _config(chosen, kernel, acquisition, starting_points, pareto)
    screen = console()
    display = ProgressStyle.choose(quiet=quiet, plain=plain)

    def say(line: str) -> None:
        if not quiet:
            screen.print(line, soft_wrap=True)

    prepared = prepare(objective, out, chosen.dense_steps if dense_steps is None else dense_steps, on_stage=say)
    if not quiet:
        _print_plan(screen, prepared)
    low, high = objective.bounds
    plan = Plan(
        study=study or names.study_of_compression(chosen.model, chosen.task, pareto),
        storage=storage,
        space=Space({name: Float(low, high) for name in prepared.plan.coordinates}),
        objective=prepared.objective,
        trials=chosen.trials if trials is None else trials,
        directions=("minimize", "minimize") if pareto else ("minimize",),
        config=config,
        seed=seed,
        logs=logs,
    )
    plan.objective.check(plan.space)
    opened = open_study(plan, on_warning=warn)
    if start is Start.UNIFORM and not opened.get_trials(deepcopy=False):
        for ratio in uniform_levels(config.design_size(len(plan.space.names)), objective.bounds):
            opened.enqueue_trial(dict.fromkeys(plan.space.names, ratio))
    run = StudyRun(plan, opened, workers, display)
    outcome = run.to_the_end()
    run.summarize(storage_option=storage_option(context, storage), points=False)
    if outcome.error:
        fail(outcome.error)
    if outcome.interrupted:
        raise typer.Exit(INTERRUPTED)
    if not outcome.complete:
        fail("the workers ended before the study had its trials; the logs may say why.", code=FAILURE)
    _finish(screen, prepared, TrialReader(opened).read(), plan.study, out, say)


def _preset(name: str | None, option: str | None, model: str | None, task: str | None) -> Preset:
    """The preset that was named, with the model and the task of the options; without one, a plain one of these."""
    from betabo.compress.presets import Preset, preset_by_name

    if name is not None and option is not None and name != option:
        raise ValueError(f"the presets {name!r} and {option!r} are given; expected one of them.")
    named = name or option
    if named is not None:
        found = preset_by_name(named)
        return replace(found, model=model or found.model, task=task or found.task)
    if model is None or task is None:
        raise ValueError(
            "nothing to compress; give --model and --task, such as --model ./my-bert --task mrpc, or a preset (--list)."
        )
    return Preset(name="", description="", model=model, task=task, source="ours")


def _objective(
    preset: Preset,
    *,
    keep: float | None,
    steps: int | None,
    batch: int | None,
    rate: float | None,
    graph: bool,
    **given: Any,
) -> CompressionObjective:
    """The objective of a preset, with what is given in its place."""
    from betabo.compress.objective import CompressionObjective

    training = {"steps": steps, "batch": batch, "rate": rate, "graph": None if graph else False}
    names_in_both = ("data", "group", "weight", "max_train", "max_validation")
    return CompressionObjective(
        model=preset.model,
        task=preset.task,
        training=replace(preset.training, **_given(training)),
        pruning=replace(preset.pruning, **_given({"keep": keep})),
        **{**{name: getattr(preset, name) for name in names_in_both}, **_given(given)},
    )


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _config(
    preset: Preset, kernel: str | None, acquisition: str | None, starting_points: int | None, pareto: bool
) -> Config:
    from betabo.optimizer import Config

    if pareto and acquisition is not None:
        raise ValueError(
            f"--acquisition is {acquisition!r} with --pareto, which has one of its own; leave one of them out."
        )
    chosen = None if pareto else acquisition or preset.acquisition
    points = preset.starting_points if starting_points is None else starting_points
    return Config(**_given({"kernel": kernel, "acquisition": chosen, "starting_points": points}))


def _bounds(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(".."))
    except ValueError:
        raise ValueError(f"--bounds is {text!r}, expected LOW..HIGH, such as 0.05..0.95.") from None
    return low, high


def _print_presets() -> None:
    from betabo.cli.tables import console, print_table, table
    from betabo.compress.presets import PRESETS

    listing = table()
    for head in ("name", "from", "model", "steps", "batch", "what it is"):
        listing.add_column(head, no_wrap=head == "name", justify="right" if head in ("steps", "batch") else "left")
    for preset in PRESETS.values():
        figures = (f"{preset.training.steps:,}", str(preset.training.batch))
        listing.add_row(preset.name, preset.source, preset.model, *figures, f"{preset.description}. {preset.note}")
    print_table(console(), listing)


def _print_plan(screen: Console, prepared: Prepared) -> None:
    """Say what is compressed, what is not and why, and how good the original is."""
    plan, original = prepared.plan, prepared.original
    lines = [
        f"{plan.dims} coordinates, one a {plan.group}: {len(plan.layers)} linear layers with "
        f"{plan.parameters:,} of the {original.parameters:,} parameters",
    ]
    reasons: dict[str, list[int]] = {}
    for part in plan.left_out:
        reasons.setdefault(part.why, []).append(part.parameters)
    for why, counts in reasons.items():
        modules = f"{len(counts)} module{'s' if len(counts) > 1 else ''}"
        lines.append(f"left out: {sum(counts):,} parameters in {modules}: {why}")
    lines.append("examples: " + ", ".join(f"{count:,} {name}" for name, count in prepared.examples.items()))
    trained = f" after {prepared.dense_steps} steps of training" if prepared.dense_steps else ""
    lines.append(f"original{trained}: {_metrics(original.metrics)} on the validation examples")
    for line in lines:
        screen.print(line, soft_wrap=True)


def _finish(screen: Console, prepared: Prepared, trials: Sequence[Trial], study: str, out: Path, say: Any) -> None:
    """Store the best model and the front, and print what came of it."""
    from betabo.cli.trials import front_of
    from betabo.compress.finish import finish

    objective = prepared.objective
    complete = [trial for trial in trials if trial.state == "complete"]
    if not complete:
        fail("no trial has a value, so that there is no model to store; the logs may say why.", code=FAILURE)
    best = min(complete, key=lambda trial: (objective.weighted(trial.notes), trial.number))
    if objective.pareto:
        front = front_of(trials, ("minimize", "minimize"))
        _print_front(screen, front, best.number)
        _write_front(out / "front.csv", front)
    say(f"making the model of trial {best.number} once more, and measuring it")
    about = {"study": study, "trial": best.number, "objective": objective.to_json(), "ratios": dict(best.parameters)}
    finished = finish(objective, best.parameters, best.notes["seed"], out, about)
    _print_finished(screen, finished)
    found, now = objective.weighted(best.notes), finished.compressed.objective
    if abs(found - now) > _NOTICEABLE:
        warn(
            f"trial {best.number} had the objective {found:.6g}, and its repetition {now:.6g}; not all is reproducible"
        )
    screen.print(f"model: {out}", soft_wrap=True)


def _print_front(screen: Console, front: Sequence[Trial], chosen: int) -> None:
    from rich.text import Text

    from betabo.cli.tables import number, print_table, table

    heads = ["size", "error", *(name for name in front[0].notes if name.startswith("metric_"))]
    listing = table()
    for head in ("trial", *heads):
        listing.add_column(Text(head.removeprefix("metric_")), justify="right", no_wrap=True)
    for trial in front:
        style = "bold green" if trial.number == chosen else ""
        cells = [str(trial.number), *(number(trial.notes.get(head, "")) for head in heads)]
        listing.add_row(*(Text(cell, style=style) for cell in cells))
    print_table(screen, listing)


def _write_front(path: Path, front: Sequence[Trial]) -> None:
    from betabo.files import write_text

    rows = [{"trial": trial.number, **trial.notes, **trial.parameters} for trial in front]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())


def _print_finished(screen: Console, finished: CompressionSummary) -> None:
    """The table of the original and the compressed model."""
    from betabo.cli.tables import print_table, table

    listing = table()
    listing.add_column("", no_wrap=True)
    for head in ("original", "compressed", "left"):
        listing.add_column(head, justify="right", no_wrap=True)
    for what, before, after, left in finished.comparison.rows():
        if what == "latency":
            shown = (f"{what} ({finished.device})", f"{before * 1e3:.2f} ms", f"{after * 1e3:.2f} ms")
        else:
            shown = (what, f"{before:,.0f}", f"{after:,.0f}")
        listing.add_row(*shown, f"{left:.1%}")
    pairs = {"validation": (finished.original.metrics, finished.compressed.metrics)}
    if finished.test is not None:
        pairs["test"] = finished.test
    for split, (before_metrics, after_metrics) in pairs.items():
        for name, value in before_metrics.items():
            listing.add_row(f"{name}, {split}", f"{value:.4f}", f"{after_metrics[name]:.4f}", "")
    print_table(screen, listing)


def _metrics(metrics: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())

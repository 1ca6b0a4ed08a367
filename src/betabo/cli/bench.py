"""`betabo bench`: compare optimizers on test problems."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betabo.cli.errors import FAILURE, PlainCommand, PlainGroup, user_errors
from betabo.cli.lines import say

if TYPE_CHECKING:
    from betabo.lab.bench.display import Display
    from betabo.lab.bench.runner import CampaignOutcome

app = typer.Typer(
    cls=PlainGroup,
    help="Compare optimizers on test problems: run a campaign, print its table, draw its figures.",
    no_args_is_help=True,
)


class TableForm(StrEnum):
    """How a table is written."""

    MARKDOWN = "markdown"
    LATEX = "latex"
    CSV = "csv"


class BlockKind(StrEnum):
    """What optimizers are ranked and tested over."""

    PROBLEM = "problem"
    RUN = "run"


Runs = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that `betabo bench run` wrote to.")]
At = Annotated[
    int | None,
    typer.Option(metavar="N", help="Compare after N evaluations.", show_default="the whole budget"),
]
BlockOption = Annotated[
    BlockKind, typer.Option(help="Rank and test over problems (means over the seeds), or over single runs.")
]


@app.command(cls=PlainCommand)
@user_errors
def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.toml", help="The campaign.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the runs are kept.")],
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Runs at a time.", show_default="one, or all CPUs of a Ray cluster"),
    ] = None,
) -> None:
    """Carry out what is missing of a campaign, one Parquet file a run. Start it again and it goes on.

    Runs that fail leave a file with their traceback; the others go on, and the exit code is 1.

    Example: betabo bench run examples/campaign.toml --out out/campaign --workers 2
    """
    from betabo.lab.bench.campaign import load_campaign
    from betabo.lab.bench.runner import run_campaign

    outcome = run_campaign(load_campaign(file), out, workers=workers, display=_display())
    _say_outcome(outcome, out)
    if outcome.failed:
        raise typer.Exit(FAILURE)


@app.command(cls=PlainCommand)
@user_errors
def peers(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the runs are kept; the report goes to DIR/report.")],
    suite: Annotated[
        str,
        typer.Option(metavar="NAME", help="synthetic-20, synthetic-6, real or all of these; sbox, bbob, bbob-boxed."),
    ] = "all",
    dims: Annotated[str, typer.Option(metavar="D,...", help="Dimensions of sbox, bbob and bbob-boxed.")] = "5",
    instances: Annotated[
        str,
        typer.Option(metavar="A-B", help="Their instances, such as 1-3 or 2,5. Those above 10 are kept for judging."),
    ] = "1-3",
    evaluations: Annotated[
        int, typer.Option(metavar="N", min=1, help="Their evaluations a run, times dimension.")
    ] = 15,
    optimizers: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Optimizers of the catalogue.", show_default="all of them"),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds of each optimizer on each problem.")] = 5,
    common_start: Annotated[
        bool, typer.Option("--common-start", help="Give all optimizers the same starting points, not their own.")
    ] = False,
    workers: Annotated[int, typer.Option(metavar="N", min=1, help="Runs at a time.")] = 1,
    report: Annotated[bool, typer.Option("--report", help="Report on the runs that are done, and start none.")] = False,
) -> None:
    """Compare betabo with optimizers of other packages, and report where it loses, ranks, regrets and times.

    A campaign for each suite, in folders of its name: what is done is kept, and started again it goes on.

    Example: betabo bench peers --out out/sbox --suite sbox --dims 5 --instances 1-3 --optimizers betabo,cobyqa
    """
    from betabo.cli.errors import warn
    from betabo.lab.bench.peers import plan_peers, record_not_run, suites_named
    from betabo.lab.bench.peers_report import write_report
    from betabo.lab.bench.runner import run_campaign

    failed = False
    if not report:
        names = None if optimizers is None else [name.strip() for name in optimizers.split(",") if name.strip()]
        suites = suites_named(suite, numbers("--dims", dims), numbers("--instances", instances), evaluations)
        plan = plan_peers(suites, names, seeds, common_start)
        record_not_run(plan, out)
        for name, reason in plan.not_run.items():
            warn(f"not run: {name}: {reason}")
        for name, campaign in plan.campaigns.items():
            outcome = run_campaign(campaign, out / name, workers=workers, display=_display())
            _say_outcome(outcome, out / name)
            failed = failed or bool(outcome.failed)
    try:
        files, notes = write_report(out)
    except ValueError as error:
        if report:
            raise
        warn(f"no report yet: {error}")  # betabo or its peers may be run later, or in another environment
    else:
        for note in notes:
            warn(note)
        say(f"report: {files[0]}")
    if failed:
        raise typer.Exit(FAILURE)


@app.command(cls=PlainCommand)
@user_errors
def table(
    folder: Runs,
    form: Annotated[TableForm, typer.Option("--format", help="How to write the table.")] = TableForm.MARKDOWN,
    at: At = None,
    decimals: Annotated[int, typer.Option(metavar="N", min=0, help="Digits after the point.")] = 1,
    blocks: BlockOption = BlockKind.PROBLEM,
) -> None:
    """Print mean and standard error of the best values; in Markdown also ranks and tests.

    Example: betabo bench table out/campaign --format latex --at 40
    """
    from betabo.cli.errors import warn
    from betabo.lab.bench.results import read_results, values_at
    from betabo.lab.bench.statistics import compare, summarize
    from betabo.lab.bench.tables import format_comparison, format_table, incomplete

    values = values_at(read_results(folder, columns=[]), at)
    summary = summarize(values)
    say(format_table(summary, form.value, decimals), newline=False)
    for line in incomplete(summary):
        warn(line)
    if form is TableForm.MARKDOWN and values["optimizer"].nunique() > 1:
        after = int(values["evaluation"].iloc[0])
        say(f"\nBest value after {after} evaluations, mean ± standard error over the seeds.\n")
        say(format_comparison(compare(values, blocks.value), f"{blocks.value}s"))


@app.command(cls=PlainCommand)
@user_errors
def plot(
    folder: Runs,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the figures go.")],
    at: At = None,
    blocks: BlockOption = BlockKind.PROBLEM,
) -> None:
    """Draw convergence, ranks and the critical-difference diagram, as PNG and PDF.

    Example: betabo bench plot out/campaign --out out/campaign/figures
    """
    from betabo.lab.bench.figures import write_figures

    for path in write_figures(folder, out, at=at, blocks=blocks.value):
        say(path)


@app.command(name="list", cls=PlainCommand)
@user_errors
def show_catalogues() -> None:
    """List the functions and the optimizers that a campaign can name.

    Example: betabo bench list
    """
    from betabo.cli.tables import console, print_table
    from betabo.cli.tables import table as new_table
    from betabo.lab.bench.optimizers import OPTIMIZERS
    from betabo.lab.problems import PROBLEMS

    screen = console()
    for title, entries in (("function", PROBLEMS), ("optimizer", OPTIMIZERS)):
        listing = new_table()
        listing.add_column(title)
        listing.add_column("description")
        for entry in entries.values():
            listing.add_row(entry.name, entry.description)
        print_table(screen, listing)
        screen.print()


def numbers(option: str, text: str) -> list[int]:
    """The numbers of a list such as `1-3,7`.

    Raises:
        ValueError: The text is no such list.
    """
    found: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        try:
            found += range(int(first), int(last or first) + 1)
        except ValueError as error:
            raise ValueError(f"{option} is {text!r}, expected numbers such as 2,5 or a range such as 1-3.") from error
    if not found:
        raise ValueError(f"{option} is {text!r}, expected a range that goes up, such as 1-3.")
    return list(dict.fromkeys(found))


def _display() -> Display:
    """A live table for a terminal, lines for a log."""
    import sys

    from betabo.lab.bench.display import Lines, Live

    def write(line: str) -> None:
        say(line, err=True)

    return Live() if sys.stderr.isatty() else Lines(write)


def _say_outcome(outcome: CampaignOutcome, out: Path) -> None:
    say(f"{len(outcome.done)} runs done, {len(outcome.kept)} done before, {len(outcome.failed)} failed: {out}")
    for key, path in outcome.failed.items():
        say(f"failed: {key}, see {path}", err=True)

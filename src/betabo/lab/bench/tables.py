"""Tables of results in Markdown, LaTeX and CSV: mean and standard error, the best in bold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from betabo.lab.bench.statistics import Comparison

if TYPE_CHECKING:
    import pandas

TableFormat: TypeAlias = Literal["markdown", "latex", "csv"]


@dataclass(frozen=True)
class Section:
    """A part of a table: one placement of the optimum in one dimension.

    Attributes:
        title: What the part is about.
        columns: Functions.
        rows: For each optimizer its name and a cell a function, None where there are no runs.
        best: Rows of the cells in bold, a set a function.
    """

    title: str
    columns: list[str]
    rows: list[tuple[str, list[str | None]]]
    best: list[set[int]]


def format_table(summary: pandas.DataFrame, form: TableFormat = "markdown", decimals: int = 1) -> str:
    """The table of a campaign.

    Args:
        summary: The table of `betabo.lab.bench.statistics.summarize`.
        form: `"markdown"` and `"latex"` have a part for each dimension and placement, optimizers as rows, functions as
            columns, and the lowest means in bold; `"csv"` has a row for each mean, with all digits.
        decimals: Digits after the point.
    """
    if form not in get_args(TableFormat):
        raise ValueError(f"format is {form!r}, expected one of {', '.join(get_args(TableFormat))}.")
    if decimals < 0:
        raise ValueError(f"decimals is {decimals}, expected a number >= 0.")
    if form == "csv":
        return str(summary.to_csv(index=False))
    sections = _sections(summary, decimals)
    return _markdown(sections) if form == "markdown" else _latex(sections)


def format_cell(mean: float, error: float, decimals: int = 1) -> str:
    """Mean and standard error such as `22.7±1.6`; the mean alone where there is no error."""
    text = f"{mean:.{decimals}f}"
    return text if error != error else f"{text}±{error:.{decimals}f}"


def incomplete(summary: pandas.DataFrame) -> list[str]:
    """What is missing of a campaign: optimizers on problems with fewer runs than others, one line each."""
    most = int(summary["runs"].max())
    runs = {(row.optimizer, row.problem): row.runs for row in summary.itertuples()}
    return [
        f"{optimizer} on {problem}: {runs.get((optimizer, problem), 0)} of {most} runs"
        for problem in summary["problem"].unique()
        for optimizer in summary["optimizer"].unique()
        if runs.get((optimizer, problem), 0) < most
    ]


def format_comparison(comparison: Comparison, unit: str) -> str:
    """Ranks and tests in Markdown.

    Args:
        comparison: The comparison.
        unit: What a block is, in the plural.
    """
    lines = ["| optimizer | mean rank |", "|---|---:|"]
    lines += [f"| {name} | {rank:.2f} |" for name, rank in comparison.ranks.items()]
    lines.append("")
    test = comparison.friedman
    over = f"over {comparison.blocks} {unit}"
    if test is None:
        lines.append(f"Ranks {over}. Friedman's test needs at least three optimizers and two {unit}.")
    else:
        lines.append(f"Friedman's test {over}: chi-squared = {test.statistic:.2f}, p = {test.p:.2g}.")
    if comparison.left_out:
        lines.append(f"Left out, since not every optimizer has done them: {', '.join(comparison.left_out)}.")
    lines += ["", "| pair | wins | ties | losses | Wilcoxon p | after Holm |", "|---|---:|---:|---:|---:|---:|"]
    lines += [
        f"| {row.first} : {row.second} | {row.wins} | {row.ties} | {row.losses} | {row.p:.2g} | {row.p_holm:.2g} |"
        for row in comparison.pairs.itertuples()
    ]
    return "\n".join(lines)


def _sections(summary: pandas.DataFrame, decimals: int) -> list[Section]:
    sections = []
    optimizers = [str(name) for name in summary["optimizer"].unique()]
    labelled = summary.assign(variant=[_variant(row) for row in summary.itertuples()])
    for title, part in labelled.groupby("variant", sort=False):
        functions = [str(name) for name in part["function"].unique()]
        means = {(row.optimizer, row.function): (row.mean, row.standard_error) for row in part.itertuples()}
        shown = [name for name in optimizers if name in set(part["optimizer"])]
        rows: list[tuple[str, list[str | None]]] = [
            (name, [format_cell(*means[name, f], decimals) if (name, f) in means else None for f in functions])
            for name in shown
        ]
        best = []
        for function in functions:
            printed = {i: round(means[n, function][0], decimals) for i, n in enumerate(shown) if (n, function) in means}
            best.append({i for i, mean in printed.items() if mean == min(printed.values())})
        sections.append(Section(str(title), functions, rows, best))
    return sections


def _variant(row: pandas.core.frame.Pandas) -> str:
    """Dimension, placement and what else sets a problem apart from others of its function."""
    where = {"centre": "the usual box", "face": "optimum near a face", "vertex": "optimum near a vertex"}
    usual = f"{row.function}-{row.dim}-{row.placement}"
    rest = str(row.problem).removeprefix(usual).replace("-eps", ", epsilon ").replace("-noise", ", noise ")
    return f"d = {row.dim}, {where[row.placement]}{rest}"


def _markdown(sections: Sequence[Section]) -> str:
    blocks = []
    for section in sections:
        lines = [
            f"**{section.title}**",
            "",
            f"| | {' | '.join(section.columns)} |",
            "|---|" + "---:|" * len(section.columns),
        ]
        for i, (name, cells) in enumerate(section.rows):
            shown = [_bold(cell, "**", "**", i in best) for cell, best in zip(cells, section.best, strict=True)]
            lines.append(f"| {name} | {' | '.join(shown)} |")
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _latex(sections: Sequence[Section]) -> str:
    columns = list(dict.fromkeys(name for section in sections for name in section.columns))
    lines = [
        rf"\begin{{tabular}}{{l{'c' * len(columns)}}}",
        r"\toprule",
        " & ".join(["", *(_escaped(name.capitalize()) for name in columns)]) + r" \\",
    ]
    for section in sections:
        lines += [r"\midrule", rf"\multicolumn{{{len(columns) + 1}}}{{c}}{{{_escaped(section.title)}}} \\", r"\midrule"]
        for i, (name, cells) in enumerate(section.rows):
            shown = dict.fromkeys(columns, "-")
            for function, cell, best in zip(section.columns, cells, section.best, strict=True):
                shown[function] = _bold(cell, r"\textbf{", "}", i in best).replace("±", r"$\pm$")
            lines.append(" & ".join([_escaped(name), *shown.values()]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def _bold(cell: str | None, before: str, after: str, is_best: bool) -> str:
    if cell is None:
        return "-"
    return f"{before}{cell}{after}" if is_best else cell


def _escaped(text: str) -> str:
    return text.replace("_", r"\_")

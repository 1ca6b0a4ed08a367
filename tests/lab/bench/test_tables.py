from __future__ import annotations

import io

import numpy as np
import pandas
import pytest

from betabo.lab.bench.statistics import compare, summarize
from betabo.lab.bench.tables import format_cell, format_comparison, format_table, incomplete

ROWS = [
    # optimizer, problem, function, placement, values of the seeds
    ("beta", "levy-20-centre", "levy", "centre", [9.0, 9.4]),
    ("matern", "levy-20-centre", "levy", "centre", [9.0, 12.2]),
    ("beta", "ackley-20-centre", "ackley", "centre", [20.72, 20.72]),
    ("matern", "ackley-20-centre", "ackley", "centre", [20.74, 20.74]),
    ("beta", "levy-20-vertex", "levy", "vertex", [6.1, 7.7]),
    ("matern", "levy-20-vertex", "levy", "vertex", [24.6]),
]


@pytest.fixture
def values() -> pandas.DataFrame:
    table = pandas.DataFrame(
        [
            {
                "optimizer": optimizer,
                "problem": problem,
                "function": function,
                "dim": 20,
                "placement": placement,
                "seed": s,
                "best": v,
            }
            for optimizer, problem, function, placement, found in ROWS
            for s, v in enumerate(found)
        ]
    )
    for column in ("optimizer", "problem"):
        table[column] = pandas.Categorical(table[column], table[column].unique(), ordered=True)
    return table


def test_cells_are_mean_and_standard_error() -> None:
    assert format_cell(22.71, 1.64) == "22.7±1.6"
    assert format_cell(-2.386, 0.012, decimals=2) == "-2.39±0.01"
    assert format_cell(3.0, float("nan")) == "3.0"


def test_markdown_has_a_part_for_each_placement_and_the_best_in_bold(values) -> None:
    assert format_table(summarize(values)) == (
        "**d = 20, the usual box**\n\n"
        "| | levy | ackley |\n|---|---:|---:|\n"
        "| beta | **9.2±0.2** | **20.7±0.0** |\n"
        "| matern | 10.6±1.6 | **20.7±0.0** |\n\n"
        "**d = 20, optimum near a vertex**\n\n"
        "| | levy |\n|---|---:|\n"
        "| beta | **6.9±0.8** |\n"
        "| matern | 24.6 |\n"
    )


def test_latex_is_a_tabular(values) -> None:
    text = format_table(summarize(values), "latex", decimals=2)
    assert text.startswith("\\begin{tabular}{lcc}\n\\toprule\n & Levy & Ackley \\\\\n")
    assert "beta & \\textbf{9.20$\\pm$0.20} & \\textbf{20.72$\\pm$0.00} \\\\" in text
    assert "matern & 24.60 & - \\\\" in text
    assert text.endswith("\\bottomrule\n\\end{tabular}\n")


def test_csv_has_all_digits(values) -> None:
    summary = summarize(values)
    again = pandas.read_csv(io.StringIO(format_table(summary, "csv")))
    np.testing.assert_allclose(again["mean"], summary["mean"])
    assert again["optimizer"].tolist() == summary["optimizer"].tolist()


def test_problems_that_differ_in_noise_do_not_share_a_part(values) -> None:
    noisy = values.assign(problem=values["problem"].astype(str) + "-eps0.1-noise0.5")
    noisy["problem"] = noisy["problem"].astype("category")
    both = pandas.concat([summarize(values), summarize(noisy)])
    assert "**d = 20, the usual box, epsilon 0.1, noise 0.5**" in format_table(both)
    assert format_table(both).count("| beta |") == 4


def test_what_is_missing_is_named(values) -> None:
    assert incomplete(summarize(values)) == ["matern on levy-20-vertex: 1 of 2 runs"]
    gone = values[~((values["optimizer"] == "matern") & (values["problem"] == "levy-20-vertex"))]
    assert incomplete(summarize(gone)) == ["matern on levy-20-vertex: 0 of 2 runs"]


def test_comparisons_are_printed(values) -> None:
    text = format_comparison(compare(values), "problems")
    assert "| beta | 1.00 |" in text
    assert "Ranks over 3 problems. Friedman's test needs at least three optimizers" in text
    assert "| beta : matern | 3 | 0 | 0 |" in text


def test_bad_arguments_are_explained(values) -> None:
    with pytest.raises(ValueError, match="format is 'html', expected one of markdown, latex, csv"):
        format_table(summarize(values), "html")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="decimals is -1"):
        format_table(summarize(values), decimals=-1)

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from betabo.lab.bench import Campaign
from betabo.lab.bench.results import read_results
from betabo.lab.problems import PLACEMENTS
from betabo.lab.reproduce import (
    Context,
    placements,
)
from betabo.lab.reproduce.campaigns import FUNCTIONS
from lab.reproduce.case import campaigns_of, do, names, verdicts

ROOT = Path(__file__).parents[3]


PAPER = ROOT.parent / "shared/paper/beta_product_kernel.tex"


def test_printed_numbers_are_complete() -> None:
    table = placements.printed()
    assert len(table) == 99
    assert not table.duplicated(["placement", "kernel", "function"]).any()
    by_cell = table.set_index(["placement", "kernel", "function"])
    assert tuple(by_cell.loc[("centre", "matern", "griewank")]) == (22.7, 1.6)
    assert tuple(by_cell.loc[("face", "beta-paper", "levy")]) == (2.2, 0.1)
    assert tuple(by_cell.loc[("vertex", "rbf-warped", "levy")]) == (83.2, 8.4)
    assert ("vertex", "cylindrical", "hartmann") not in by_cell.index


@pytest.mark.skipif(not PAPER.exists(), reason="needs the source of the paper")
def test_printed_numbers_are_those_of_the_paper() -> None:
    source = re.sub(r"\s|\\textbf|[{}$]", "", PAPER.read_text(encoding="utf-8"))
    sections = re.split(r"Setting\d:Globaloptimumnear", source)[1:4]
    labels = {"rbf": "RBF", "rbf-warped": "RBF^\\dagger", "spectral-mixture": "SM", "newton-girard": "NGA"}
    labels |= {"cylindrical": "CYL", "matern": "Matérn", "matern-warped": "Matérn^\\dagger", "beta-paper": "Beta"}
    for (placement, kernel), row in placements.printed().groupby(["placement", "kernel"]):
        cells = {cell.function: f"{cell.printed:.1f}±{cell.printed_error:.1f}" for cell in row.itertuples()}
        line = "&".join([labels[str(kernel)], *(cells.get(function, "-") for function in FUNCTIONS)])
        assert line in sections[PLACEMENTS.index(placement)]


def as_values(table: pd.DataFrame) -> pd.DataFrame:
    """A table of means as if they were the outcome of runs with one seed."""
    problem = table["function"] + "-20-" + table["placement"]
    values = table.assign(problem=problem, optimizer=table["kernel"], dim=20, seed=0, evaluation=360)
    return values.assign(best=table["printed"], regret=table["printed"])


def test_claims_hold_for_the_numbers_that_they_were_made_about() -> None:
    table = placements.cells(as_values(placements.printed()))
    assert (table["mean"] == table["printed"]).all()
    assert verdicts(placements.compare(table)) == ["holds"] * 4


def test_claims_fail_for_other_numbers() -> None:
    printed = placements.printed()
    beta = printed["kernel"] == "beta-paper"
    printed.loc[beta, "printed"] = 1e3
    printed.loc[printed["kernel"] == "rbf", "printed"] = -1e3
    assert verdicts(placements.compare(placements.cells(as_values(printed)))) == ["does not hold"] * 4


def test_printed_numbers_stand_beside_problems_of_their_dimension_alone() -> None:
    values = as_values(placements.printed())
    assert placements.cells(values)["printed"].notna().all()
    assert placements.cells(values.assign(dim=12))["printed"].isna().all()


def test_runs_are_cut_where_the_shortest_of_their_settings_ends() -> None:
    last = {("rbf+a", 0): 3, ("rbf+a", 1): 5, ("rbf+b", 0): 9, ("matern+b", 0): 8}
    rows = [
        {"optimizer": name, "seed": seed, "evaluation": n, "best": -n, "regret": -n}
        for (name, seed), count in last.items()
        for n in range(1, count + 1)
    ]
    where = {"problem": "levy-20-face", "function": "levy", "dim": 20, "placement": "face"}
    found = placements.ends(pd.DataFrame(rows).assign(**where)).set_index(["optimizer", "seed"])["best"]
    assert found.to_dict() == {("rbf+a", 0): -3, ("rbf+a", 1): -3, ("rbf+b", 0): -8, ("matern+b", 0): -8}


def placements_campaign(seeds: int = 2) -> Campaign:
    (table,) = campaigns_of("placements", "paper")
    problems = tuple(p for p in table.problems if p.startswith(("levy", "branin")))
    some = {name: table.optimizers[name] for name in ("rbf", "spectral-mixture", "matern", "beta-paper", "beta")}
    return replace(table, optimizers=some, problems=problems, seeds=tuple(range(seeds)), budget=61)


def test_placements_of_unfinished_campaign_say_how_many_seeds_a_cell_has(tmp_path: Path) -> None:
    folder = do(placements_campaign(), tmp_path / "runs")
    (folder / "rbf/levy-20-face/0.parquet").unlink()
    for seed in (0, 1):
        (folder / f"spectral-mixture/levy-20-centre/{seed}.parquet").unlink()
    context = Context(tmp_path / "out", "paper")
    summary = placements.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    cells = pd.read_csv(tmp_path / "out/cells.csv").set_index(["placement", "function", "kernel"])
    assert cells.loc[("face", "levy", "rbf"), "seeds"] == 1
    assert np.isnan(cells.loc[("face", "levy", "rbf"), "standard_error"])
    assert ("centre", "levy", "spectral-mixture") not in cells.index
    results = read_results(folder, columns=[])
    last = results[(results["evaluation"] == 61) & (results["problem"] == "branin-20-face")]
    best = last.loc[last["optimizer"] == "matern", "best"]
    assert cells.loc[("face", "branin", "matern"), "mean"] == pytest.approx(best.mean())
    assert cells.loc[("face", "branin", "matern"), "standard_error"] == pytest.approx(best.std() / np.sqrt(2))
    assert cells.loc[("face", "branin", "matern"), "printed"] == 4.1
    text = (tmp_path / "out/table.md").read_text()
    sections = text.split("**The usual box**")[1].split("**Optimum near a ")
    assert re.search(r"^\| Spectral mixture \| [^|]+, 2 \(16\.5±1\.1\) \| - \|$", sections[0], re.MULTILINE)
    assert re.search(r"^\| RBF \| [^|]+, 2 \(22\.3±2\.0\) \| \D*\d+\.\d\D*, 1 \(104\.9±8\.0\) \|$", text, re.MULTILINE)
    assert "spectral-mixture" not in text.split("mean rank")[1]  # it has not done every problem
    assert len(summary.claims) == 4
    assert verdicts(summary.claims)
    assert summary.figures["seeds of a cell, least and most"] == [1, 2]
    json.dumps(summary.figures, allow_nan=False)


def test_placements_of_one_kernel_make_no_claim(tmp_path: Path) -> None:
    campaign = replace(placements_campaign(1), problems=("levy-20-vertex",))
    folder = do(replace(campaign, optimizers={"rbf": campaign.optimizers["rbf"]}), tmp_path / "runs")
    summary = placements.summarize(Context(tmp_path / "out", "paper"), folder)
    assert summary.claims == ()
    assert "rank" not in (tmp_path / "out/table.md").read_text()

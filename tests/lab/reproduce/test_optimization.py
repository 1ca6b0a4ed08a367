from __future__ import annotations

import gzip
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from betabo.files import write_bytes
from betabo.lab.bench import Campaign, OptimizerChoice, Outcome, run_campaign
from betabo.lab.bench.executor import Event, Finished, Started
from betabo.lab.bench.results import read_results
from betabo.lab.bench.run import Record, Run, perform
from betabo.lab.bench.storage import encode
from betabo.lab.problems import PLACEMENTS, problem_by_name
from betabo.lab.reproduce import (
    Context,
    Summary,
    acquisitions,
    bandwidths,
    campaigns,
    levy2d,
    levy_convergence,
    placements,
)
from betabo.lab.reproduce.campaigns import ACQUISITIONS, CAMPAIGNS, FUNCTIONS, PAPER_KERNELS, expected_seconds
from betabo.lab.reproduce.entry import Claim
from betabo.lab.reproduce.runner import reproduce

ROOT = Path(__file__).parents[3]
PAPER = ROOT.parent / "shared/paper/beta_product_kernel.tex"


class Here:
    """Carries out runs in this process, one after another."""

    workers = 1

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        for run in runs:
            yield Started(run)
            yield Finished(run, encode(perform(run)))


def do(campaign: Campaign, folder: Path) -> Path:
    """Carry out a campaign with random search in place of every optimizer, which takes no time."""
    random = {label: OptimizerChoice("random") for label in campaign.optimizers}
    run_campaign(replace(campaign, optimizers=random), folder, executor=Here())
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def verdicts(claims: tuple[Claim, ...]) -> list[str]:
    assert all(claim.checks for claim in claims)
    return [claim.verdict for claim in claims]


# The settings


def test_paper_scale_has_the_numbers_of_the_paper() -> None:
    (table,) = CAMPAIGNS["placements"]("paper")
    assert set(table.optimizers) == {*PAPER_KERNELS, "beta", "beta-matern", "matern-control"}
    assert len(table.problems) == 15
    assert {problem_by_name(name).dim for name in table.problems} == {20}
    for name in ("levy2d", "bandwidths", "levy-convergence", "placements"):
        for campaign in CAMPAIGNS[name]("paper"):
            dim = problem_by_name(campaign.problems[0]).dim
            assert (campaign.starting_points, campaign.budget) == (3 * dim, 3 * dim + 300)
            assert campaign.seeds == tuple(range(10))
    (compared,) = CAMPAIGNS["acquisitions"]("paper")
    assert (compared.starting_points, compared.budget, len(compared.seeds)) == (5, 35, 10)
    assert len(compared.optimizers) == 10


def test_only_the_default_row_and_its_control_depart_from_the_settings_of_the_paper() -> None:
    (table,) = CAMPAIGNS["placements"]("paper")
    for label, choice in table.optimizers.items():
        if label in ("beta-matern", "matern-control"):
            assert choice.settings == {"kernel": label.removesuffix("-control")}
        else:
            expected = {"kernel": label, "acquisition": "ucb", "beta": campaigns.UCB_WEIGHT, "power_transform": False}
            assert choice.settings == expected


def test_longer_searches_with_slower_kernels_are_expected_to_take_longer() -> None:
    (table,) = CAMPAIGNS["placements"]("paper")
    seconds = {run.optimizer: expected_seconds(run) for run in table.runs()}
    assert min(seconds.values()) == seconds["rbf"]
    assert max(seconds.values()) == seconds["spectral-mixture"]
    (smoke,) = CAMPAIGNS["placements"]("smoke")
    assert max(map(expected_seconds, smoke.runs())) < min(seconds.values())


# The paper's table


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


# Drawing what is there


def placements_campaign(seeds: int = 2) -> Campaign:
    (table,) = CAMPAIGNS["placements"]("paper")
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


def test_levy2d_measures_where_points_went() -> None:
    steps = [(0, 0.0, 0.0), (1, 1.0, 1.0), (2, 0.55, 0.55), (3, 0.02, 0.5), (30, 0.52, 0.52)]
    run = pd.DataFrame(steps, columns=["iteration", "u1", "u2"])
    run["boundary distance"] = 1 - 2 * (run[["u1", "u2"]] - 0.5).abs().max(axis=1)
    run["regret"] = [5.0, 4.0, 3.0, 3.0, 3.0]
    assert levy2d.measure(run) == {
        "near the boundary": 0.5,
        "near the boundary early": pytest.approx(2 / 3),
        "both corners early": 0.0,  # a starting point does not count
        "central": 0.5,
        "at the optimum": 0.5,
        "cells visited": 0.03,
        "regret": 3.0,
    }


def test_levy2d_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = CAMPAIGNS["levy2d"]("smoke")
    folder = do(replace(campaign, seeds=(0, 1), budget=200), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = levy2d.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    points = pd.read_csv(tmp_path / "out/points.csv")
    assert len(points) == 3 * 2 * 200
    assert (points["iteration"] == 0).sum() == 3 * 2 * 6
    problem = problem_by_name("levy-2-centre")
    for _, row in points.sample(5, random_state=0).iterrows():
        assert problem.objective()([row["x1"], row["x2"]]) == pytest.approx(row["value"])
    shares = pd.read_csv(tmp_path / "out/measures.csv")
    for name, share in levy2d.UNIFORM.items():  # random points are as near to everything as uniform ones
        assert shares[name].mean() == pytest.approx(share, abs=0.03)
    assert len(verdicts(summary.claims)) == 4


def test_levy2d_without_all_kernels_makes_no_claim(tmp_path: Path) -> None:
    (campaign,) = CAMPAIGNS["levy2d"]("smoke")
    folder = do(replace(campaign, optimizers={"matern": campaign.optimizers["matern"]}), tmp_path / "runs")
    assert levy2d.summarize(Context(tmp_path / "out", "smoke"), folder).claims == ()


@pytest.mark.parametrize(
    ("h1", "h2", "expected"),
    [
        (lambda t: 0.1 + 0 * t, lambda t: 2.0 + 0 * t, ["holds", "holds"]),
        (lambda t: 0.1 + 0 * t, lambda t: 0.1 + 0 * t, ["holds", "does not hold"]),
        (lambda t: np.exp(t), lambda t: np.exp(t + 0.1), ["does not hold", "does not hold"]),
        (lambda t: 0.1 + 0 * t, lambda t: 1 + t**4, ["holds in part", "holds"]),
    ],
    ids=["distinct", "equal", "drifting", "one-drifts"],
)
def test_bandwidths_are_judged_by_the_last_quarter(h1: object, h2: object, expected: list[str]) -> None:
    t = np.arange(1, 41)
    path = pd.DataFrame({"iteration": t, "h1": h1(t / 20), "h2": h2(t / 20), "boundary weight": 1.0})
    assert verdicts(bandwidths.compare(pd.DataFrame([bandwidths.describe(path)]))) == expected


def test_bandwidths_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = CAMPAIGNS["bandwidths"]("smoke")
    for run in campaign.runs():
        record = perform(replace(run, use="random", settings={}))
        for row in record.rows[run.starting_points :]:
            row |= {"bandwidth": [0.1, 0.2 + run.seed], "boundary_weight": 0.5}
        write_bytes(tmp_path / f"runs/{run.key}.parquet", encode(record), parents=True)
    context = Context(tmp_path / "out", "smoke")
    summary = bandwidths.summarize(context, tmp_path / "runs")
    assert names(tmp_path / "out") == set(context.files)
    assert summary.figures["beta"] == {
        "seeds": 2,
        "median h1": 0.1,
        "median h2": 0.7,
        "median boundary weight": 0.5,
        "seeds with distinct bandwidths": 2,
    }
    assert verdicts(summary.claims) == ["holds", "holds"]


def test_levy_convergence_draws_the_runs(tmp_path: Path) -> None:
    for campaign in CAMPAIGNS["levy-convergence"]("smoke"):
        do(replace(campaign, seeds=(0, 1, 2)), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = levy_convergence.summarize(context, tmp_path / "runs")
    assert names(tmp_path / "out") == set(context.files)
    best = pd.read_csv(tmp_path / "out/best.csv")
    assert len(best) == 2 * 2 * 8
    results = read_results(tmp_path / "runs", columns=[])
    chosen = (results["dim"] == 8) & (results["optimizer"] == "matern") & (results["evaluation"] == 24 + 3)
    row = best[(best["dim"] == 8) & (best["kernel"] == "matern") & (best["iteration"] == 3)].iloc[0]
    assert row["mean"] == pytest.approx(results.loc[chosen, "best"].mean())
    assert row["standard_error"] == pytest.approx(results.loc[chosen, "best"].std() / np.sqrt(3))
    assert len(verdicts(summary.claims)) == 4


def test_levy_convergence_claims_follow_from_the_measures() -> None:
    def means(early: tuple[float, ...], end: tuple[float, ...], distance: tuple[float, ...], near: tuple[float, ...]):
        index = pd.MultiIndex.from_product([(4, 8), ("matern", "beta-paper")], names=["dim", "kernel"])
        columns = ("best early", "best at the end", "boundary distance", "iterations near the boundary")
        return pd.DataFrame(dict(zip(columns, (early, end, distance, near), strict=True)), index=index)

    as_claimed = means((1, 2, 3, 4), (1, 0.5, 2, 1), (0.5, 0.1, 0.5, 0.1), (5, 50, 6, 90))
    assert verdicts(levy_convergence.compare(as_claimed)) == ["holds"] * 4
    otherwise = means((2, 1, 3, 4), (1, 2, 1, 2), (0.1, 0.2, 0.1, 0.2), (5, 50, 6, 50))
    assert verdicts(levy_convergence.compare(otherwise)) == ["holds in part", *["does not hold"] * 3]
    assert len(levy_convergence.compare(as_claimed.loc[[8]])) == 3
    assert levy_convergence.compare(as_claimed.drop(index=[(4, "matern"), (8, "matern")])) == ()


def test_acquisitions_draws_the_runs(tmp_path: Path) -> None:
    (campaign,) = CAMPAIGNS["acquisitions"]("smoke")
    folder = do(replace(campaign, seeds=(0, 1)), tmp_path / "runs")
    context = Context(tmp_path / "out", "smoke")
    summary = acquisitions.summarize(context, folder)
    assert names(tmp_path / "out") == set(context.files)
    shares = acquisitions.read_shares(folder)
    assert (shares.loc[shares["iteration"] == 0, "share"] == 1).all()
    assert len(shares) == 10 * 2 * 2 * 4
    results = read_results(folder, columns=[])
    run = results[(results["optimizer"] == "beta-paper+corrected_ei") & (results["problem"] == "levy-14-vertex")]
    regret = run[run["seed"] == 1].set_index("evaluation")["best"]  # Levy's optimal value is zero
    same = shares.query("kernel == 'beta-paper' and acquisition == 'corrected_ei' and placement == 'vertex'")
    last = same[(same["seed"] == 1) & (same["iteration"] == 3)]["share"]
    assert last.item() == pytest.approx(regret[8] / regret[5])
    assert len(verdicts(summary.claims)) == 3


def test_acquisitions_claims_follow_from_the_shares() -> None:
    index = pd.MultiIndex.from_product(
        [("centre", "vertex"), ACQUISITIONS, ("matern", "beta-paper")], names=["placement", "acquisition", "kernel"]
    )
    order = {"ucb": 0.1, "corrected_ei": 0.2, "pi": 0.3, "ei": 0.4, "corrected_pi": 0.5}
    left = pd.Series([order[a] + (0.3 if kernel == "matern" else 0) for _, a, kernel in index], index)
    assert verdicts(acquisitions.compare(left)) == ["holds"] * 3
    left["centre"] = 1 - left["centre"]
    assert verdicts(acquisitions.compare(left)) == ["holds in part"] * 3
    left["vertex"] = 1 - left["vertex"]
    assert verdicts(acquisitions.compare(left)) == ["does not hold"] * 3
    assert acquisitions.compare(left.drop(index=[("centre", "ei", "matern"), ("vertex", "ei", "matern")])) == ()


# Carrying out


def test_interrupted_campaign_is_drawn_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(campaign: Campaign, out: Path, **_: object) -> None:
        do(replace(campaign, optimizers={"rbf": campaign.optimizers["rbf"]}), out)
        raise KeyboardInterrupt

    monkeypatch.setattr(campaigns, "run_campaign", interrupted)
    context = Context(tmp_path, "smoke")
    with pytest.raises(KeyboardInterrupt):
        levy2d.run(context)
    assert {"levy2d.png", "table.md"} <= names(tmp_path)


def test_campaign_interrupted_before_its_first_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(campaigns, "run_campaign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        levy2d.run(Context(tmp_path, "smoke"))
    assert not list(tmp_path.iterdir())


def test_failed_runs_are_reported_after_the_others_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_failure(campaign: Campaign, out: Path, **_: object) -> Outcome:
        do(replace(campaign, optimizers={"rbf": campaign.optimizers["rbf"]}), out)
        return Outcome(failed={"beta-paper/levy-2-centre/0": Path("0.error")})

    monkeypatch.setattr(campaigns, "run_campaign", with_failure)
    with pytest.raises(RuntimeError, match=r"1 runs failed, see 0\.error; the others are drawn"):
        levy2d.run(Context(tmp_path, "smoke"))
    assert "levy2d.png" in names(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", CAMPAIGNS)
def test_smoke_run_resumes(name: str, tmp_path: Path) -> None:
    def files() -> dict[str, int]:
        folder = tmp_path / name / "runs/smoke"
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}

    first = reproduce(name, scale="smoke", out=tmp_path, workers=2)
    done = files()
    assert len(done) == sum(len(campaign.runs()) for campaign in CAMPAIGNS[name]("smoke"))
    lost = next(iter(done))
    (tmp_path / name / "runs/smoke" / lost).unlink()
    assert isinstance(first, Summary)
    assert verdicts(first.claims)
    again = reproduce(name, scale="smoke", out=tmp_path)
    now = files()
    assert {key for key in done if done[key] != now[key]} == {lost}
    assert [claim.checks for claim in again.claims] == [claim.checks for claim in first.claims]
    assert again.figures == first.figures
    record = json.loads((tmp_path / name / "reproduction.json").read_text())
    assert set(record["files"]) | {"reproduction.json"} == names(tmp_path / name)


# Elsewhere


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_elsewhere", ROOT / "examples/run_elsewhere.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "run_elsewhere", module)
    spec.loader.exec_module(module)
    return module


def test_runs_from_elsewhere_are_kept_by_the_campaign(tmp_path: Path, elsewhere: ModuleType) -> None:
    (campaign,) = CAMPAIGNS["levy2d"]("smoke")
    campaign = replace(campaign, optimizers={"rbf": OptimizerChoice("random"), "matern": OptimizerChoice("random")})
    runs = campaign.runs()
    assert elsewhere.carry_out_one(runs[0], tmp_path / "json") == ""
    stored = json.loads(gzip.decompress((tmp_path / f"json/{runs[0].key}.json.gz").read_bytes()))
    assert elsewhere.collect(tmp_path / "json", tmp_path / "runs") == 1
    assert elsewhere.collect(tmp_path / "json", tmp_path / "runs") == 0
    assert (tmp_path / f"runs/{runs[0].key}.parquet").read_bytes() == encode(Record(**stored))
    outcome = run_campaign(campaign, tmp_path / "runs", executor=Here())
    assert (outcome.kept, outcome.done) == ([runs[0].key], [runs[1].key])
    table = read_results(tmp_path / "runs").query("optimizer == 'rbf'")
    fresh = perform(runs[0])
    assert table["best"].tolist() == [row["best"] for row in fresh.rows]
    assert [list(x) for x in table["x"]] == [row["x"] for row in fresh.rows]


def test_failure_elsewhere_leaves_no_file(tmp_path: Path, elsewhere: ModuleType) -> None:
    run = replace(CAMPAIGNS["levy2d"]("smoke")[0].runs()[0], problem="no-such-problem")
    assert "ValueError" in elsewhere.carry_out_one(run, tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_runs_elsewhere_need_little_and_stop_in_time(tmp_path: Path) -> None:
    bare = (
        "import runpy, sys\n"
        "for name in ('pandas', 'pyarrow', 'matplotlib', 'rich', 'typer', 'optuna'): sys.modules[name] = None\n"
        f"sys.argv = ['run_elsewhere.py', 'levy2d', '--scale', 'smoke', '--out', {str(tmp_path)!r}, *sys.argv[1:]]\n"
        f"runpy.run_path({str(ROOT / 'examples/run_elsewhere.py')!r}, run_name='__main__')\n"
    )
    program = tmp_path / "bare.py"
    program.write_text(bare.replace("runpy.run_path", "if __name__ == '__main__': runpy.run_path"))

    def output(*arguments: str) -> list[str]:
        command = [sys.executable, str(program), "--workers", "1", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert output("--seconds", "0.001") == ["3 of 3 runs to do, 1 at a time", "0 runs done, 3 not started"]
    first, *done, last = output()
    assert first == "3 of 3 runs to do, 1 at a time"
    assert [line.split()[1] for line in done] == ["done"] * 3
    assert last == "3 runs done, 0 not started"
    assert len(list(tmp_path.glob("*/levy-2-centre/0.json.gz"))) == 3
    assert output() == ["0 of 3 runs to do, 1 at a time", "0 runs done, 0 not started"]


def test_finished_draws_what_is_there_and_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaigns, "run_campaign", lambda *_, **__: pytest.fail("a search was started"))
    with pytest.raises(ValueError, match="holds no finished searches; leave --finished out"):
        levy2d.run(Context(tmp_path, "smoke", finished=True))

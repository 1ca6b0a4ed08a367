from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from betabo.lab.bench import load_campaign
from betabo.lab.bench.campaign import campaign_from

EXAMPLE = Path(__file__).parents[3] / "examples" / "campaign.toml"

GOOD = """
[campaign]
name = "good"
seeds = 2
budget = 8
problems = ["ackley-3-face"]

[problems]
functions = ["levy", "branin"]
dims = [2, 4]
placements = ["vertex"]
noise_std = 0.5

[optimizers.beta]
kernel = "beta"
acquisition = "ucb"
beta = 4.0

[optimizers.random]

[optimizers.chance]
use = "random"
"""


def test_a_file_becomes_a_grid() -> None:
    campaign = campaign_from(tomllib.loads(GOOD))
    assert campaign.problems == (
        "ackley-3-face",
        "levy-2-vertex-noise0.5",
        "branin-2-vertex-noise0.5",
        "levy-4-vertex-noise0.5",
        "branin-4-vertex-noise0.5",
    )
    assert campaign.seeds == (0, 1)
    assert {label: choice.use for label, choice in campaign.optimizers.items()} == {
        "beta": "betabo",
        "random": "random",
        "chance": "random",
    }
    assert campaign.optimizers["beta"].settings == {"kernel": "beta", "acquisition": "ucb", "beta": 4.0}
    runs = campaign.runs()
    assert len(runs) == 2 * 5 * 3
    assert len({run.key for run in runs}) == len(runs)
    assert [run.seed for run in runs] == sorted(run.seed for run in runs)
    assert {run.problem: run.starting_points for run in runs} == {
        "ackley-3-face": 6,
        "levy-2-vertex-noise0.5": 5,
        "branin-2-vertex-noise0.5": 5,
        "levy-4-vertex-noise0.5": 8,
        "branin-4-vertex-noise0.5": 8,
    }


def test_the_example_is_a_campaign() -> None:
    campaign = load_campaign(EXAMPLE)
    assert len(campaign.runs()) == 5 * 6 * 4


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("budget = 8", "", r"\[campaign\] has no budget"),
        ("budget = 8", "budget = 7", "budget is 7, expected at least the 8 starting points of levy-4-vertex"),
        ("budget = 8", 'budget = "8"', "budget is '8', expected an integer"),
        ("budget = 8", "budget = 8\nbudgt = 8", "unknown key 'budgt'.*Did you mean 'budget'"),
        ("seeds = 2", "seeds = 0", "there are no seeds"),
        ("seeds = 2", "seeds = [1, 1]", "seeds has 1 twice"),
        ("seeds = 2", "seeds = [-1]", "seeds has -1"),
        ("seeds = 2", "seeds = true", "expected a list of integers"),
        ('name = "good"', 'executor = "slurm"', "executor is 'slurm', expected 'processes' or 'ray'"),
        ('name = "good"', "starting_points = -1", "starting_points is -1"),
        ('name = "good"', 'imports = ["no_such_module"]', "no_such_module.*cannot be imported"),
        ('"ackley-3-face"', '"ackley-3-corner"', "ackley-3-corner"),
        ('"ackley-3-face"', "3", "problems is .3., expected a list of strings"),
        ('functions = ["levy", "branin"]', 'functions = ["lewy"]', "Did you mean 'levy'"),
        ('functions = ["levy", "branin"]', "", r"\[problems\] has no functions"),
        ('kernel = "beta"', 'kernel = "beeta"', "optimizers.beta: kernel is 'beeta'.*Did you mean 'beta'"),
        ('kernel = "beta"', "kern = 3", "optimizers.beta: unknown setting 'kern'"),
        ('kernel = "beta"', "starting_points = 3", r"set it in \[campaign\]"),
        ("[optimizers.beta]", '[optimizers."a/b"]', "called 'a/b', expected letters"),
        ('use = "random"', 'use = "chance"', "optimizers.chance: the optimizer is 'chance'"),
        ("[campaign]", "[campain]", "the file has the unknown key 'campain'.*Did you mean 'campaign'"),
    ],
)
def test_mistakes_are_explained(before, after, message, tmp_path) -> None:
    assert before in GOOD
    path = tmp_path / "bad.toml"
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(ValueError, match=message) as caught:
        load_campaign(path)
    assert str(caught.value).startswith(str(path))


def test_files_that_cannot_be_read_are_explained(tmp_path) -> None:
    with pytest.raises(ValueError, match="there is no file"):
        load_campaign(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("[campaign")
    with pytest.raises(ValueError, match="cannot be read as TOML"):
        load_campaign(tmp_path / "bad.toml")
    (tmp_path / "empty.toml").write_text("")
    with pytest.raises(ValueError, match=r"there is no table \[campaign\]"):
        load_campaign(tmp_path / "empty.toml")


def test_a_campaign_needs_problems_and_optimizers(tiny) -> None:
    with pytest.raises(ValueError, match="there are no problems"):
        replace(tiny, problems=())
    with pytest.raises(ValueError, match="there are no optimizers"):
        replace(tiny, optimizers={})

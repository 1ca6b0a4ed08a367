from __future__ import annotations

import pytest

from betabo.lab.bench import OPTIMIZERS, OptimizerEntry
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.peers import SUITES, Suite, bbob_suite, plan_peers, read_not_run, record_not_run, suites_named
from betabo.lab.problems import problem_by_name

TINY = {
    "synthetic-6": Suite("synthetic-6", "Two problems.", ("levy-6-face", "branin-6-centre"), 8, 5),
    "real": Suite("real", "One.", ("pressure_vessel-4-centre",), 9, 6),
}


def test_suites_are_the_placed_functions_and_real_problems() -> None:
    large, small, real = (SUITES[name] for name in ("synthetic-20", "synthetic-6", "real"))
    assert (large.starting_points, large.budget) == (60, 60 + 80)
    assert (small.starting_points, small.budget) == (18, 18 + 42)
    for suite, dim in ((large, 20), (small, 6)):
        assert len(set(suite.problems)) == 15
        assert {problem_by_name(name).dim for name in suite.problems} == {dim}
        assert all(sum(name.endswith(p) for name in suite.problems) == 5 for p in ("centre", "face", "vertex"))
    names = [name for suite in SUITES.values() for name in suite.problems]
    assert len(names) == len(set(names))
    assert sum("noise" in name for name in real.problems) == 2


def test_a_suite_of_bbob_has_all_functions_in_each_dimension() -> None:
    two, five = suites_named("sbox", dims=[2, 5], instances=[1, 4], evaluations=10)
    assert (two.name, two.budget, five.name, five.budget) == ("sbox-2", 20, "sbox-5", 50)
    assert five.problems[:3] == ("sbox-f1-d5-i1", "sbox-f1-d5-i4", "sbox-f2-d5-i1")
    assert len(set(five.problems)) == 48
    assert bbob_suite("bbob-boxed", 20).starting_points == 40


class Missing(RandomSearch):
    def __init__(self) -> None:
        raise ImportError("this optimizer needs nothing: pip install 'betabo[peers]'")


def make_tiny(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("betabo.lab.bench.peers.SUITES", TINY)
    patch.setitem(OPTIMIZERS, "absent", OptimizerEntry("absent", "Not installed.", Missing))


@pytest.fixture
def tiny(monkeypatch) -> None:
    """Two tiny suites, and an optimizer whose package is missing."""
    make_tiny(monkeypatch)


@pytest.mark.usefixtures("tiny")
def test_a_plan_has_a_campaign_a_suite_and_no_settings() -> None:
    plan = plan_peers(suites_named("all"), ["random", "betabo"], seeds=3, common_start=True)
    assert list(plan.campaigns) == ["synthetic-6", "real"]
    campaign = plan.campaigns["synthetic-6"]
    assert (campaign.budget, campaign.starting_points, campaign.seeds) == (8, 5, (0, 1, 2))
    assert {choice.use: choice.settings for choice in campaign.optimizers.values()} == {"random": {}, "betabo": {}}
    assert plan.not_run == {}
    assert list(plan_peers(suites_named("real"), ["random"], seeds=1).campaigns) == ["real"]


@pytest.mark.usefixtures("tiny")
def test_an_optimizer_that_plans_ahead_is_told_the_evaluations_after_the_starting_points(monkeypatch) -> None:
    class Planning(RandomSearch):
        def __init__(self, budget: int = 100) -> None:
            self.budget = budget

    monkeypatch.setitem(OPTIMIZERS, "planning", OptimizerEntry("planning", "Plans.", Planning, ("budget",)))
    plan = plan_peers(suites_named("all"), ["planning"], seeds=1, common_start=True)
    settings = {name: campaign.optimizers["planning"].settings for name, campaign in plan.campaigns.items()}
    assert settings == {"synthetic-6": {"budget": 8 - 5}, "real": {"budget": 9 - 6}}
    own = plan_peers(suites_named("real"), ["planning"], seeds=1).campaigns["real"]
    assert (own.optimizers["planning"].settings, own.starting_points) == ({"budget": 9}, 0)


@pytest.mark.usefixtures("tiny")
def test_what_is_not_installed_is_listed_and_not_hidden(tmp_path, monkeypatch) -> None:
    plan = plan_peers(suites_named("real"), ["random", "absent"], seeds=1)
    assert plan.not_run == {"absent": "this optimizer needs nothing: pip install 'betabo[peers]'"}
    assert list(plan.campaigns["real"].optimizers) == ["random"]
    record_not_run(plan, tmp_path)
    assert read_not_run(tmp_path) == plan.not_run
    monkeypatch.setitem(OPTIMIZERS, "absent", OptimizerEntry("absent", "Installed now.", RandomSearch))
    record_not_run(plan_peers(suites_named("real"), ["absent"], seeds=1), tmp_path)
    assert read_not_run(tmp_path) == {}


@pytest.mark.usefixtures("tiny")
def test_a_problem_without_its_package_is_listed(monkeypatch) -> None:
    def fails(name: str):
        raise ImportError(f"the problem {name} needs a package")

    monkeypatch.setattr(
        "betabo.lab.bench.peers.problem_by_name", lambda n: fails(n) if "vessel" in n else problem_by_name(n)
    )
    plan = plan_peers(suites_named("all"), ["random"], seeds=1)
    assert list(plan.campaigns) == ["synthetic-6"]
    assert list(plan.not_run) == ["pressure_vessel-4-centre"]
    with pytest.raises(ValueError, match="none of the problems can be run: pressure_vessel"):
        plan_peers(suites_named("real"), ["random"], seeds=1)


@pytest.mark.usefixtures("tiny")
def test_bad_plans_are_explained() -> None:
    with pytest.raises(ValueError, match="'unreal', expected one of synthetic-6, real, sbox, bbob, bbob-boxed, all"):
        suites_named("unreal")
    with pytest.raises(ValueError, match="evaluations is 0, expected at least 1"):
        suites_named("sbox", [2], [1], 0)
    with pytest.raises(ValueError, match="the optimizer is 'rando'"):
        plan_peers(suites_named("real"), ["rando"])
    with pytest.raises(ValueError, match="seeds is 0"):
        plan_peers(suites_named("real"), ["random"], seeds=0)
    with pytest.raises(ValueError, match="none of the optimizers can be run: absent"):
        plan_peers(suites_named("real"), ["absent"])

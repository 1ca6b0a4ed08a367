from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from betabo.lab.bench import Campaign, CampaignOutcome, runner
from betabo.lab.reproduce import (
    REPRODUCTIONS,
    Context,
    Searches,
    Summary,
)
from betabo.lab.reproduce.runner import reproduce
from lab.reproduce.case import campaigns_of, do, names, verdicts


def test_interrupted_campaign_is_drawn_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(campaign: Campaign, out: Path, **_: object) -> None:
        do(replace(campaign, optimizers={"rbf": campaign.optimizers["rbf"]}), out)
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_campaign", interrupted)
    context = Context(tmp_path, "smoke")
    with pytest.raises(KeyboardInterrupt):
        REPRODUCTIONS["levy2d"].run(context)
    assert {"levy2d.png", "table.md"} <= names(tmp_path)


def test_campaign_interrupted_before_its_first_run_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run_campaign", interrupted)
    with pytest.raises(KeyboardInterrupt):
        REPRODUCTIONS["levy2d"].run(Context(tmp_path, "smoke"))
    assert not list(tmp_path.iterdir())


def test_failed_runs_are_reported_after_the_others_are_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def with_failure(campaign: Campaign, out: Path, **_: object) -> CampaignOutcome:
        do(replace(campaign, optimizers={"rbf": campaign.optimizers["rbf"]}), out)
        return CampaignOutcome(failed={"beta-paper/levy-2-centre/0": Path("0.error")})

    monkeypatch.setattr(runner, "run_campaign", with_failure)
    with pytest.raises(RuntimeError, match=r"1 runs failed, see 0\.error; the others are drawn"):
        REPRODUCTIONS["levy2d"].run(Context(tmp_path, "smoke"))
    assert "levy2d.png" in names(tmp_path)


def test_finished_draws_what_is_there_and_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run_campaign", lambda *_, **__: pytest.fail("a search was started"))
    with pytest.raises(ValueError, match="holds no finished searches; leave --finished out"):
        REPRODUCTIONS["levy2d"].run(Context(tmp_path, "smoke", finished=True))


SEARCHED = [name for name, entry in REPRODUCTIONS.items() if isinstance(entry, Searches)]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEARCHED)
def test_smoke_run_resumes(name: str, tmp_path: Path) -> None:
    def files() -> dict[str, int]:
        folder = tmp_path / name / "runs/smoke"
        return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}

    first = reproduce(name, scale="smoke", out=tmp_path, workers=2)
    done = files()
    assert len(done) == sum(len(campaign.runs()) for campaign in campaigns_of(name, "smoke"))
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


def test_finished_searches_are_taken_from_the_packed_file(tmp_path: Path) -> None:
    (campaign,) = campaigns_of("acquisitions", "smoke")
    first, again = (
        Context(tmp_path / "first", "smoke", finished=True),
        Context(tmp_path / "again", "smoke", finished=True),
    )
    do(campaign, first.out / "runs/smoke")
    summary = REPRODUCTIONS["acquisitions"].run(first)
    assert "searches-smoke.parquet" in first.files
    again.out.mkdir()
    shutil.copy(first.out / "searches-smoke.parquet", again.out)
    assert REPRODUCTIONS["acquisitions"].run(again) == summary
    assert (again.out / "table.md").read_text() == (first.out / "table.md").read_text()
    assert summary.settings.endswith("; 3 iterations, 20 of 20 searches")
    assert (first.out / "finished.md").read_text().startswith("20 of 20 searches are finished.")

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path

from betabo.lab.bench import Campaign, OptimizerChoice, run_campaign
from betabo.lab.bench.executor import Event, Finished, Started
from betabo.lab.bench.run import Run, perform
from betabo.lab.bench.storage import encode
from betabo.lab.reproduce import (
    REPRODUCTIONS,
    Searches,
    Summary,
)
from betabo.lab.reproduce.entry import Claim, Scale


class Here:
    """Carries out runs in this process, one after another."""

    workers = 1

    def execute(self, runs: Sequence[Run]) -> Generator[Event]:
        for run in runs:
            yield Started(run)
            yield Finished(run, encode(perform(run)))


def campaigns_of(name: str, scale: Scale) -> tuple[Campaign, ...]:
    """The searches behind a reproduction."""
    entry = REPRODUCTIONS[name]
    assert isinstance(entry, Searches)
    return entry.campaigns(scale)


def do(campaign: Campaign, folder: Path) -> Path:
    """Carry out a campaign with random search in place of every optimizer, which takes no time."""
    random = {label: OptimizerChoice("random") for label in campaign.optimizers}
    run_campaign(replace(campaign, optimizers=random), folder, executor=Here())
    return folder


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


def verdicts(claims: tuple[Claim, ...] | Summary) -> list[str]:
    """The verdicts on claims, each of which has something to check."""
    claims = claims.claims if isinstance(claims, Summary) else claims
    assert all(claim.checks for claim in claims)
    return [claim.verdict for claim in claims]


def assert_files_are_those_of_the_record(out: Path, summary: Summary) -> None:
    record = json.loads((out / "reproduction.json").read_text())
    assert sorted(path.name for path in out.iterdir()) == sorted([*record["files"], "reproduction.json"])
    assert {Path(file).suffix for file in record["files"]} >= {".png", ".pdf", ".csv"}
    assert record["comparison"] == summary.comparison
    assert len(record["comparison"].splitlines()) == 1
    assert str(out) not in json.dumps(record)

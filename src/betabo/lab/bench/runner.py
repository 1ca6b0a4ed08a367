"""Carry out what is missing of a campaign."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from betabo.files import write_bytes, write_text
from betabo.lab.bench.campaign import Campaign
from betabo.lab.bench.display import Display
from betabo.lab.bench.executor import Executor, Failed, Finished
from betabo.lab.bench.processes import ProcessExecutor
from betabo.lab.bench.ray_tasks import RayExecutor
from betabo.lab.bench.run import Run
from betabo.lab.bench.storage import read_metadata

CAMPAIGN_FILE = "campaign.json"


@dataclass
class CampaignOutcome:
    """How a campaign ended.

    Attributes:
        kept: Runs that were done before.
        done: Runs that were done now.
        failed: Files with the errors of the runs that failed, by the key of the run.
    """

    kept: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    failed: dict[str, Path] = field(default_factory=dict)


def run_campaign(
    campaign: Campaign,
    out: str | Path,
    *,
    workers: int | None = None,
    display: Display | None = None,
    executor: Executor | None = None,
) -> CampaignOutcome:
    """Carry out the runs that have no file yet.

    Each run becomes one file `out/OPTIMIZER/PROBLEM/SEED.parquet`, written whole or not at all. A run that fails leaves
    its traceback in `SEED.error`, is reported in the outcome, and is tried again next time.

    Args:
        campaign: What is to be done.
        out: The folder of the runs. It may hold runs of an earlier, smaller version of the campaign.
        workers: Runs at a time; None is 1 for processes and all CPUs for Ray.
        display: Shows what happens.
        executor: Carries out the runs, in place of the one that the campaign names.

    Raises:
        ValueError: A run in the folder was made with other settings, or another campaign is running there.
    """
    if workers is not None and workers < 1:
        raise ValueError(f"workers is {workers}, expected at least 1.")
    out = Path(out)
    display = display or Display()
    outcome = CampaignOutcome()
    with _alone_in(out):
        runs = campaign.runs()
        missing = [run for run in runs if not _is_done(run, out)]
        outcome.kept = [run.key for run in runs if run not in missing]
        write_text(out / CAMPAIGN_FILE, json.dumps(campaign.to_json(), indent=1))
        if not missing:
            return outcome
        if executor is None:
            executor = RayExecutor(workers) if campaign.executor == "ray" else ProcessExecutor(workers or 1)
        with (
            display.showing(missing, kept=len(outcome.kept), workers=executor.workers),
            closing(executor.execute(missing)) as events,
        ):
            for event in events:
                if isinstance(event, Finished):
                    write_bytes(_file(event.run, out), event.contents, parents=True)
                    _error_file(event.run, out).unlink(missing_ok=True)
                    outcome.done.append(event.run.key)
                elif isinstance(event, Failed):
                    write_text(_error_file(event.run, out), event.error, parents=True)
                    outcome.failed[event.run.key] = _error_file(event.run, out)
                display.show(event)
    return outcome


def _file(run: Run, out: Path) -> Path:
    return out / f"{run.key}.parquet"


def _error_file(run: Run, out: Path) -> Path:
    return out / f"{run.key}.error"


def _is_done(run: Run, out: Path) -> bool:
    path = _file(run, out)
    if not path.exists():
        return False
    made, wanted = read_metadata(path)["configuration"], json.loads(json.dumps(run.configuration()))
    for name, value in wanted.items():
        if made.get(name) != value:
            raise ValueError(
                f"{path} was made with {name} = {made.get(name)!r}, the campaign has {value!r}; "
                "choose another folder, or move the file away."
            )
    return True


@contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    """One campaign at a time in a folder. The lock goes with its process, even when that is killed."""
    out.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(out / ".lock", timeout=0):
            yield
    except Timeout as error:
        raise ValueError(f"another campaign is running in {out}; wait for it, or choose another folder.") from error

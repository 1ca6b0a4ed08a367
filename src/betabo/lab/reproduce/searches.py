"""Reproductions that are drawn from searches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from betabo.lab.reproduce.entry import Context, Reproduction, Scale, Summary

if TYPE_CHECKING:
    from betabo.lab.bench.campaign import Campaign

_START_SECONDS = 15.0  # until a worker has loaded what it needs, and for the figures


@dataclass(frozen=True)
class Searches(Reproduction):
    """A reproduction whose data are searches, which `summarize(context, folder)` draws, finished or not.

    The searches are those of the function of its name in `betabo.lab.reproduce.campaigns`. They are kept in the folder
    `runs/SCALE` of the reproduction, and only what is missing there is done.
    """

    def campaigns(self, scale: Scale) -> tuple[Campaign, ...]:
        """The searches of a scale."""
        from betabo.lab.reproduce import campaigns

        return cast("tuple[Campaign, ...]", getattr(campaigns, self.name.replace("-", "_"))(scale))

    def estimate(self, scale: Scale) -> float:
        """Seconds that the searches take on two cores, each with a worker."""
        from betabo.lab.reproduce.campaigns import expected_seconds

        runs = [run for campaign in self.campaigns(scale) for run in campaign.runs()]
        return _START_SECONDS + sum(map(expected_seconds, runs)) / 2

    def run(self, context: Context) -> Summary:
        """Do the searches that are missing, then draw and compare. Interrupted, it draws what is there and ends.

        Raises:
            ValueError: None is finished, and none is to be started.
            RuntimeError: Some failed. All others are done and drawn.
        """
        from betabo.lab.bench.display import Display, Live
        from betabo.lab.bench.runner import run_campaign

        summarize = self.module().summarize
        folder = context.out / "runs" / context.scale
        if context.finished and not any(folder.glob("*/*/*.parquet")):
            raise ValueError(f"{folder} holds no finished searches; leave --finished out to start some.")
        failed: dict[str, Path] = {}
        try:
            for campaign in () if context.finished else self.campaigns(context.scale):
                display = Live() if context.progress else Display()
                failed |= run_campaign(campaign, folder, workers=context.workers, display=display).failed
        except KeyboardInterrupt:
            with suppress(ValueError):  # there may be no search yet
                summarize(context, folder)
            raise
        summary: Summary = summarize(context, folder)
        if failed:
            first = next(iter(failed.values()))
            raise RuntimeError(
                f"{len(failed)} runs failed, see {first}; the others are drawn. Start again to retry them."
            )
        return summary

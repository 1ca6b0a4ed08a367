"""Reproductions that are drawn from searches."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
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

    Args:
        settings: Under which settings the searches are made, so that every verdict says it.
        packed: Whether finished searches are kept in one small file beside the figures too, see
            `betabo.lab.reproduce.finished_searches`, and taken from there. Their points are not.
    """

    settings: str
    packed: bool = True

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

        How much is there stands in `finished.md`.

        Raises:
            ValueError: None is finished, and none is to be started.
            RuntimeError: Some failed. All others are done and drawn.
        """
        from betabo.lab.bench.display import Display, Live
        from betabo.lab.bench.runner import run_campaign
        from betabo.lab.reproduce.finished_searches import unpack

        folder, campaigns = context.out / "runs" / context.scale, self.campaigns(context.scale)
        if self._pack(context).exists():
            unpack(self._pack(context), folder)
        if context.finished and not any(folder.glob("*/*/*.parquet")):
            raise ValueError(f"{folder} holds no finished searches; leave --finished out to start some.")
        failed: dict[str, Path] = {}
        try:
            for campaign in () if context.finished else campaigns:
                display = Live() if context.progress else Display()
                failed |= run_campaign(campaign, folder, workers=context.workers, display=display).failed
        except KeyboardInterrupt:
            with suppress(ValueError):  # there may be no search yet
                self._draw(context, folder, campaigns)
            raise
        summary = self._draw(context, folder, campaigns)
        if failed:
            first = next(iter(failed.values()))
            raise RuntimeError(
                f"{len(failed)} runs failed, see {first}; the others are drawn. Start again to retry them."
            )
        return summary

    def _draw(self, context: Context, folder: Path, campaigns: tuple[Campaign, ...]) -> Summary:
        from betabo.lab.reproduce.finished_searches import how_much, pack

        summary: Summary = self.module().summarize(context, folder)
        runs = [run for campaign in campaigns for run in campaign.runs()]
        count, table = how_much(folder, runs)
        context.save_text("finished.md", table)
        if self.packed:
            pack(folder, self._pack(context))
            context.files.append(self._pack(context).name)
        iterations = sorted({run.budget - run.starting_points for run in runs})
        settings = f"{self.settings}; {', '.join(map(str, iterations))} iterations, {count} of {len(runs)} searches"
        claims = tuple(replace(claim, under_settings=True) for claim in summary.claims)
        return replace(summary, claims=claims, settings=settings)

    def _pack(self, context: Context) -> Path:
        return context.out / f"searches-{context.scale}.parquet"

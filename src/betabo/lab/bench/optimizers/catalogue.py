"""The optimizers by name. To add one: a file with an `OptimizerAdapter`, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from betabo.lab.bench.optimizers.adapter import OptimizerAdapter
from betabo.lab.bench.optimizers.ax_search import AxSearch
from betabo.lab.bench.optimizers.baybe_search import BaybeSearch
from betabo.lab.bench.optimizers.betabo_search import BetaboSearch
from betabo.lab.bench.optimizers.botorch_search import BotorchSearch
from betabo.lab.bench.optimizers.cobyqa_search import CobyqaSearch
from betabo.lab.bench.optimizers.corners import CornerSearch
from betabo.lab.bench.optimizers.elsewhere_search import ElsewhereSearch
from betabo.lab.bench.optimizers.nevergrad_search import NevergradSearch
from betabo.lab.bench.optimizers.optuna_search import OptunaCmaEs, OptunaGP, OptunaTPE
from betabo.lab.bench.optimizers.pybads_search import PybadsSearch
from betabo.lab.bench.optimizers.pycma_lq_search import PycmaLqSearch
from betabo.lab.bench.optimizers.pycma_search import PycmaSearch
from betabo.lab.bench.optimizers.random_search import RandomSearch
from betabo.lab.bench.optimizers.smac_search import SmacSearch
from betabo.lab.bench.optimizers.turbo import TurboSearch
from betabo.optimizer import Config
from betabo.suggestions import did_you_mean


@dataclass(frozen=True)
class OptimizerEntry:
    """An optimizer of the catalogue.

    Attributes:
        name: Name in `OPTIMIZERS`.
        description: What it is, in one line.
        make: `make(**settings)` gives a new adapter. It raises TypeError or ValueError for bad settings.
        settings: The names of the settings it takes.
    """

    name: str
    description: str
    make: Callable[..., OptimizerAdapter]
    settings: tuple[str, ...] = ()


def _betabo(**settings: Any) -> OptimizerAdapter:
    return BetaboSearch(Config(**settings))


_SETTINGS = tuple(f.name for f in fields(Config) if f.name != "starting_points")  # the campaign gives those

OPTIMIZERS: dict[str, OptimizerEntry] = {
    entry.name: entry
    for entry in (
        OptimizerEntry("betabo", "betabo with any kernel and acquisition function.", _betabo, _SETTINGS),
        OptimizerEntry("random", "Uniform random points after the starting points.", RandomSearch),
        OptimizerEntry("corners", "Random vertices of the box after the starting points.", CornerSearch),
        OptimizerEntry(
            "botorch",
            "BoTorch's default loop: SingleTaskGP, log expected improvement.",
            BotorchSearch,
            ("restarts", "raw_samples", "around_best"),
        ),
        OptimizerEntry("turbo", "TuRBO-1: Thompson sampling in one trust region.", TurboSearch),
        OptimizerEntry("cobyqa", "COBYQA of SciPy, again and again from random points.", CobyqaSearch),
        OptimizerEntry("cobyqa-scaled", "The same with SciPy's option `scale`.", lambda: CobyqaSearch(scale=True)),
        OptimizerEntry("ax", "Ax with its default generation strategy.", AxSearch),
        OptimizerEntry("ax-quality", "The same with `method='quality'`.", lambda: AxSearch("quality")),
        OptimizerEntry("baybe", "BayBE with its default recommender.", BaybeSearch),
        OptimizerEntry("optuna-gp", "Optuna's GPSampler.", OptunaGP, ("deterministic",)),
        OptimizerEntry("optuna-tpe", "Optuna's TPESampler.", OptunaTPE),
        OptimizerEntry("optuna-cmaes", "Optuna's CmaEsSampler from the best starting point.", OptunaCmaEs),
        OptimizerEntry("pycma", "CMA-ES of pycma from the best starting point.", PycmaSearch, ("sigma",)),
        OptimizerEntry("pycma-lq", "lq-CMA-ES of pycma, `fmin_lq_surr`, from a random point.", PycmaLqSearch),
        OptimizerEntry("pybads", "PyBADS, Bayesian adaptive direct search, from a random point.", PybadsSearch),
        OptimizerEntry("smac", "SMAC3's BlackBoxFacade for a planned budget.", SmacSearch, ("budget",)),
        *(
            OptimizerEntry(name, f"{title}, in an environment of its own.", partial(ElsewhereSearch, name))
            for name, title in (("hebo", "HEBO"), ("vizier", "Google's Vizier"), ("bayes-opt", "bayesian-optimization"))
        ),
        OptimizerEntry("nevergrad", "Nevergrad's NGOpt for a planned budget.", NevergradSearch, ("budget",)),
    )
}
"""The catalogue: each entry under its name."""


def register_optimizer(entry: OptimizerEntry) -> None:
    """Add an optimizer to the catalogue."""
    if entry.name in OPTIMIZERS:
        raise ValueError(f"name is {entry.name!r}, which is taken by: {OPTIMIZERS[entry.name].description}")
    OPTIMIZERS[entry.name] = entry


def make_adapter(name: str, settings: Mapping[str, Any]) -> OptimizerAdapter:
    """A new optimizer.

    Args:
        name: A name in `OPTIMIZERS`.
        settings: Its settings by name.

    Raises:
        ValueError: The name or a setting is unknown, or a setting's value is not accepted.
    """
    if name not in OPTIMIZERS:
        hint = did_you_mean(name, OPTIMIZERS)
        raise ValueError(f"the optimizer is {name!r}, expected one of {', '.join(map(repr, OPTIMIZERS))}.{hint}")
    entry = OPTIMIZERS[name]
    for setting in settings:
        if setting not in entry.settings:
            known = ", ".join(entry.settings) or "none"
            hint = did_you_mean(setting, entry.settings)
            raise ValueError(f"unknown setting {setting!r} of the optimizer {name!r}, which takes {known}.{hint}")
    try:
        return entry.make(**settings)
    except TypeError as error:
        raise ValueError(str(error)) from error

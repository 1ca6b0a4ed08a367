"""A campaign: a grid of optimizers, problems and seeds, as a TOML file describes it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from betabo.lab.bench.optimizers import OPTIMIZERS, make_adapter
from betabo.lab.bench.run import Run
from betabo.lab.problems import PLACEMENTS, BoundedProblem, Placement, problem_by_name
from betabo.lab.problems.placement import EPSILON
from betabo.optimizer import Config
from betabo.suggestions import did_you_mean

ExecutorName: TypeAlias = Literal["processes", "ray"]

_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")
_CAMPAIGN = ("name", "seeds", "budget", "starting_points", "problems", "executor", "imports")
_GRID = ("functions", "dims", "placements", "epsilon", "noise_std")


@dataclass(frozen=True)
class OptimizerChoice:
    """An optimizer with settings.

    Attributes:
        use: A name in `betabo.lab.bench.optimizers.OPTIMIZERS`.
        settings: Its settings by name.
    """

    use: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Campaign:
    """A grid of runs. Everything is checked when it is made.

    Attributes:
        name: Name of the campaign.
        optimizers: The optimizers under the names that tables and figures show.
        problems: Names of problems, see `betabo.lab.problems.problem_by_name`.
        seeds: Seeds; each optimizer does each problem once with each seed.
        budget: Evaluations of a run, starting points included.
        starting_points: Starting points of a run, the same for all optimizers; None is twice the dimension, between 5
            and 60; 0 lets each optimizer start as it would by itself.
        executor: `"processes"` on this machine, or `"ray"`.
        imports: Modules that every worker imports first, which register problems or optimizers of their own.

    Example:
        >>> campaign = Campaign(
        ...     name="kernels",
        ...     optimizers={"beta": OptimizerChoice("betabo", {"kernel": "beta"}), "random": OptimizerChoice("random")},
        ...     problems=("levy-4-centre", "levy-4-vertex"),
        ...     seeds=(0, 1, 2),
        ...     budget=40,
        ... )
        >>> len(campaign.runs())
        12
    """

    name: str
    optimizers: Mapping[str, OptimizerChoice]
    problems: tuple[str, ...]
    seeds: tuple[int, ...]
    budget: int
    starting_points: int | None = None
    executor: ExecutorName = "processes"
    imports: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _import_all(self.imports)
        if self.executor not in get_args(ExecutorName):
            raise ValueError(f"executor is {self.executor!r}, expected 'processes' or 'ray'.")
        if not self.optimizers:
            raise ValueError('there are no optimizers; add a table such as [optimizers.beta] with kernel = "beta".')
        for label, choice in self.optimizers.items():
            if not _LABEL.fullmatch(label):
                raise ValueError(f"an optimizer is called {label!r}, expected letters, digits and . _ + - only.")
            try:
                make_adapter(choice.use, choice.settings)
            except ValueError as error:
                raise ValueError(f"optimizers.{label}: {error}") from error
        if not self.problems:
            raise ValueError('there are no problems; name some, such as problems = ["levy-4-vertex"].')
        _check_distinct("problems", self.problems)
        if not self.seeds:
            raise ValueError("there are no seeds; give a number of them or a list.")
        _check_distinct("seeds", self.seeds)
        if min(self.seeds) < 0:
            raise ValueError(f"seeds has {min(self.seeds)}, expected numbers >= 0.")
        if self.starting_points is not None and self.starting_points < 0:
            raise ValueError(f"starting_points is {self.starting_points}, expected at least 0.")
        for problem in self.problems:
            starts = self._design_size(problem)
            if self.budget < starts:
                raise ValueError(
                    f"budget is {self.budget}, expected at least the {starts} starting points of {problem}; "
                    "raise it, or set starting_points."
                )

    def runs(self) -> list[Run]:
        """All runs, seed by seed, so that what is done early can be compared."""
        sizes = {problem: self._design_size(problem) for problem in self.problems}
        return [
            Run(label, choice.use, dict(choice.settings), problem, seed, self.budget, sizes[problem], self.imports)
            for seed, problem, (label, choice) in product(self.seeds, self.problems, self.optimizers.items())
        ]

    def to_json(self) -> dict[str, Any]:
        """The campaign as JSON, for the record."""
        return asdict(self)

    def _design_size(self, problem: str) -> int:
        if self.starting_points is not None:
            return self.starting_points
        return Config().design_size(problem_by_name(problem).dim)


def load_campaign(path: str | Path) -> Campaign:
    """Read a campaign from a TOML file.

    Raises:
        ValueError: The file is not there, is not TOML, or says something that makes no sense; the message names it.
    """
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise ValueError(f"there is no file {path}.") from error
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as TOML: {error}.") from error
    try:
        return campaign_from(data)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def campaign_from(data: Mapping[str, Any]) -> Campaign:
    """The campaign that the contents of a TOML file describe."""
    _check_keys("the file", data, ("campaign", "optimizers", "problems"))
    for table in ("campaign", "optimizers"):
        if not isinstance(data.get(table), dict):
            raise ValueError(f"there is no table [{table}].")
    campaign = data["campaign"]
    _check_keys("[campaign]", campaign, _CAMPAIGN)
    for key in ("seeds", "budget"):
        if key not in campaign:
            raise ValueError(f"[campaign] has no {key}.")
    seeds = campaign["seeds"]
    imports = tuple(_list_of(str, "imports", campaign.get("imports", [])))
    _import_all(imports)  # before problems of theirs are named
    names = [*_list_of(str, "problems", campaign.get("problems", [])), *_grid(data.get("problems", {}))]
    return Campaign(
        name=_one_of(str, "name", campaign.get("name", "campaign")),
        optimizers={label: _choice(label, table) for label, table in data["optimizers"].items()},
        problems=tuple(dict.fromkeys(names)),
        seeds=tuple(range(seeds)) if _is(int, seeds) else tuple(_list_of(int, "seeds", seeds)),
        budget=_one_of(int, "budget", campaign["budget"]),
        starting_points=None
        if "starting_points" not in campaign
        else _one_of(int, "starting_points", campaign["starting_points"]),
        executor=cast("ExecutorName", _one_of(str, "executor", campaign.get("executor", "processes"))),
        imports=imports,
    )


def _choice(label: str, table: Any) -> OptimizerChoice:
    if not isinstance(table, dict):
        raise ValueError(f"optimizers.{label} is {table!r}, expected a table of settings.")
    settings = dict(table)
    use = settings.pop("use", label if label in OPTIMIZERS else "betabo")
    if "starting_points" in settings:
        raise ValueError(f"optimizers.{label} has starting_points; set it in [campaign], the same for all optimizers.")
    return OptimizerChoice(_one_of(str, f"optimizers.{label}.use", use), settings)


def _grid(table: Any) -> list[str]:
    """Names of the problems of a grid of functions, dimensions and placements."""
    if not isinstance(table, dict):
        raise ValueError("problems is not a table; put a list of names into [campaign], or a grid into [problems].")
    if not table:
        return []
    _check_keys("[problems]", table, _GRID)
    for key in ("functions", "dims"):
        if key not in table:
            raise ValueError(f"[problems] has no {key}.")
    functions = _list_of(str, "functions", table["functions"])
    dims = _list_of(int, "dims", table["dims"])
    placements = _list_of(str, "placements", table.get("placements", list(PLACEMENTS)))
    epsilon = _one_of(float, "epsilon", table.get("epsilon", EPSILON))
    noise = _one_of(float, "noise_std", table.get("noise_std", 0.0))
    return [
        BoundedProblem(function, count, cast("Placement", placement), epsilon, noise).name
        for count, function, placement in product(dims, functions, placements)
    ]


def _import_all(modules: Sequence[str]) -> None:
    for module in modules:
        try:
            import_module(module)
        except ImportError as error:
            raise ValueError(f"imports has {module!r}, which cannot be imported: {error}.") from error


def _check_keys(where: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            hint = did_you_mean(key, known)
            raise ValueError(f"{where} has the unknown key {key!r}, expected some of {', '.join(known)}.{hint}")


def _check_distinct(what: str, values: Sequence[Any]) -> None:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{what} has {value!r} twice.")


def _is(kind: type, value: object) -> bool:
    numeric = kind is float and isinstance(value, int)
    return (isinstance(value, kind) or numeric) and not isinstance(value, bool)


def _one_of(kind: type, what: str, value: Any) -> Any:
    if not _is(kind, value):
        names = {int: "an integer", str: "a string", float: "a number"}
        raise ValueError(f"{what} is {value!r}, expected {names[kind]}.")
    return value


def _list_of(kind: type, what: str, value: Any) -> list[Any]:
    if not isinstance(value, list) or not all(_is(kind, item) for item in value):
        names = {int: "integers", str: "strings"}
        raise ValueError(f"{what} is {value!r}, expected a list of {names[kind]}.")
    return value

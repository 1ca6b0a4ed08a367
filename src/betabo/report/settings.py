"""How a study was made: its objective, kernel and seed, and the command that makes it again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from betabo.optimizer.config import Config
from betabo.optuna.attributes import PLAN
from betabo.report.text import counted
from betabo.space import Space
from betabo.space.text import show_parameter

if TYPE_CHECKING:
    from optuna.study import Study

_OPTIONS = {
    "kernel": "--kernel",
    "acquisition": "--acquisition",
    "noise": "--noise",
    "starting_points": "--starting-points",
}
"""Settings of a search that the command line knows."""


def settings(study: Study) -> list[tuple[str, str]]:
    """Names and values of what a study was told; empty if no plan of betabo's was stored with it.

    What is stored is data: it is shown, and never called.
    """
    plan = study.user_attrs.get(PLAN)
    if not isinstance(plan, Mapping):
        return []
    objective, config = plan.get("objective"), plan.get("config")
    objective = objective if isinstance(objective, Mapping) else {}
    config = config if isinstance(config, Mapping) else {}
    seed = plan.get("seed")
    pairs = [
        ("objective", _shown(objective)),
        ("seed", "none, drawn anew by each worker" if seed is None else str(seed)),
    ]
    pairs += [(name, str(config[name])) for name in ("kernel", "acquisition", "noise") if name in config]
    if config.get("starting_points") is not None:
        pairs.append(("starting points", str(config["starting_points"])))
    if isinstance(plan.get("trials"), int):
        pairs.append(("planned", counted(plan["trials"], "trial")))
    line = command(study.study_name, plan)
    return [*pairs, ("command", line)] if line else pairs


def command(name: str, plan: Mapping[str, Any]) -> str:
    """The command that makes a study, but for the place where it is stored; empty where no command does."""
    try:
        objective, config = plan["objective"], plan["config"]
        words = _objective_words(objective)
        space = Space.from_json(plan["space"])
        for parameter, described in space.parameters.items():
            words += ["--param", f"{parameter}={show_parameter(described)}"]
        words += ["--trials", str(plan["trials"])]
        directions = list(plan["directions"])
        if directions == ["maximize"]:
            words.append("--maximize")
        elif len(directions) > 1:
            words += [word for direction in directions for word in ("--direction", direction)]
        words += _config_words(config)
        if plan["seed"] is not None:
            words += ["--seed", str(plan["seed"])]
        return shlex.join(["betabo", "minimize", *words, "--study", name])
    except (KeyError, TypeError, ValueError):  # an objective or a setting of the user's own, or of another version
        return ""


def _objective_words(objective: Mapping[str, Any]) -> list[str]:
    """The words that name a function or a program.

    Raises:
        ValueError: It is neither.
    """
    kind = objective["type"]
    if kind == "function":
        words = [objective["target"]]
    elif kind == "command":
        words = ["--command", objective["template"]]
        words += ["--result", objective["result"]] if objective["result"] != "last-line" else []
    else:
        raise ValueError(f"there is no command for an objective of the type {kind!r}.")
    return words if objective["timeout"] is None else [*words, "--trial-timeout", f"{objective['timeout']:g}"]


def _config_words(config: Mapping[str, Any]) -> list[str]:
    """The options for settings that are not the usual ones.

    Raises:
        ValueError: One of them has no option.
    """
    words: list[str] = []
    usual = Config().to_json()
    for setting, value in config.items():
        if value == usual.get(setting, value):
            continue
        if setting not in _OPTIONS:
            raise ValueError(f"{setting} has no option.")
        words += [_OPTIONS[setting], str(value)]
    return words


def _shown(objective: Mapping[str, Any]) -> str:
    """A stored objective in a few words."""
    found = objective.get("target", objective.get("template", objective.get("type")))
    return "not recorded" if found is None else str(found)

"""The page: facts and figures of a study in one HTML file that needs no network."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import Sequence
from datetime import datetime
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment
from markupsafe import Markup
from optuna.study import Study

from betabo import __version__
from betabo.files import write_text
from betabo.optuna.model import fit_study
from betabo.report import boundary, outlook, overview
from betabo.report.facts import StudyFacts, read_study
from betabo.report.sections import PageSection, Sections
from betabo.report.settings import settings
from betabo.report.text import counted
from betabo.visible import visible

if TYPE_CHECKING:
    from betabo.optuna.model import StudyModel

_MOST_MODELLED = 20_000  # trials; choosing among more, and reading them, takes minutes


def write_report(study: Study, path: str | os.PathLike[str]) -> None:
    """Write a study as one HTML page; the file appears only when it is complete.

    Args:
        study: An Optuna study, made by any sampler.
        path: The file, which is replaced if it exists.

    Raises:
        TypeError: If `study` is not a study.
    """
    write_text(path, build_report(study))


def build_report(study: Study) -> str:
    """A study as one HTML page, with everything that it needs in it.

    A Gaussian process is fitted to the finished trials for the importance of the parameters and for the predictions. A
    part for which there is not enough data says so.

    Args:
        study: An Optuna study, made by any sampler, with any number of trials, objectives and constraints.

    Raises:
        TypeError: If `study` is not a study.
    """
    if not isinstance(study, Study):
        raise TypeError(f"study is {study!r}, expected an optuna.Study, such as optuna.load_study returns.")
    facts = read_study(study)
    model, why_none = _model(study, facts)
    return _render(facts, Sections(facts, model, why_none), settings(study), model)


def _render(facts: StudyFacts, charts: Sections, told: list[tuple[str, str]], model: StudyModel | None) -> str:
    parameters = boundary.parameter_facts(facts, charts.centre)
    best = "Best point" if facts.has_one_objective else "Pareto front"
    now = datetime.now()
    scripts = [_resource("vendor/plotly-basic.min.js"), _resource("figures.js"), _resource("table.js")]
    environment = Environment(autoescape=True, finalize=_visible, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_resource("template.html")).render(
        facts=facts,
        settings=told,
        best=PageSection("best", best, best),
        sections=charts.all(),
        trials=PageSection("trials", "Trials", "Trials"),
        summary=f"{overview.summary(facts, parameters)} {outlook.outlook(model)}".strip(),
        tiles=overview.tiles(facts, charts.centre),
        hints=outlook.with_estimates(boundary.hints(facts, parameters), model),
        why_no_best=overview.why_no_best(facts),
        parameters=overview.parameter_table(facts, parameters),
        front=overview.front_table(facts, charts.centre),
        version=__version__,
        date=f"{overview.show_day(now)}, {now:%H:%M}",
        policy=_policy(scripts),
        style=Markup(_resource("style.css")),
        figures=Markup(_json_text({key: json.loads(figure.to_json()) for key, figure in charts.figures.items()})),
        rows=Markup(_json_text(overview.trial_table(facts))),
        scripts=[Markup(script) for script in scripts],
    )


def _model(study: Study, facts: StudyFacts) -> tuple[StudyModel | None, str]:
    """The model of a study, or why there is none."""
    count = len(facts.complete)
    if count < 2:
        finished = "none has" if not count else "one has"
        return None, f"A model needs at least two finished trials; {finished} finished."
    if count > _MOST_MODELLED:
        return None, f"A model of {counted(count, 'trial')} would take too long; {_MOST_MODELLED} is the most."
    try:
        return fit_study(study), ""
    except ValueError as error:
        return None, f"There is no model: {error}"


def _visible(value: Any) -> Any:
    """What the page shows of a value of the template; what is written here as `Markup` stays as it is."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _resource(name: str) -> str:
    return files("betabo.report").joinpath(name).read_text(encoding="utf-8")


def _json_text(value: Any) -> str:
    """JSON that may stand in a script element, whatever the strings in it."""
    dumped = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return dumped.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _policy(scripts: Sequence[str]) -> str:
    """The rule that the browser enforces: these scripts and no others, and no network."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'"

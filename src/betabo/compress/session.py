"""A compression from its settings to the stored model. `betabo compress` is options and printing around it."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any

from optuna.study import Study
from optuna.trial import TrialState

from betabo.compress.allocation import check_target
from betabo.compress.by_size import CompressionBySize
from betabo.compress.finish import CompressionSummary, finish
from betabo.compress.objective import CompressionObjective
from betabo.compress.preparation import DENSE_FOLDER, TRAINING_FILE, Prepared, prepare
from betabo.compress.problem import uniform_levels
from betabo.compress.settings import ACQUISITION, CompressionSettings
from betabo.files import write_text
from betabo.optimizer import Config
from betabo.problem.front import pareto_front
from betabo.studies import DEFAULT_STORAGE, Event, Plan, StudyError, load_study, open_study, run_study
from betabo.studies.stored_plan import accept_here, is_from_here, stored_plan

FRONT_FILE = "front.csv"
_NOTICEABLE = 1e-6  # difference of two objectives

Say = Callable[[str], None]
"""Called with a line for people."""


@dataclass(frozen=True)
class CompressionTrial:
    """A compression that was tried: where, and what came of it.

    Attributes:
        number: Its number in the study.
        ratios: The ratio of each coordinate.
        notes: What was noted of it: `size`, `error`, `parameters`, `flops`, `seed`, and `metric_NAME` for each metric.
    """

    number: int
    ratios: Mapping[str, float]
    notes: Mapping[str, Any]

    @property
    def size(self) -> float:
        """Parameters of the compressed layers, as a share of what they were."""
        return float(self.notes["size"])

    @property
    def error(self) -> float:
        """One minus the task's main metric on the validation examples."""
        return float(self.notes["error"])


class CompressionSession:
    """A compression, step by step: prepare, search, look at the front, store a model.

    Each step is done when it is first needed, and everything is stored as it happens: a session with the same settings
    and folder goes on where the last one stopped.

    Args:
        settings: The settings.
        out: Folder for the compressed model and what it is made from.
        study: Name of the study, which goes on if it exists; None for a name from the model and the task.
        storage: Address of the storage of studies.
        logs: Folder of the logs.
        on_stage: Called with a line before each thing that takes long.
        on_warning: Called with a line for each thing that is not as it should be.
        short: Whether the original is trained and judged without the padding that all texts of a batch have, which is
            quicker on a CPU. Trials of a search never are, so that they stay what they were.

    Example:
        >>> settings = CompressionSettings(model="./my-bert", task="mrpc", data="glue/")  # doctest: +SKIP
        >>> session = CompressionSession(settings, "compressed")  # doctest: +SKIP
        >>> session.search()  # doctest: +SKIP
        >>> session.finish().compressed.metrics  # doctest: +SKIP
    """

    def __init__(
        self,
        settings: CompressionSettings,
        out: str | Path,
        *,
        study: str | None = None,
        storage: str = DEFAULT_STORAGE,
        logs: str | Path = "betabo-logs",
        on_stage: Say | None = None,
        on_warning: Say | None = None,
        short: bool = False,
    ) -> None:
        self.settings, self.out = settings, Path(out)
        self._name, self._storage, self._logs = study or study_name(settings), storage, Path(logs)
        self._on_stage, self._on_warning = on_stage, on_warning
        self._config, self._short = Config(**_given(settings)), short

    @classmethod
    def resume(
        cls, study: str, out: str | Path, *, storage: str = DEFAULT_STORAGE, accept: bool = False, **changes: Any
    ) -> CompressionSession:
        """The session of a study that was begun, with the settings that are stored in it.

        Args:
            study: Name of the study.
            out: The folder of that compression.
            storage: Address of the storage of studies.
            accept: Whether to go on, once and from then on, with a study that was made by another user or on another
                machine. Its settings name the model and the files that are read.
            changes: Settings that differ from now on, such as `trials=60`.

        Raises:
            StudyError: There is no such study, it is of something else, or of somebody else and not accepted.
        """
        loaded = load_study(study, storage)
        plan = stored_plan(loaded)
        objective = None if plan is None else Plan.from_json({**plan, "study": study}).objective
        if plan is None or not isinstance(objective, CompressionObjective):
            raise StudyError(f"the study {study!r} is no compression; expected one that `betabo compress` made.")
        if not is_from_here(loaded):
            if not accept:
                raise StudyError(
                    f"the study {study!r} was made by another user or on another machine, with the objective "
                    f"{objective.describe()}; say accept=True to go on with it."
                )
            accept_here(loaded)
        search = {name: plan["config"][name] for name in ("kernel", "starting_points")}
        if not objective.pareto:
            search["acquisition"] = plan["config"]["acquisition"]
        search |= {"trials": plan["trials"], "dense_steps": _dense_steps(Path(out))}
        return cls(objective.convert(CompressionSettings, **search | changes), out, study=study, storage=storage)

    @cached_property
    def prepared(self) -> Prepared:
        """The model, trained for the task if need be and judged; what the folder has already is used."""
        objective = self.settings.convert(CompressionObjective)
        return prepare(objective, self.out, self.settings.dense_steps, on_stage=self._on_stage, short=self._short)

    def check_size(self, size: float, keep: float = 0.0) -> None:
        """See that a size can be reached, from the configuration of the model alone.

        Args:
            size: The size.
            keep: Share of the rows that each layer keeps.

        Raises:
            ValueError: It cannot; the message has the smallest that can.
        """
        objective = self.settings.convert(CompressionObjective)
        check_target(objective.outline(), size, self.settings.bounds, keep)

    @cached_property
    def plan(self) -> Plan:
        """What the workers of the search have to know."""
        return Plan(
            study=self._name,
            storage=self._storage,
            space=self.prepared.plan.space(self.settings.bounds),
            objective=self.prepared.objective,
            trials=self.settings.trials,
            directions=("minimize", "minimize") if self.settings.pareto else ("minimize",),
            config=self._config,
            seed=self.settings.seed,
            logs=self._logs,
        )

    @cached_property
    def study(self) -> Study:
        """The study, opened; a new one that begins with uniform levels has them in its queue."""
        study = open_study(self.plan, on_warning=self._on_warning)
        if self.settings.start == "uniform" and not study.get_trials(deepcopy=False):
            names = self.plan.space.names
            for ratio in uniform_levels(self._config.design_size(len(names)), self.settings.bounds):
                study.enqueue_trial(dict.fromkeys(names, ratio))
        return study

    def by_size(self, **options: Any) -> CompressionBySize:
        """Compressions to any size without a search of the paper's kind, of the same model on the same data.

        Args:
            options: Of `CompressionBySize`, such as `steps=100`.
        """
        return CompressionBySize(self.prepared.objective.problem(), self.out, **options)

    def search(self, workers: int = 1, on_event: Callable[[Event], None] | None = None) -> CompressionTrial:
        """Run the search, or the rest of it, with worker processes.

        Args:
            workers: Number of processes.
            on_event: Called with what happens, in this thread.

        Returns:
            The best trial.

        Raises:
            StudyError: The search cannot go on; everything until then is stored.
        """
        run_study(self.plan, workers, on_event, self.study)
        return self.best()

    def trials(self) -> list[CompressionTrial]:
        """All trials that have a value, in the order of their numbers."""
        found = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        return [CompressionTrial(trial.number, dict(trial.params), dict(trial.user_attrs)) for trial in found]

    def best(self) -> CompressionTrial:
        """The trial with the lowest weight x size + error, the earliest of equals.

        Raises:
            StudyError: No trial has a value.
        """
        trials = self.trials()
        if not trials:
            raise StudyError("no trial has a value, so that there is no model to store; the logs may say why.")
        return min(trials, key=lambda trial: (self.prepared.objective.weighted(trial.notes), trial.number))

    def front(self) -> list[CompressionTrial]:
        """The trials that no other one beats in both size and error, the smallest first."""
        trials = sorted(self.trials(), key=lambda trial: (trial.size, trial.error))
        return [trials[index] for index in pareto_front([(trial.size, trial.error) for trial in trials])]

    def finish(self, trial: CompressionTrial | None = None) -> CompressionSummary:
        """Make the model of a trial once more, as the trial did, judge it on the test examples, and store it.

        A search with two objectives has its front stored as well, as a table.

        Args:
            trial: The trial; None for the best.

        Raises:
            StudyError: No trial has a value.
        """
        chosen = self.best() if trial is None else trial
        objective = self.prepared.objective
        if self.settings.pareto:
            write_text(self.out / FRONT_FILE, front_table(self.front()))
        if self._on_stage is not None:
            self._on_stage(f"making the model of trial {chosen.number} once more, and measuring it")
        about = {
            "study": self.plan.study,
            "trial": chosen.number,
            "objective": objective.to_json(),
            "ratios": dict(chosen.ratios),
        }
        summary = finish(objective, chosen.ratios, chosen.notes["seed"], self.out, about)
        found, now = objective.weighted(chosen.notes), summary.compressed.objective
        if abs(found - now) > _NOTICEABLE and self._on_warning is not None:
            self._on_warning(
                f"trial {chosen.number} had the objective {found:.6g}, and its repetition {now:.6g}; "
                "not all is reproducible"
            )
        return summary


def study_name(settings: CompressionSettings) -> str:
    """The default study of a compression: `./my-bert` on `mrpc` is studied as `my-bert-mrpc`."""
    name = f"{PurePath(settings.model).name}-{settings.task}{'-pareto' if settings.pareto else ''}"
    return re.sub(r"[^\w.+-]+", "-", name).strip("-.")


def front_table(front: Sequence[CompressionTrial]) -> str:
    """A front as CSV: a row for each trial, with its number, its notes and its ratios."""
    rows = [{"trial": trial.number, **trial.notes, **trial.ratios} for trial in front]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _given(settings: CompressionSettings) -> dict[str, Any]:
    """The settings of the search that are not left to its own defaults."""
    acquisition = settings.acquisition if settings.pareto else settings.acquisition or ACQUISITION
    chosen = {"kernel": settings.kernel, "acquisition": acquisition, "starting_points": settings.starting_points}
    return {name: value for name, value in chosen.items() if value is not None}


def _dense_steps(out: Path) -> int | None:
    """The steps of training that the folder's original was asked to have."""
    path = out / DENSE_FOLDER / TRAINING_FILE
    asked = json.loads(path.read_text(encoding="utf-8"))["training"]["dense_steps"] if path.is_file() else None
    return None if asked is None else int(asked)

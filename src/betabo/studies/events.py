"""What workers say while they work, as one line of JSON each."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

Kind = Literal["ready", "began", "finished", "interrupted", "lost", "waiting", "warning", "died", "stopped", "error"]


@dataclass(frozen=True)
class Event:
    """Something that happened in a study.

    Attributes:
        kind: `"ready"`: a worker has loaded the objective. `"began"`, `"finished"`: a trial. `"interrupted"`: a trial
            of a dead worker was found and will be repeated. `"lost"`: another worker took a trial over while it was
            still running here. `"waiting"`: nothing to do until other workers finish theirs. `"warning"`: see the
            message. `"died"`: a worker died and another one takes its place. `"stopped"`: a worker has ended.
            `"error"`: the study cannot go on, see the message.
        worker: Number of the worker in this run, from 0.
        trial: Number of the trial.
        parameters: Its parameters.
        state: How it ended: `"complete"`, `"failed"` or `"pruned"`.
        values: Its values, one for each objective.
        seconds: How long the objective took.
        message: The reason or the explanation, one line.
    """

    kind: Kind
    worker: int = 0
    trial: int | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    state: str = ""
    values: tuple[float, ...] = ()
    seconds: float | None = None
    message: str = ""

    def to_line(self) -> str:
        """The event as one line of JSON, without what is empty."""
        given = {key: value for key, value in asdict(self).items() if value not in ("", (), {}, None)}
        return json.dumps({"event": given.pop("kind"), **given})

    @classmethod
    def from_line(cls, line: str) -> Event:
        """The event that `to_line` wrote."""
        data = json.loads(line)
        kind = data.pop("event")
        if kind not in get_args(Kind):
            raise ValueError(f"event is {kind!r}, expected one of {', '.join(get_args(Kind))}.")
        return cls(kind, **{**data, "values": tuple(data.get("values", ()))})

"""A process that is asked and told by lines of JSON. It runs where betabo is not installed.

First comes `{"bounds": [[low, high], ...], "seed": 0, "starting_points": 0}`. Then `{"ask": true}` is answered by a
point, `[0.1, 2.0]`, and `{"point": [0.1, 2.0], "value": 3.0}`, which has no answer, tells a value, null for a failure.
The argument is a file with a class `Search(bounds, seed, starting_points)` that has `ask()` and `tell(point, value)`.
"""

from __future__ import annotations

import json
import os
import runpy
import sys


def serve(server: str) -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a package prints is no answer
    search = runpy.run_path(server)["Search"](**json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        message = json.loads(line)
        if "ask" in message:
            answers.write(json.dumps([float(coordinate) for coordinate in search.ask()]) + "\n")
            answers.flush()
        else:
            search.tell(message["point"], message["value"])


if __name__ == "__main__":
    serve(sys.argv[1])

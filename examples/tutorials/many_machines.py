"""
Many machines
=============

Several workers can share one study, on one machine or on many. They need nothing but the same database: no server of
ours, no port. This page kills one of them, to show what happens then.
"""

# %%
# A slow objective
# ----------------
# It stands for a training run of a second. It is in a file, so that each worker, a process of its own, can import
# it.

import os
import signal
import tempfile
import time
from pathlib import Path

folder = Path(tempfile.mkdtemp())
(folder / "train.py").write_text("""
import time


def objective(lr, momentum):
    time.sleep(0.8)
    return (lr - 0.3) ** 2 + 0.5 * (momentum - 0.9) ** 2
""")

# %%
# Two workers
# -----------
# ``Runner`` starts them and watches. From the command line the same is
# ``betabo minimize train.py:objective --param lr=0..1 --param momentum=0..1 --trials 14 --workers 2``.

from betabo import Float, Space
from betabo.optuna import read_trials
from betabo.studies import FunctionObjective, Plan, Runner

plan = Plan(
    study="shared",
    space=Space({"lr": Float(0, 1), "momentum": Float(0, 1)}),
    objective=FunctionObjective(f"{folder}/train.py:objective"),
    storage=f"sqlite:///{folder}/betabo.db",
    logs=folder / "logs",
    trials=14,
    seed=0,
)
runner = Runner(plan, workers=2)
runner.start()

# %%
# One is killed
# -------------
# As if its machine had lost power: ``kill -9`` leaves a process no time to say anything.

while True:
    trials = read_trials(runner.study)
    under_way = [
        trial for trial in trials if trial.state == "running" and trial.parameters
    ]
    if len(trials) > 5 and under_way:
        break
    time.sleep(0.05)
host, _, process = under_way[-1].worker.rpartition(":")
os.kill(int(process), signal.SIGKILL)
runner.wait()

trials = read_trials(runner.study)
for trial in trials:
    if trial.state != "complete" or trial.retry_of is not None:
        again = "" if trial.retry_of is None else f", repeats trial {trial.retry_of}"
        print(f"trial {trial.number}: {trial.state}{again}")
print(
    sum(trial.state == "complete" for trial in trials),
    "trials have a value, as planned",
)

# %%
# The trial that was cut off is *interrupted*: it does not count, and another worker repeats it with the same
# parameters. Nothing is stored twice, and the total is exact.
#
# Who did what
# ------------
# Workers agree through the database alone: each sees what the others have under way, so that no two try the same point.

import matplotlib.pyplot as plt

names = list(dict.fromkeys(trial.worker for trial in trials))
begin = min(trial.started for trial in trials)
figure, axes = plt.subplots(figsize=(8, 2.6), layout="constrained")
for trial in trials:
    start = (trial.started - begin).total_seconds()
    length = (trial.finished - trial.started).total_seconds()
    colour = "crimson" if trial.state == "interrupted" else "tab:blue"
    axes.barh(
        names.index(trial.worker),
        max(length, 0.05),
        left=start,
        color=colour,
        edgecolor="white",
    )
    axes.text(
        start + length / 2,
        names.index(trial.worker),
        str(trial.number),
        ha="center",
        va="center",
        color="white",
    )
labels = [f"worker {index + 1}" for index in range(len(names))]
axes.set(
    yticks=range(len(names)),
    yticklabels=labels,
    xlabel="seconds",
    title="trials by worker; red was cut off",
)
plt.show()

# %%
# On several machines
# -------------------
# Start the same command on each of them, with one PostgreSQL database between them:
#
# .. code-block:: text
#
#     export BETABO_STORAGE=postgresql://me@server/tuning
#     betabo minimize train.py:objective --param lr=0..1 --param momentum=0..1 --trials 200 --workers 4
#
# A machine may join or leave at any time. One whose heartbeat stops is taken for dead after a minute, and its trials
# are repeated elsewhere. :doc:`/machines` has the rest, Ray and job queues too.

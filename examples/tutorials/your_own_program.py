"""
A study with your own program
=============================

What is to be tuned is often no Python function but a program: a simulation, a training script, something in another
language. This page tunes one from the command line. Every trial is stored the moment it ends, so the study can be
stopped at any point and goes on where it was.
"""

# %%
# The program
# -----------
# It takes its settings as arguments and prints a number on its last line. This one stands for a simulation of a spring
# that is to come to rest quickly; yours may be written in anything.

import subprocess
import sys
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp())
(folder / "spring.py").write_text("""
import sys

stiffness, damping = map(float, sys.argv[1:])
position, speed, travelled, step = 1.0, 0.0, 0.0, 0.001
for _ in range(10_000):
    speed -= step * (stiffness * position + damping * speed)
    position += step * speed
    travelled += step * abs(position)
print("energy", 0.5 * speed * speed)
print(travelled + 0.002 * stiffness)
""")

# %%
# The command
# -----------
# Parameters stand in braces where their values go, and each has a range. You would type this in a terminal:
#
# .. code-block:: text
#
#     betabo minimize --command "python spring.py {stiffness} {damping}" --param stiffness=1..100:log \
#         --param damping=0.1..10:log --trials 16 --seed 0 --study spring


def betabo(*words):
    """Type a command for this page."""
    done = subprocess.run(
        [sys.executable, "-m", "betabo", *words],
        capture_output=True,
        text=True,
        cwd=folder,
    )
    return done.stdout + done.stderr


command = ("--command", f"{sys.executable} spring.py {{stiffness}} {{damping}}")
ranges = ("--param", "stiffness=1..100:log", "--param", "damping=0.1..10:log")
said = betabo(
    "minimize",
    *command,
    *ranges,
    "--trials",
    "16",
    "--seed",
    "0",
    "--study",
    "spring",
    "--plain",
)
print("\n".join(said.splitlines()[-12:]))

# %%
# The end says that ``damping`` sits on its upper bound: more of it might be better still, if the spring allows it. Then
# widen the range, and give the study another name.
#
# The study is in ``betabo.db``. Nothing is lost when the machine goes down: the same command again goes on, and with a
# larger ``--trials`` it makes more of them. See :doc:`/how-to/resume`.
#
# What came of it
# ---------------
# Each trial has its parameters, its value, its time and its log. ``betabo show`` has them as a table, ``betabo export``
# as a file, and Python reads the same database.

print(betabo("show", "spring", "--last", "5"))

# %%
# Where it looked
# ---------------
# ``betabo report spring`` writes a page with plots that works without a network. Here is one of them, drawn by hand.

import matplotlib.pyplot as plt

from betabo.optuna import read_trials
from betabo.studies import load_study

trials = read_trials(load_study("spring", f"sqlite:///{folder}/betabo.db"))
stiffness, damping = (
    [trial.parameters[name] for trial in trials] for name in ("stiffness", "damping")
)
values = [trial.values[0] for trial in trials]

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
points = axes.scatter(
    stiffness,
    damping,
    c=values,
    s=70,
    cmap="viridis",
    edgecolors="black",
    linewidths=0.5,
)
best = min(range(len(values)), key=values.__getitem__)
axes.scatter(
    stiffness[best],
    damping[best],
    s=260,
    marker="*",
    color="crimson",
    edgecolors="white",
    label="best",
)
axes.set(
    xscale="log",
    yscale="log",
    xlabel="stiffness",
    ylabel="damping",
    title="all trials of the study",
)
figure.colorbar(points, label="value")
axes.legend()
plt.show()

# %%
# More than one at a time: add ``--workers 4``. On more than one machine: :doc:`many_machines`. A Python function in
# place of the program: ``betabo minimize train.py:objective`` and the rest as above.

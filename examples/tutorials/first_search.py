"""
A first search
==============

You have something that takes settings and gives a number, and every try costs time. This page searches the
settings of a small experiment, looks at what the search did, and at what it says when the box is too small.
"""

# %%
# What is to be minimized
# -----------------------
# A function of a point. Here it stands for an experiment in which a temperature and a time are set, and a loss is
# measured. In truth you would not know its shape, and a call would take minutes.

import math

import matplotlib.pyplot as plt
import numpy as np

from betabo import Float, minimize


def loss(p):
    """The loss of a batch that was heated to `temperature` for `hours`."""
    warmth = (p["temperature"] - 180) / 60
    done = math.log(p["hours"] / 3)
    return (
        (warmth - 0.5) ** 2
        + (done + 0.6 * warmth - 0.4) ** 2
        + 0.1 * (1 + math.sin(6 * warmth))
    )


# %%
# The box
# -------
# Each parameter has a lower and an upper bound. Hours are spread evenly in their logarithm, since a change from one
# hour to two matters as much as one from five to ten.

space = {"temperature": Float(60, 240), "hours": Float(0.5, 24, log=True)}
result = minimize(loss, space=space, budget=25, seed=0)
print(
    f"best loss {result.fun:.4f} at {result.x['temperature']:.1f} degrees for {result.x['hours']:.2f} hours"
)

# %%
# What it did
# -----------
# The first points fill the box evenly. Then each point is the one that promises most under a model of all that is
# known: steps of the whole box, and steps near the best point. ``result.to_pandas()`` has all of it, a row an
# evaluation.

table = result.to_pandas()
print(
    table[["temperature", "hours", "value", "best", "origin"]]
    .tail(8)
    .to_string(index=False, float_format="%.4g")
)

# %%
# The loss is drawn behind the points here because this example knows it. Most points lie where it is low.

temperature, hours = np.meshgrid(np.linspace(60, 240, 120), np.geomspace(0.5, 24, 120))
height = [
    loss({"temperature": t, "hours": h})
    for t, h in zip(temperature.flat, hours.flat, strict=True)
]

figure, (box, progress) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
box.contourf(
    temperature,
    hours,
    np.log(np.reshape(height, hours.shape)),
    levels=20,
    cmap="Greys_r",
)
for origin, colour in {
    "start": "tab:blue",
    "model": "tab:orange",
    "local": "tab:green",
}.items():
    points = table[table.origin == origin]
    box.scatter(
        points.temperature,
        points.hours,
        s=30,
        c=colour,
        edgecolors="white",
        label=origin,
    )
box.set(yscale="log", xlabel="temperature", ylabel="hours", title="where it looked")
box.legend()
progress.step(table.evaluation + 1, table.best, where="post", color="black")
progress.set(xlabel="evaluations", ylabel="best loss so far", title="how it went")
plt.show()

# %%
# A box that is too small
# -----------------------
# Had the oven been limited to 150 degrees, the best point would lie on that bound. The search goes there, exactly, and
# ``space.faces`` names it: if values beyond make sense, widen the box.

narrow = {"temperature": Float(60, 150), "hours": Float(0.5, 24, log=True)}
bounded = minimize(loss, space=narrow, budget=20, seed=0)
best = min((e for e in bounded.history if not e.failed), key=lambda e: e.value)
print(
    f"best loss {bounded.fun:.4f} at",
    {name: round(value, 3) for name, value in bounded.x.items()},
)
print("on a bound:", bounded.space.faces(best.unit))

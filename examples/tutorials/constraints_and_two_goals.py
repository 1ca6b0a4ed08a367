"""
Constraints and two goals
=========================

The best beam is light, and does not bend: two goals against each other, and a stress that must not be exceeded. All of
them come from the same evaluation, and none is known as a formula.
"""

# %%
# One goal, one limit
# -------------------
# The objective returns what it measures, by name. ``value`` is minimized; ``constraints`` says what the other numbers
# may be. Points that violate a limit are tried on the way: they tell the model where the limit lies.

import matplotlib.pyplot as plt
import numpy as np

from betabo import Float, minimize

space = {"width": Float(0.05, 0.3), "height": Float(0.05, 0.5)}


def beam(p):
    """A beam of wood, four metres long, with a load of 20 kN in the middle."""
    mass = 500 * 4 * p["width"] * p["height"]  # kg
    inertia = p["width"] * p["height"] ** 3 / 12
    sag = 1000 * 20e3 * 4**3 / (48 * 11e9 * inertia)  # mm
    stress = 20e3 * 4 / 4 * p["height"] / 2 / inertia / 1e6  # MPa
    return {"value": mass, "sag": sag, "stress": stress}


result = minimize(
    beam,
    space=space,
    constraints={"sag": "<= 10", "stress": "<= 12"},
    budget=25,
    seed=0,
)
print(
    f"{result.fun:.1f} kg", {name: round(value, 3) for name, value in result.x.items()}
)
print("violated by:", result.maxcv)
print({name: round(value, 2) for name, value in beam(result.x).items()})

# %%
# Two goals
# ---------
# Light and stiff at once: name both, each with its direction. There is no single best point then, but a *front*: what
# no other point beats in both.

both = minimize(
    lambda p: {
        "mass": beam(p)["value"],
        "sag": beam(p)["sag"],
        "stress": beam(p)["stress"],
    },
    space=space,
    objectives={"mass": "minimize", "sag": "minimize"},
    constraints={"stress": "<= 12"},
    budget=35,
    seed=0,
)
for point in both.front[:5]:
    print(
        {name: round(value, 1) for name, value in point.values.items()},
        {k: round(v, 3) for k, v in point.point.items()},
    )

# %%
# The front, with all that was tried behind it. Choose from it: a little more mass takes most of the sag away.

measured = [beam(row) for row in both.rows()]
holds = np.array([m["stress"] <= 12 for m in measured])
mass, sag = (np.array([m[name] for m in measured]) for name in ("value", "sag"))

figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
axes.scatter(
    mass[~holds], sag[~holds], marker="x", color="crimson", label="stress too high"
)
axes.scatter(mass[holds], sag[holds], color="silver", label="tried")
front = [(p.values["mass"], p.values["sag"]) for p in both.front]
axes.plot(
    *np.transpose(front), "o-", color="tab:blue", label="front", drawstyle="steps-post"
)
axes.set(
    yscale="log", xlabel="mass (kg)", ylabel="sag (mm)", title="two goals, one limit"
)
axes.legend()
plt.show()

# %%
# How the front grew
# ------------------
# The *hypervolume* is what the front dominates, in one number. When it stops to grow, so does the use of more
# evaluations.

figure, axes = plt.subplots(figsize=(7, 2.8), layout="constrained")
axes.step(
    range(1, len(both.hypervolume) + 1),
    both.hypervolume,
    where="post",
    color="tab:green",
)
axes.set(xlabel="evaluations", ylabel="hypervolume")
plt.show()

"""
Compress a model
================

A trained network has more parameters than it needs, in some layers far more. This page makes a small one smaller: each
linear layer becomes the product of two thin ones. How thin, layer by layer, is a point of a box, and so a search.
"""

# %%
# A model to begin with
# ---------------------
# A network that reads handwritten digits, trained in a few seconds.

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

from betabo.compress import CompressionPlan, compress_model, count_parameters

torch.manual_seed(0)
pictures, digits = load_digits(return_X_y=True)
split = train_test_split(
    torch.tensor(pictures / 16, dtype=torch.float32),
    torch.tensor(digits),
    random_state=0,
)
x_train, x_test, y_train, y_test = split


class Reader(nn.Module):
    """Three linear layers."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(
            nn.Linear(64, 256),
            nn.ReLU(),
            nn.Linear(256, 256),
            nn.ReLU(),
            nn.Linear(256, 10),
        )

    def forward(self, x):
        return self.blocks(x)


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for _ in range(150):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x_train), y_train).backward()
    optimizer.step()


def errors(network):
    """Share of the test pictures that are misread, in percent."""
    with torch.no_grad():
        return 100 * (network(x_test).argmax(dim=1) != y_test).float().mean().item()


plan = CompressionPlan.of(model)
print(
    f"{count_parameters(model):,} parameters, {errors(model):.1f} % of the digits misread"
)
print("layers that can be compressed:", plan.coordinates)

# %%
# One ratio for all layers
# ------------------------
# ``compress_model`` takes the share of parameters that each layer keeps. With some examples (``calibration``) it keeps
# what matters for what comes *out* of a layer, which is much better than what matters for its weights. Nothing is
# trained.

ratios = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.45, 0.6]
batches = [{"x": x_train[i : i + 64]} for i in range(0, 512, 64)]
ways = {
    "of the weights": {},
    "of the outputs, with 512 examples": {"calibration": batches},
}

figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
for label, options in ways.items():
    small = [compress_model(model, ratio, keep=0.0, **options) for ratio in ratios]
    sizes = [count_parameters(network) for network in small]
    axes.plot(
        sizes,
        [errors(network) for network in small],
        "o-",
        label=f"best approximation {label}",
    )
axes.axhline(errors(model), color="black", linestyle=":", label="the model as it was")
axes.set(
    xscale="log",
    xlabel="parameters",
    ylabel="misread digits (%)",
    title="one ratio for all layers",
)
axes.legend()
plt.show()

# %%
# A ratio for each layer
# ----------------------
# Layers differ in what they can do without, so let a search share out the parameters. It has two goals: few parameters,
# and a low loss on the training pictures.

from betabo import minimize


def shared_out(point):
    """The share of parameters that is left, and the cross-entropy on the training pictures."""
    network = compress_model(
        model,
        dict(zip(plan.coordinates, point, strict=True)),
        keep=0.0,
        calibration=batches,
    )
    with torch.no_grad():
        loss = nn.functional.cross_entropy(network(x_train), y_train).item()
    return {
        "size": count_parameters(network) / count_parameters(model),
        "loss": float(np.log(loss)),
    }


result = minimize(
    shared_out,
    bounds=[(0.02, 0.6)] * plan.dims,
    objectives={"size": "minimize", "loss": "minimize"},
    budget=35,
    seed=0,
)
for found in result.front[:6]:
    network = compress_model(
        model,
        dict(zip(plan.coordinates, found.point, strict=True)),
        keep=0.0,
        calibration=batches,
    )
    print(
        f"{found.values['size']:.0%} of the parameters, {errors(network):.1f} % misread, ratios",
        np.round(found.point, 2),
    )

# %%
# The search beside the single ratios: here it is ahead, since the second layer can do with far less than the first. In
# large models a single ratio is hard to beat; :doc:`/compression` has what is known, the losses included.

single = [shared_out([ratio] * plan.dims) for ratio in ratios]
figure, axes = plt.subplots(figsize=(7.5, 4), layout="constrained")
axes.plot(
    [s["size"] for s in single],
    [s["loss"] for s in single],
    "s--",
    color="grey",
    label="one ratio for all layers",
)
axes.plot(
    [p.values["size"] for p in result.front],
    [p.values["loss"] for p in result.front],
    "o-",
    label="front of the search",
)
axes.set(
    xlabel="share of parameters left",
    ylabel="log of the loss",
    title="a ratio for each layer",
)
axes.legend()
plt.show()

# %%
# A transformer of Hugging Face is compressed by one command, which also trains what is left for a short while:
#
# .. code-block:: text
#
#     betabo compress --model ./my-bert --task mrpc --data glue/ --target-size 0.3 --out compressed/

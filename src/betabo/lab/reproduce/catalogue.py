"""The reproductions by name.

To add one, write a module of its name with `summarize`, and a line here. Where it is drawn from searches, these are a
function of its name in `campaigns.py`.
"""

from __future__ import annotations

from betabo.lab.reproduce.entry import Computation, Reproduction
from betabo.lab.reproduce.searches import Searches
from betabo.suggestions import did_you_mean

_REST = "betabo's priors and engine, standardized values"
_OURS = f"GP-UCB with weight 4, {_REST}"

_ENTRIES: tuple[Reproduction, ...] = (
    Computation(
        "covariance",
        "Figure 1: covariance surfaces on the unit interval, and the same with other boundary weights",
        (15, 15),
    ),
    Computation("eigendecay", "Figure 2: mean spectra of RBF, Matern-5/2 and Beta kernels on the 3-D cube", (9, 26)),
    Computation(
        "eigendecay-table", "Table 1: p-values of exponential decay, and models of the decay compared", (34, 135)
    ),
    Computation(
        "diagonal-bound",
        "Proposition 1: the prior variance, its exact range, and where the printed bound fails",
        (10, 10),
    ),
    Searches(
        "levy2d",
        "Figure 3: the 2-D Levy function, the first steps of three kernels, and where 300 iterations went",
        _OURS,
        packed=False,
    ),
    Searches(
        "bandwidths",
        "Figure 4: the bandwidths learned on 2-D Levy, and the boundary weight where it is learned",
        _OURS,
        packed=False,
    ),
    Searches(
        "levy-convergence",
        "Figure 5: 4-D and 8-D Levy, Matern against Beta: best value and distance to the boundary",
        f"GP-UCB with the weight that each claim names, {_REST}",
    ),
    Searches(
        "placements",
        "Table 3: kernels on five functions in 20 dimensions, the optimum at the centre, a face, a vertex",
        _OURS,
    ),
    Searches(
        "placements-settings",
        "Table 3: under which settings RBF and Matern near a face come out as printed",
        "plain maximum likelihood from BoTorch's parts, 24 settings",
    ),
    Searches(
        "placements-decisive",
        "Table 3: Beta, Matern and RBF near faces and vertices under several settings",
        "the settings that each claim names",
    ),
    Searches(
        "placements-full",
        "Table 3: RBF, Matern and betabo's default with ten seeds, the paper's kernel with three",
        _OURS + "; betabo's default has log EI",
    ),
    Searches(
        "acquisitions",
        "Figure 8: five acquisition functions with Matern and Beta, here on synthetic functions",
        _OURS,
    ),
    Computation(
        "selection-profile",
        "Figures 3 and 5 explained: where each kernel would go by itself, d = 2 to 50",
        (45, 480),
    ),
    Computation(
        "boundary-weight",
        "Figure 4 explained: whether the boundary weight can be learned, on data drawn with known weights",
        (10, 120),
    ),
    Computation(
        "compression",
        "Tables 4 and 5, Figures 6 to 9: transformers compressed by search, drawn from stored searches",
        (60, 60),
    ),
)

REPRODUCTIONS: dict[str, Reproduction] = {entry.name: entry for entry in _ENTRIES}
"""All reproductions by name."""


def reproduction_by_name(name: str) -> Reproduction:
    """The reproduction of this name.

    Raises:
        ValueError: There is none; the message names the closest.
    """
    if name in REPRODUCTIONS:
        return REPRODUCTIONS[name]
    hint = did_you_mean(name, REPRODUCTIONS)
    raise ValueError(f"reproduction is {name!r}, expected one of {', '.join(map(repr, REPRODUCTIONS))}.{hint}")

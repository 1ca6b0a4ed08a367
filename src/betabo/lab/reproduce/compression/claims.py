"""The paper's claims about compression, and questions of our own, each with what it is measured by."""

from __future__ import annotations

import pandas as pd
from pandas import DataFrame

from betabo.lab.plots.names import ACQUISITION_NAMES, acquisition_names, method_name
from betabo.lab.reproduce.compression.tables import FROM_LEVELS, KERNELS, show, show_difference
from betabo.lab.reproduce.entry import Claim

REFERENCES = ("matern", "rbf")
MODERATE = (0.4, 0.6)
"""Mean ratios that count as about 0.5, which is what the paper says; chosen here."""

FEWEST = 2
"""Seeds below which two methods are not compared seed by seed."""


def judge(summary: DataFrame, gaps: DataFrame, layers: DataFrame, acquisitions: DataFrame) -> tuple[Claim, ...]:
    """All claims for which there are searches.

    Args:
        summary: Means by `experiment` and `method`, see `betabo.lab.reproduce.compression.tables.means_by_method`.
        gaps: Differences, see `betabo.lab.reproduce.compression.tables.differences`.
        layers: Where the ratios lie, see `betabo.lab.reproduce.compression.ratios.describe`.
        acquisitions: Objectives by acquisition function, see
            `betabo.lab.reproduce.compression.tables.acquisition_means`.
    """
    means = summary.set_index(["experiment", "method"])[["objective", "objective_on_test"]].unstack("method")
    found = [
        *(_lower(gaps, "beta-paper", other) for other in REFERENCES),
        _by_size(gaps),
        *_strategies(layers),
        *_with_acquisitions(acquisitions),
        *(_lower(gaps, ours, other) for ours in ("beta-matern", FROM_LEVELS) for other in ("matern", "beta-paper")),
        *(_beats(means["objective"], baseline) for baseline in ("random", "uniform")),
        *(_lower(gaps, FROM_LEVELS, baseline) for baseline in ("random", "uniform")),
        _lower_on_test(means["objective_on_test"]),
    ]
    return tuple(claim for claim in found if claim is not None and claim.checks)


def _lower(gaps: DataFrame, first: str, second: str) -> Claim | None:
    """Whether one method ends lower than another, in every experiment that has at least two seeds of it."""
    rows = _pair(gaps, "objective", first, second)
    if rows is None:
        return None
    rows = rows[rows["seeds"] >= FEWEST]
    return Claim(
        f"{method_name(first)} ends lower than {method_name(second)}, with every seed",
        tuple(bool(wins == seeds) for wins, seeds in zip(rows["wins"], rows["seeds"], strict=True)),
        "difference of the objective: " + _each(rows),
    )


def _lower_on_test(objective: DataFrame) -> Claim | None:
    """Whether what a search from the levels gains over them is there on test data too."""
    if not {FROM_LEVELS, "uniform"} <= set(objective.columns):
        return None
    table = objective.dropna(subset=[FROM_LEVELS, "uniform"])
    return Claim(
        f"{method_name(FROM_LEVELS)} ends lower than {method_name('uniform')} on test data too, in the mean over seeds",
        tuple(bool(row[FROM_LEVELS] < row["uniform"]) for _, row in table.iterrows()),
        "objective on test data: "
        + "; ".join(f"{e} {show(row[FROM_LEVELS])} against {show(row['uniform'])}" for e, row in table.iterrows()),
    )


def _by_size(gaps: DataFrame) -> Claim | None:
    """Whether an advantage over Matern is one of size, where there is one."""
    whole, size = (_pair(gaps, quantity, "beta-paper", "matern") for quantity in ("objective", "size"))
    if whole is None or size is None:
        return None
    text = "Where Beta (paper) is ahead of Matérn in the mean, it is by size: that is more than half of the difference"
    ahead = list(whole.index[whole["difference"] < 0])
    if not ahead:
        return Claim(text, (False,), "it is ahead in no experiment")
    part, all_of_it = size["difference"], whole["difference"]
    return Claim(
        text,
        tuple(bool(part[e] < 0.5 * all_of_it[e]) for e in ahead),
        "size in the difference: " + "; ".join(f"{e} {part[e]:+.3f} of {all_of_it[e]:+.3f}" for e in ahead),
    )


def _strategies(layers: DataFrame) -> list[Claim]:
    """Whether the kernels divide what is left as the paper says."""
    if not {"beta-paper", *REFERENCES} <= set(layers["method"]):
        return []
    wide = layers.groupby(["experiment", "method"])[list(layers.columns[4:])].mean().unstack("method")
    wide = wide.dropna(subset=[("mean ratio", method) for method in ("beta-paper", *REFERENCES)])
    near, low, above, mean = (
        wide[name] for name in ("near a bound", "near the lower bound", "above the middle", "mean ratio")
    )
    beta = "beta-paper"
    return [
        Claim(
            "Beta (paper) compresses a few layers lightly and suppresses the others: more than half lie within 0.05 of "
            "the lower bound, some but less than a quarter above 0.5",
            tuple(bool(low[beta][e] > 0.5 and 0 < above[beta][e] < 0.25) for e in wide.index),
            "near the lower bound and above 0.5: "
            + "; ".join(f"{e} {low[beta][e]:.0%} and {above[beta][e]:.0%}" for e in wide.index),
        ),
        Claim(
            "Beta (paper) has more layers within 0.05 of a bound than Matérn and RBF",
            tuple(bool(near[beta][e] > near[list(REFERENCES)].loc[e].max()) for e in wide.index),
            "RBF, Matérn, Beta (paper): "
            + "; ".join(f"{e} " + ", ".join(f"{near[m][e]:.0%}" for m in ("rbf", "matern", beta)) for e in wide.index),
        ),
        Claim(
            f"RBF and Matérn compress all layers moderately: the mean ratio is from {MODERATE[0]} to {MODERATE[1]}",
            tuple(MODERATE[0] <= mean[m][e] <= MODERATE[1] for e in wide.index for m in ("rbf", "matern")),
            "RBF, Matérn: " + "; ".join(f"{e} {mean['rbf'][e]:.2f}, {mean['matern'][e]:.2f}" for e in wide.index),
        ),
    ]


def _with_acquisitions(means: DataFrame) -> list[Claim]:
    """The claims about acquisition functions, in the experiments with all five for Matern and Beta."""
    wide = means[means["method"].isin(("matern", "beta-paper"))].pivot_table(
        index="experiment", columns=["method", "acquisition"], values="mean"
    )
    wanted = pd.MultiIndex.from_product([("matern", "beta-paper"), ACQUISITION_NAMES])
    wide = wide.reindex(columns=wanted).dropna()
    if wide.empty:
        return []
    matern, beta = wide["matern"], wide["beta-paper"]
    ahead = {e: [a for a in ACQUISITION_NAMES if beta[a][e] < matern[a][e]] for e in wide.index}
    leaders = {m: {e: list(wide[m].loc[e].sort_values().index) for e in wide.index} for m in ("matern", "beta-paper")}
    return [
        Claim(
            "Beta (paper) ends lower than Matérn with each of the five acquisition functions",
            tuple(a in ahead[e] for e in wide.index for a in ACQUISITION_NAMES),
            "; ".join(
                f"{e}: with {len(ahead[e])} of {len(ACQUISITION_NAMES)} ({acquisition_names(ahead[e])})" for e in ahead
            ),
        ),
        Claim(
            "Matérn goes best with UCB and corrected EI",
            tuple(a in leaders["matern"][e][:2] for e in wide.index for a in ("ucb", "corrected_ei")),
            "in order: " + "; ".join(f"{e}: {acquisition_names(order)}" for e, order in leaders["matern"].items()),
        ),
        Claim(
            "Beta (paper) goes best with UCB",
            tuple(order[0] == "ucb" for order in leaders["beta-paper"].values()),
            "in order: "
            + "; ".join(
                e + ": " + ", ".join(f"{ACQUISITION_NAMES[a]} {beta[a][e]:.3f}" for a in order)
                for e, order in leaders["beta-paper"].items()
            ),
        ),
    ]


def _beats(objective: DataFrame, baseline: str) -> Claim | None:
    """Whether the mean of every kernel is below that of a baseline, in every experiment that has both."""
    models = [kernel for kernel in KERNELS if kernel in objective.columns]
    if baseline not in objective.columns or not models:
        return None
    table = objective.dropna(subset=[baseline])
    against = {"random": "random search of as many evaluations", "uniform": "the best of one ratio for all layers"}
    return Claim(
        f"Every kernel with UCB, from Sobol points, ends lower than {against[baseline]}, in the mean over seeds",
        tuple(bool(row[k] < row[baseline]) for _, row in table.iterrows() for k in models if not pd.isna(row[k])),
        "; ".join(
            f"{e} {show(row[baseline])} against "
            + ", ".join(f"{method_name(k)} {show(row[k])}" for k in models if not pd.isna(row[k]))
            for e, row in table.iterrows()
        ),
    )


def _pair(gaps: DataFrame, quantity: str, first: str, second: str) -> DataFrame | None:
    """The differences of a pair by experiment."""
    chosen = (gaps["quantity"] == quantity) & (gaps["first"] == first) & (gaps["second"] == second)
    return gaps[chosen].set_index("experiment") if chosen.any() else None


def _each(rows: DataFrame) -> str:
    return "; ".join(
        f"{e} {show_difference(row)}, lower in {row['wins']} of {row['seeds']}" for e, row in rows.iterrows()
    )

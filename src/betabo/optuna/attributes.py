"""Names under which betabo stores something with a trial, as system attributes unless said otherwise, and a study."""

from __future__ import annotations

PROPOSAL = "betabo:proposal"
"""The parameters that the sampler proposed, for other workers to see at once."""

STEP = "betabo:step"
"""Where the parameters come from, and how the model's fit went."""

WORKER = "betabo:worker"
"""Who runs the trial, see `betabo.optuna.workers`."""

HEARTBEAT = "betabo:heartbeat"
"""A count that grows while the worker lives."""

RETRY_OF = "betabo:retry_of"
"""Number of the trial that this one repeats."""

INTERRUPTED = "betabo:interrupted"
"""What happened to a failed trial that another one repeats, such as one whose worker died."""

WITHDRAWN = "betabo:withdrawn"
"""Why a trial was closed without an evaluation."""

REASON = "betabo:reason"
"""Why the objective failed."""

SECONDS = "betabo:seconds"
"""How long the objective took."""

VARIANCE = "betabo:variance"
"""Variance of the noise of a trial's value, one for each of several objectives: a user attribute, for anyone to set."""

KNOWN = "betabo:known"
"""Results that were known before a study began: an attribute of the study, as the user sees them."""

EARLIER = "betabo:earlier"
"""Results of an earlier study, which may be of another task, in the same form."""

CONSTRAINT = "constraints:"
"""What comes before the name of a constraint, whose value is at most 0 where it holds. The word is Optuna's."""

PLAN = "betabo:plan"
"""What a study is to do, without the address of its storage: an attribute of the study, as the user sees them."""

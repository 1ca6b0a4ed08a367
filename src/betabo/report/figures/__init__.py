"""Tables of a study as plotly figures."""

from betabo.extras import needs_extra

with needs_extra("report", "A report needs plotly"):
    import plotly  # noqa: F401

from betabo.report.figures.goodness import predicted_against_observed
from betabo.report.figures.look import prefers_log
from betabo.report.figures.model import importance, posterior_slice, trace
from betabo.report.figures.parallel import parallel
from betabo.report.figures.plane import plane
from betabo.report.figures.progress import boundary, convergence, front, hypervolume

__all__ = [
    "boundary",
    "convergence",
    "front",
    "hypervolume",
    "importance",
    "parallel",
    "plane",
    "posterior_slice",
    "predicted_against_observed",
    "prefers_log",
    "trace",
]

"""Acquisition functions, and the catalogue that knows them by name."""

from betabo.acquisition.catalogue import (
    ACQUISITIONS,
    DEFAULT_BETA,
    AcquisitionContext,
    AcquisitionEntry,
    AcquisitionFactory,
    BetaSchedule,
    make_acquisition,
    srinivas_schedule,
)
from betabo.acquisition.corrected import (
    CorrectedExpectedImprovement,
    CorrectedProbabilityOfImprovement,
    LogCorrectedExpectedImprovement,
    LogCorrectedProbabilityOfImprovement,
)

__all__ = [
    "ACQUISITIONS",
    "DEFAULT_BETA",
    "AcquisitionContext",
    "AcquisitionEntry",
    "AcquisitionFactory",
    "BetaSchedule",
    "CorrectedExpectedImprovement",
    "CorrectedProbabilityOfImprovement",
    "LogCorrectedExpectedImprovement",
    "LogCorrectedProbabilityOfImprovement",
    "make_acquisition",
    "srinivas_schedule",
]

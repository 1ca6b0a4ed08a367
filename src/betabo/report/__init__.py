"""A study as one HTML page that works offline: what was found, how, and whether the box is large enough."""

from betabo.report.page import build_report, write_report

__all__ = ["build_report", "write_report"]

"""What hyperparameters look like where they are stored; reading them needs no model."""

from __future__ import annotations

from betabo.schema import listing, number, record, table

STATE_SCHEMA = record({"parameters": table(listing(number())), "noise": number(0)})
"""What a stored `FitState` has to be."""

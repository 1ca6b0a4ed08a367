"""Figures from tables, in one style."""

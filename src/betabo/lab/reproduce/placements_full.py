"""Table 3 at full length: RBF, Matern and betabo's default with ten seeds, the paper's kernel with three.

The table is that of `betabo.lab.reproduce.placements`; how many searches of it are finished stands in `finished.md`.
"""

from betabo.lab.reproduce.placements import summarize

__all__ = ["summarize"]

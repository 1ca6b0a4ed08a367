"""The laboratory: test problems, comparisons, analysis, and the paper's figures. The product does not need it."""

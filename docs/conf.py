"""Configuration of the documentation."""

from betabo import __version__

project = "betabo"
author = "The betabo developers"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx.ext.napoleon"]
myst_enable_extensions = ["dollarmath"]
html_theme = "furo"
html_title = "betabo"
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
exclude_patterns = ["reproduction/*", "results/*"]

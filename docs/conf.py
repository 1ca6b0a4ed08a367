"""Configuration of the documentation."""

import sys
from pathlib import Path

from betabo import __version__

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

project = "betabo"
author = "The betabo developers"
release = __version__
extensions = [
    "formulas",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["reproduction/*", "results/*", "sg_execution_times.rst", "tutorials/sg_execution_times.rst"]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
default_role = "code"

html_theme = "furo"
html_title = "betabo"
html_static_path = ["static"]
html_css_files = ["pages.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

sphinx_gallery_conf = {
    "examples_dirs": ["../examples/tutorials"],
    "gallery_dirs": ["tutorials"],
    "filename_pattern": r"\.py",
    "within_subsection_order": "order.TutorialOrder",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "capture_repr": (),
    "show_memory": False,
    "write_computation_times": False,
}
suppress_warnings = ["config.cache"]

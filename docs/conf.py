"""The documentation site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sphinx.application import Sphinx

from riselang import __version__
from riselang.editor.pygments_lexers import MLIRLexer, RiseLexer

project = "riselang"
copyright = "the riselang authors"
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "colon_fence"]
exclude_patterns = ["making"]
default_role = "code"
autodoc_class_signature = "separated"  # nobody makes these objects by hand
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
html_theme = "furo"
html_title = "riselang"
html_show_search_summary = False  # which a page that is opened as a file cannot fetch
html_static_path = ["static"]
html_css_files = ["site.css"]
html_favicon = "static/rise.svg"
html_logo = "static/rise.svg"
html_theme_options = {
    "sidebar_hide_name": False,
    "light_css_variables": {
        "color-brand-primary": "#245c8f",
        "color-brand-content": "#245c8f",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7db7ea",
        "color-brand-content": "#7db7ea",
    },
}
pygments_style = "friendly"
pygments_dark_style = "one-dark"


def setup(app: Sphinx) -> None:
    app.add_lexer("rise", RiseLexer)
    app.add_lexer("mlir", MLIRLexer)

"""The documentation site: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from sphinx.application import Sphinx

from making.lexers import MLIRLexer, RiseLexer

project = "riselang"
copyright = "the riselang authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
myst_heading_anchors = 3
exclude_patterns = ["making"]
default_role = "code"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented"
html_theme = "alabaster"
html_theme_options = {
    "description": "RISE: functional patterns over arrays, compiled through MLIR",
    "page_width": "1080px",
}


def setup(app: Sphinx) -> None:
    app.add_lexer("rise", RiseLexer)
    app.add_lexer("mlir", MLIRLexer)

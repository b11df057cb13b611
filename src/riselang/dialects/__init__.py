"""MLIR dialects of this project: `rise`, read `rise/__init__.py` first."""

from riselang.dialects.formats import read_formats_late

# Before the first dialect is loaded, ours or xDSL's.
read_formats_late()

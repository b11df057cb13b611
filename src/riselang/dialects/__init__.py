"""The MLIR dialects of this project. The dialect `rise` is in `rise`, which is to be read first."""

from riselang.dialects.xdsl_patches import parse_formats_lazily

# This must run before the first dialect, ours or xDSL's, is loaded.
parse_formats_lazily()

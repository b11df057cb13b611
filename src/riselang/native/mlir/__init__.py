"""The MLIR wheel: parsing, passes and translation of modules, and the importers that it holds."""

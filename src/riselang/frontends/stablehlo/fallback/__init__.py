"""Ops that have no patterns: MLIR's own lowering compiles them, in parts of the model."""

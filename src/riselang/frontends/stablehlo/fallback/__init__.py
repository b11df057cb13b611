"""The fallback for ops without patterns: MLIR's own lowering compiles them, as parts of the
model."""

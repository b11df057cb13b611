"""The MLIR wheel: parsing modules, running passes, translation to LLVM IR, and importers."""

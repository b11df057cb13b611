"""Lower terms to the affine, scf and memref dialects, with one file per step.

The input is a module with lowering units. `imperative.py` (phase 1; read `translation.py` first)
emits loops over `rise.codegen` access paths, `access.py` (phase 2) turns the paths into loads and
stores, and `temporaries.py` decides where temporaries are allocated. The output is a module
without RISE ops, which unmodified MLIR verifies.
"""

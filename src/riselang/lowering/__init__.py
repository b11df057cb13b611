"""From terms to affine, scf and memref, one step a file.

Comes in: a module with lowering units. `imperative.py` (phase 1; read `translation.py` first)
makes loops over `rise.codegen` access paths, `access.py` (phase 2) makes loads and stores of them,
`temporaries.py` places memory. Goes out: a module without RISE, which unmodified MLIR verifies.
"""

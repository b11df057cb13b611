"""StableHLO to patterns.

Comes in: a StableHLO module, text or bytecode, read by `native.stablehlo`. Goes out: a `Model`, a
kernel with its constants. Each op becomes patterns by a small function that is registered under its
name (`registry.py`): scalar functions of elementwise ops in `arithmetic.py`, whole tensors in the
files beside it. Read `tensors.py`, then `lowering.py`.
"""

"""The conversion of StableHLO to patterns.

In: a StableHLO module, text or bytecode, read by `native.stablehlo`. Out: a `Model`, a kernel with
its constants. Each op becomes patterns by a small function that is registered under its name
(`registry.py`): the scalar functions of elementwise ops are in `ops/elementwise.py`, those of whole
tensors in the other files of `ops`. Read `tensors.py`, then `lowering.py`.
"""

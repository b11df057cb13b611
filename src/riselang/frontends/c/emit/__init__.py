"""From the model to MLIR: isl makes loops of the schedule, and these become affine ops.

In: a `Scop` and a schedule tree. Out: a function of affine ops, with scf and memref where something
is not affine. `functions.py` makes the function, `loops.py` walks isl's loops, `values.py` writes
expressions, `checks.py` those that may fail, `indices.py` subscripts and bounds, `trees.py` reads
isl's expressions.
"""

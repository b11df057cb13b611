"""Code generation: isl generates loops from the schedule, which become affine ops.

In: a `Scop` and a schedule tree. Out: a function of affine ops, with scf and memref ops where
something is not affine. `functions.py` builds the function, `loops.py` walks isl's loops,
`values.py` emits expressions, `checks.py` those that may fail, `indices.py` subscripts and bounds,
`trees.py` reads isl's expressions.
"""

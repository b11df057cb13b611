"""Code generation: isl generates loops from the schedule, which become affine ops.

In: a `Scop` and a schedule tree. Out: a function of affine ops, with scf and memref ops where
something is not affine. `region_functions.py` builds the function, `loop_emitter.py` walks isl's
loops, `expression_emitter.py` emits expressions, `check_emitter.py` those that may fail,
`indices.py` subscripts and bounds, `isl_expressions.py` reads isl's expressions.
"""

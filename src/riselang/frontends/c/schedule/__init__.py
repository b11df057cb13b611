"""Schedule optimization: a new execution order of the statement instances of a region.

In: a `Scop`. Out: an isl schedule tree (`planning.py`). isl's scheduler finds schedule rows, which
are affine functions that may become loops in that order (`rows.py`). Statements are then split by
loop fission wherever dependences permit it, and each gets its own loops: an innermost one along
contiguous memory, which is vectorized, and others that are unrolled into it (`statement_loops.py`).
Every candidate is kept only if it preserves all dependences; `plan.py` defines the parts of a
plan. Read `planning.py` first.
"""

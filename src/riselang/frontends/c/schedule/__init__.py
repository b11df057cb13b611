"""Another order of a region's instances, one that suits the machine.

In: a `Scop`. Out: a schedule tree of isl (`planning.py`). isl's scheduler finds rows, which are
quantities that may be loops in that order (`rows.py`); statements are then taken apart as far as
dependences permit it, and each gets loops of its own: one along memory whose iterations run side by
side in vectors, and others that are unrolled into it (`statements.py`). Every step is tried and
kept only if all dependences are; `steps.py` has what a plan consists of. Read `planning.py` first.
"""

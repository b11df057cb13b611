"""How random programs are made, from the type that is wanted downwards.

Comes in: `Choices`, which follow from a seed. Goes out: a term whose variables are `Free`, each
with a name of its own, so that inputs can be added wherever a value of some type is needed and
nothing else has it; `support.programs` binds them. Read `maker.py` first, then `generator.py`,
which chooses among what the other files make.
"""

"""What is lifted from C: to RISE patterns, to linalg, or to calls of a library.

In: a region and its parts (`tactics/parts.py`). `costs.py` estimates what each way takes,
`choices.py` chooses one of those that the float permission leaves. `programs.py` builds the RISE
program of a product, and `running.py` runs it, compiled by the default strategy for the sizes of a
call; half of a product has one for all sizes (`halves.py`), and `statements.py` runs other
statements as their programs. `functions.py` is a function of C of which some runs so and whose
other statements are loops, `steps.py` one with ops of linalg or calls of BLAS in it, which are in
`emission/structured.py`, `library.py`, `routines.py` and `row_calls.py`.
"""

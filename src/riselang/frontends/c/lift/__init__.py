"""The targets of lifting from C: RISE patterns, linalg, or library calls.

In: a region and its parts (`tactics/parts.py`). `costs.py` estimates the cost of each
implementation, `choices.py` chooses one that the float permission allows. `programs.py` builds the
RISE program of a matrix multiplication, and `running.py` runs it, compiled by the default strategy
for the sizes of a call; a triangular half has a program for all sizes (`halves.py`), and
`statements.py` runs other statements as their programs. `functions.py` is a C function of which
some parts run this way and the other statements are loops, `steps.py` one with linalg ops or BLAS
calls in it, which are in `emit/structured.py`, `emit/library.py`, `emit/routines.py` and
`emit/row_calls.py`.
"""

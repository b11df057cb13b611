"""Products of matrices in C, lifted: to RISE patterns, to linalg, or to calls of a library.

In: a region and its parts (`tactics/parts.py`). `costs.py` estimates what each way takes,
`choices.py` chooses one of those that the float permission leaves. `programs.py` writes a product
in RISE's notation, and `running.py` runs it, compiled by the default strategy for the sizes of a
call; half of a product has one for all sizes (`halves.py`). `functions.py` is a function of C whose
products run so and whose other statements are loops.
The ops of linalg and the calls of BLAS are in `emission/structured.py` and `emission/library.py`.
"""

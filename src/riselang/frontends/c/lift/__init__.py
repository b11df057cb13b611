"""The targets of lifting from C: RISE patterns, linalg, or library calls.

In: a region and its parts (`tactics/loop_fission.py`). `costs.py` estimates the cost of each
implementation, `choices.py` chooses one that the float permission allows. `product_programs.py`
builds the RISE program of a matrix multiplication, and `product_step.py` runs it, compiled by the
default strategy for the sizes of a call; a triangular half has a program for all sizes
(`triangular_product.py`), and `statement_step.py` runs other statements as their programs.
`lifted_function.py` is a C function of which some parts run this way and the other statements are
loops, `region_steps.py` one with linalg ops or BLAS calls in it, which are in `emit/structured.py`,
`emit/blas_gemm.py`, `emit/blas_routines.py` and `emit/row_calls.py`.
"""

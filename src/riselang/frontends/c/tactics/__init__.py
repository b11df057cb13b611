"""Tactics: what a statement computes, by its operators, accesses, domain and dependences.

In: a `Scop`. Out: for each statement what it is (`recognition.py`), or the nearest tactic and the
condition that fails; and the RISE program of a recognized statement (`lifted_programs.py`).
`matching.py` has the matchers, `tactic_library.py` the tactics that use them. A match is a proof:
the operator tree is the tactic's, the domain is a box (or the triangle that the tactic requires),
no array is both read and written at different indices, and no dependence ties the statement to
others. `structures.py` proves what patterns and structured ops require of any statement,
`dependence_cycles.py` of dependence cycles inside remaining loops; `array_views.py` and
`value_builder.py` build their terms. `matrix_products.py` and `row_products.py` recognize matrix
multiplications, `blas_tactics.py` the BLAS vector routines, and `loop_fission.py` splits a region
by loop fission.
"""

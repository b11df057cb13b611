"""Tactics: what a statement computes, by its operators, accesses, domain and dependences.

In: a `Scop`. Out: for each statement what it is (`recognition.py`), or the nearest tactic and the
condition that fails; and the RISE program of what was recognised (`terms.py`). `matching.py` has
the matchers, `library.py` the tactics that are written with them. A match is a proof: the operator
tree is the tactic's, the domain is a box (or the triangle that the tactic asks for), no array is
both read and written at different places, and no dependence ties the statement to others.

`structures.py` proves what patterns and structured ops need of any statement, `circles.py` of those
that depend on each other inside of loops that stay; `views.py` and `values.py` build their
terms. `products.py` and `row_products.py` know products of matrices, `routines.py` what BLAS does
with vectors, and `parts.py` takes a region apart.
"""

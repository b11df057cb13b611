"""Tactics: what a statement computes, by its operators, accesses, domain and dependences.

In: a `Scop`. Out: for each statement what it is (`recognition.py`), or the nearest tactic and the
condition that fails; and the RISE program of what was recognised (`notation.py`). `matching.py` has
the matchers, `library.py` the tactics that are written with them. A match is a proof: the operator
tree is the tactic's, subscripts are loop variables, the domain is a box (or the triangle that the
tactic asks for), no array is both read and written, and no dependence ties the statement to others.
"""

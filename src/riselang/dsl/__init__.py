"""The language inside Python: trace a function on symbolic values and get its term.

Comes in: a Python function and the types of its parameters. Goes out: nodes that `term.finish`
turns into a term. Read `patterns.py` and `prelude.py` first (what users write), then `values.py`
and `tracing.py`.
"""

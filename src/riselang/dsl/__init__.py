"""The language embedded in Python: trace a function on symbolic values and build its term.

Input: a Python function and the types of its parameters. Output: nodes that `term.finish` turns
into a term. Read `patterns.py` and `prelude.py` first (the user's vocabulary), then
`symbolic_values.py` and `tracing.py`.
"""

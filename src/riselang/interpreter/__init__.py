"""Reference semantics: the oracle that every other way of running a program is compared with.

Comes in: a closed term and values. Goes out: the result. Read `patterns.py` first (what each
pattern means), then `scalars.py` and `evaluate.py`.
"""

"""The reference interpreter: the semantics that compiled programs are compared with.

It evaluates a closed term on values. Read `pattern_semantics.py` first (the meaning of each
pattern), then `scalar_semantics.py` and `evaluate.py`.
"""

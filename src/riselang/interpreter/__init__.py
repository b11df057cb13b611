"""The reference interpreter: the semantics that compiled programs are compared with.

It evaluates a closed term on values. Read `patterns.py` first (the meaning of each pattern), then
`scalars.py` and `evaluate.py`.
"""

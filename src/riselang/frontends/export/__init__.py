"""The conversion of programs to StableHLO.

In: a term. Out: the text of a module. A map becomes no loop: its function is evaluated for all
elements at once, on tensors with a dimension for each map around them. Read `evaluation.py`, then
`batches.py`.
"""

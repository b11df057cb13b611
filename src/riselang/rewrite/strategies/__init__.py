"""Schedules: what people say of loops, as strategies; and whole strategies by name.

Read `schedules.py` first (tile, interchange, vectorize and their kind), then `matmul.py`.
"""

"""Running compiled code: arrays in and out, checks at the call.

Comes in: machine code (`native`) and numpy arrays. Goes out: filled arrays, or an error that names
the argument. Read `executable.py` first.
"""

"""Run compiled code: pass arrays, and check the arguments of a call.

Input: machine code (`native`) and NumPy arrays. Output: filled arrays, or an error that names the
argument. Read `executable.py` first.
"""

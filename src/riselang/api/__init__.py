"""What users call: `jit`, `load`, `build`, and the stages of a program.

Comes in: a Python function or MLIR text. Goes out: something to call, or the text of any stage.
Read `jit.py` first, then `lowered.py`; the compiler itself is in the package `compiler`.
"""

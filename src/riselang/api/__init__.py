"""The Python API: `jit`, `load`, `build`, and the stages of a program.

Input: a Python function or MLIR text. Output: a callable kernel, or the text of any stage.
Read `jit.py` first, then `lowered.py`; the compiler itself is in the package `compiler`.
"""

"""Programs of other languages: each folder reads one, and gives what the rest of riselang runs.

`c/` takes loops of C to affine MLIR, to patterns and to library calls. `entry.py` has the functions
that users call; what a front end needs is imported when it is first used.
"""

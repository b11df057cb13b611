"""Programs of other systems and languages, as what the rest of riselang runs.

Comes in: a model, a kernel or loops as another system has them. Goes out: a program of patterns, or
affine MLIR, to be called, looked at and compiled like any other. `stablehlo/` takes models, with a
file beside it for each framework; `c/` takes loops of C. `entry.py` has the functions that users
call; a framework is imported only inside the function that needs it. Read `building.py` for how
terms are made, then the folder of a front end.
"""

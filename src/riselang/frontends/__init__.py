"""Front ends: programs of other systems and languages, converted for the rest of riselang.

In: a model, a kernel or loops in the form of another system. Out: a program of patterns, or affine
MLIR, to be called, printed and compiled like any other. `stablehlo/` and `onnx/` read models, and
each framework has a file next to them; `c/` reads C loops. `export/` converts programs to
StableHLO. `entry.py` has the functions that users call; a framework is imported only inside the
function that needs it. Read `term_builder.py` for how terms are built, then the folder of a front
end.
"""

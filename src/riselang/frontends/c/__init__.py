"""C in: loops become a polyhedral model, and the model becomes affine MLIR.

In: the text of a C file. Out: a `Scop` for each region (`model.py`), and from it a function of
affine, scf and memref ops (`emission/`), machine code with the interface of the C function
(`building.py`), or patterns (`tactics/`).

The way of a program: `clang.py` (alone knows libclang) -> `reading.py`, `statements.py`: nodes of
our own (`syntax.py`) -> `inlining.py` -> `extraction.py`: domains, accesses and a schedule tree of
isl -> `dependences.py`, `scheduling.py` -> `emission/`. Read `syntax.py` and `model.py` first.
"""

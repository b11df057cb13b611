"""The C front end: loops become a polyhedral model, and the model becomes affine MLIR.

In: the text of a C file. Out: a `Scop` for each region (`model/scop.py`), and from it a function of
affine, scf and memref ops (`emit/`), machine code with the interface of the C function
(`c_program.py`), or patterns (`tactics/`).

The stages of a program: `parse/clang.py` (the only user of libclang) -> `parse/expressions.py`,
`parse/statements.py`: our own nodes (`parse/syntax.py`) -> `parse/inlining.py` ->
`model/extraction.py`: iteration domains, access relations and an isl schedule tree ->
`model/dependences.py`, `schedule/` -> `emit/`. Read `parse/syntax.py` and `model/scop.py` first.
"""

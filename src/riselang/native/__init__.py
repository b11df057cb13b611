"""Real MLIR and LLVM: text in, artefact out.

`mlir.py` alone knows the MLIR wheel, `llvm.py` alone knows llvmlite, so either can be replaced.
`libraries.py` finds the shared libraries that generated code calls. `debug_text.py`,
`line_table.py` and `perf_map.py` are for debug info.
"""

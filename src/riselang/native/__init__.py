"""Real MLIR and LLVM: text in, artefact out.

`mlir.py` alone knows the MLIR wheel, `llvm.py` alone knows llvmlite, so either can be replaced.
`isolated.py` runs what works on users' modules in a worker process: `stablehlo.py` reads models
there, `onnx_models.py` and `torch_modules.py` convert them. `libraries.py` finds the shared
libraries that generated code calls. `debug_text.py`, `line_table.py` and `perf_map.py` are for
debug info.
"""

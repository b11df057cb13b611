"""Native MLIR and LLVM: from MLIR text to machine code.

Only `mlir` uses the MLIR wheel, and only `llvm/codegen.py` uses llvmlite, so either can
be replaced. `workers/subprocess_worker.py` runs code that parses users' modules in a worker
process: `mlir/stablehlo.py` reads models there, and `mlir/torch_modules.py` converts them.
`llvm/shared_libraries.py` finds the shared libraries that generated code calls.
`debug_info` has line tables and symbols for debuggers and profilers.
`code_loading.py` loads object files into the process, on Linux without LLVM: see `elf`.
"""

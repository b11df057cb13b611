"""LLVM: code generation, and the runtime functions that generated code calls."""

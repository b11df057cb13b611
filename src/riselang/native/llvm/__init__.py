"""LLVM: code generation, and what generated code calls."""

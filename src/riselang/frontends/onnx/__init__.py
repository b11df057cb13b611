"""The conversion of ONNX models to patterns.

In: a model, read by the `onnx` package. Out: a `Model`, as from StableHLO. Each node is converted
by a function that is registered under its op (`registry.py`), in the files of `ops`; they are
written in the functions of `primitives`, whose ops become patterns. Ops without such a function are
expanded to the functions that define them in ONNX. Read `importer.py`, then `primitives/graph.py`.
"""

FRONT_END = "from_onnx"
"""The name of the front end in errors."""

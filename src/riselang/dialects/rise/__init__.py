"""The MLIR dialect `rise`: types, attributes, ops, verifiers and text form.

Read `types.py` first, then `pattern_registry.py` (the definition of each pattern), `functional.py`,
`interface_ops.py` and `codegen.py`; `dialect.py` combines them.
"""

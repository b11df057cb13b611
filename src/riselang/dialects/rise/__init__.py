"""The MLIR dialect `rise`: types, attributes, ops, verifiers and text form.

Comes in: MLIR text, or ops built in Python. Goes out: a verified module.
Read `types.py` first, then `schemes.py` (what each pattern is), `functional.py`, `borders.py` and
`codegen.py`; `dialect.py` puts them together.
"""

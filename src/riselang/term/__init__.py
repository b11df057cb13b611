"""The immutable typed term that the interpreter, the rewriter and the lowering work on.

Front ends build nodes (`build.py`), from which `finish.py` makes a closed `Term` (`nodes.py`, read
that first). `from_dialect.py` reads terms from a lowering unit of the dialect, and `to_dialect.py`
translates them back.
"""

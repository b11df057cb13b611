"""The immutable typed term that interpreter, rewriting and lowering work on.

Comes in: nodes under construction (`build.py`) from a front end, or a lowering unit of the dialect
(`from_dialect.py`). Goes out: a closed `Term` (`nodes.py`, read that first), or ops of the dialect
again (`to_dialect.py`).
"""

"""Every pattern as a Python function, generated from the registry.

`patterns.pyi` lists them for type checkers and editors; `docs/generate.py` writes it. `let` has no
function, because a Python variable has the same meaning.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_registry import LET, PATTERNS, ZIP
from riselang.dsl.pattern_functions import PatternFunction, ZipFunction

FUNCTIONS = {
    spec.python_name: PatternFunction(spec) for spec in PATTERNS.values() if spec is not LET
}
FUNCTIONS[ZIP.python_name] = ZipFunction(ZIP)
globals().update(FUNCTIONS)

__all__ = sorted(FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]

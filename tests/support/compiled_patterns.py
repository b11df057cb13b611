"""The patterns that the compiler lowers: what learns to compile is then tested compiled."""

from __future__ import annotations

from riselang.lowering.imperative import compiled_patterns

COMPILED_PATTERNS = frozenset(compiled_patterns())

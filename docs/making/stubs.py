"""The stub that tells type checkers and editors of the functions made from the registry."""

from __future__ import annotations

from riselang.dsl.patterns import FUNCTIONS

HEADER = '''"""Every pattern as a Python function.

Written by docs/generate.py from the registry of patterns.
"""

from riselang.dsl.pattern_functions import PatternFunction

FUNCTIONS: dict[str, PatternFunction]

'''


def patterns() -> str:
    """A name for each pattern that has a function."""
    names = [f"{name}: PatternFunction\n" for name in sorted(FUNCTIONS)]
    exported = "".join(f'    "{name}",\n' for name in sorted(FUNCTIONS))
    return f"{HEADER}{''.join(names)}\n__all__ = [\n{exported}]\n"

"""The stub that declares the generated pattern functions to type checkers and editors."""

from __future__ import annotations

from riselang.dsl.patterns import FUNCTIONS

HEADER = '''"""Every pattern as a Python function.

Written by docs/generate.py from the registry of patterns.
"""

from riselang.dsl.pattern_functions import PatternFunction

FUNCTIONS: dict[str, PatternFunction]

'''


def patterns() -> str:
    """Return the stub, with one name for each pattern function."""
    names = [f"{name}: PatternFunction\n" for name in sorted(FUNCTIONS)]
    exported = "".join(f'    "{name}",\n' for name in sorted(FUNCTIONS))
    return f"{HEADER}{''.join(names)}\n__all__ = [\n{exported}]\n"

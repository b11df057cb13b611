"""Hints for the names that other libraries use for what riselang calls otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

FOREIGN_NAMES: Mapping[str, str] = {
    "select": "use rl.where(condition, a, b)",
    "if_": "use rl.where(condition, a, b)",
    "cond": "use rl.where(condition, a, b)",
    "mul": "use rl.mult",
    "multiply": "use rl.mult",
    "fold": "use rl.reduce(f, start)",
    "foldl": "use rl.reduce(f, start)",
    "sum": "use x.sum()",
    "prod": "use x.prod()",
    "dot": "use rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)",
    "matmul": "write a matrix multiplication with rl.map, rl.zip and rl.reduce; see the tutorial",
    "filter": "lengths are part of types, so no element can be removed; use rl.map with rl.where",
    "reshape": "rl.split(m) cuts an array into chunks, and rl.join flattens it",
    "flatten": "rl.join flattens one level",
    "concatenate": "rl.concat joins two arrays",
    "arange": "for the integers from 0, use rl.generate(lambda i: rl.from_idx(i))",
    "range": "for the integers from 0, use rl.generate(lambda i: rl.from_idx(i))",
    "iota": "for the integers from 0, use rl.generate(lambda i: rl.from_idx(i))",
    "flip": "use x | rl.reverse",
    "float32": "use rl.f32",
    "float64": "use rl.f64",
    "int32": "use rl.i32",
    "int64": "use rl.i64",
}


def missing_attribute_message(
    module: str, name: str, known: Iterable[str], math: Iterable[str] = ()
) -> str:
    """Return the message for a name that a module does not have, with a suggestion."""
    message = f"module '{module}' has no attribute '{name}'"
    if module == "riselang" and name in FOREIGN_NAMES:
        return f"{message}; {FOREIGN_NAMES[name]}"
    if name in math:
        return f"{message}; use rl.math.{name}"
    suggestions = get_close_matches(name, known, 1)
    return f"{message}; did you mean '{suggestions[0]}'?" if suggestions else message

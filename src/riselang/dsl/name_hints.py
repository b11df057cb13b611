"""Hints for the names that other libraries use for what riselang calls otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

FOREIGN_NAMES: Mapping[str, str] = {
    "select": "a choice is rl.where(condition, a, b)",
    "if_": "a choice is rl.where(condition, a, b)",
    "cond": "a choice is rl.where(condition, a, b)",
    "mul": "a product is rl.mult",
    "multiply": "a product is rl.mult",
    "fold": "a reduction is rl.reduce(f, start)",
    "foldl": "a reduction is rl.reduce(f, start)",
    "sum": "a sum is x | rl.reduce(rl.add, 0.0)",
    "prod": "a product is x | rl.reduce(rl.mult, 1.0)",
    "dot": "a dot product is rl.zip(x, y) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0)",
    "matmul": "a matrix multiplication is written with rl.map, rl.zip and rl.reduce; see the "
    "tutorial",
    "filter": "lengths are part of types, so no element can be removed; use rl.map with rl.where",
    "reshape": "rl.split(m) cuts an array into chunks, and rl.join flattens it",
    "flatten": "rl.join flattens one level",
    "concatenate": "rl.concat joins two arrays",
    "arange": "the integers from 0 are rl.generate(lambda i: rl.from_idx(i))",
    "range": "the integers from 0 are rl.generate(lambda i: rl.from_idx(i))",
    "iota": "the integers from 0 are rl.generate(lambda i: rl.from_idx(i))",
    "flip": "a reversed array is x | rl.reverse",
    "float32": "the type is rl.f32",
    "float64": "the type is rl.f64",
    "int32": "the type is rl.i32",
    "int64": "the type is rl.i64",
}


def missing_attribute_message(
    module: str, name: str, known: Iterable[str], math: Iterable[str] = ()
) -> str:
    """Return the message for a name that a module does not have, with a suggestion."""
    message = f"module '{module}' has no attribute '{name}'"
    if module == "riselang" and name in FOREIGN_NAMES:
        return f"{message}; {FOREIGN_NAMES[name]}"
    if name in math:
        return f"{message}; it is rl.math.{name}"
    suggestions = get_close_matches(name, known, 1)
    return f"{message}; did you mean '{suggestions[0]}'?" if suggestions else message

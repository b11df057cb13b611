"""Hints for the names that other libraries use for what riselang calls otherwise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from riselang.support.spelling import closest_name

FOREIGN_NAMES: Mapping[str, str] = {
    "select": "use rl.where(condition, a, b)",
    "cond": "use rl.if_(condition, a, b)",
    "mul": "use rl.mult",
    "multiply": "use rl.mult",
    "fold": "use rl.reduce(f, start)",
    "foldl": "use rl.reduce(f, start)",
    "sum": "use x.sum()",
    "prod": "use x.prod()",
    "reshape": "use x.reshape(...)",
    "flatten": "use x.flatten()",
    "range": "use rl.arange(n)",
    "iota": "use rl.arange(n)",
    "flip": "use x | rl.reverse",
    "jacrev": "use rl.jacobian",
    "jacfwd": "use rl.jacobian, or rl.jvp in a loop over tangents",
    "float32": "use rl.f32",
    "float64": "use rl.f64",
    "int32": "use rl.i32",
    "int64": "use rl.i64",
    "uint8": "use rl.u8",
    "uint16": "use rl.u16",
    "uint32": "use rl.u32",
    "uint64": "use rl.u64",
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
    suggestion = closest_name(name, known)
    return f"{message}; did you mean '{suggestion}'?" if suggestion else message

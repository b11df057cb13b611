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
    "mean": "use x.mean()",
    "std": "use x.std()",
    "var": "use x.var()",
    "fori_loop": "use rl.iterate(n, f, start)",
    "while_loop": "use rl.while_(condition, f, start)",
    "lax": "its functions are in rl: rl.iterate, rl.while_, rl.scan, rl.if_",
    "array": "use rl.numpy.asarray(x), or a NumPy array",
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

NUMPY_NAMES: Mapping[str, str] = {
    "array": "use rl.numpy.asarray(x)",
    "random": "use rl.random",
    "select": "nest rl.where(condition, a, b)",
    "vectorize": "use rl.vmap(f), or x | rl.map(f)",
    "nonzero": "the length of its result is not known; use rl.compress(condition, rl.arange(n))",
    "unique": "the length of its result is not known; sort, and use rl.compress",
    "fft": "the gallery has a Fourier transform",
    "linalg": "it has no decompositions; products are x @ y, and the gallery has solvers",
}


def missing_attribute_message(
    module: str,
    name: str,
    known: Iterable[str],
    math: Iterable[str] = (),
    numpy: Iterable[str] = (),
) -> str:
    """Return the message for a name that a module does not have, with a suggestion."""
    message = f"module '{module}' has no attribute '{name}'"
    if module == "riselang" and name in FOREIGN_NAMES:
        return f"{message}; {FOREIGN_NAMES[name]}"
    if module == "riselang.numpy" and name in NUMPY_NAMES:
        return f"{message}; {NUMPY_NAMES[name]}"
    if name in math:
        return f"{message}; use rl.math.{name}"
    if name in numpy:
        return f"{message}; use rl.numpy.{name}"
    suggestion = closest_name(name, known)
    return f"{message}; did you mean '{suggestion}'?" if suggestion else message

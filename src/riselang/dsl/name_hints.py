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
    "pmap": "use rl.vmap(f), or x | rl.map_par(f)",
    "nn": "write its functions with rl.numpy: rl.numpy.maximum(x, 0.0) for relu",
    "tree": "structures are those of Python, as in {k: f(v) for k, v in d.items()}",
    "tree_map": "structures are those of Python, as in {k: f(v) for k, v in d.items()}",
    "device_put": "pass arrays to functions directly",
    "make_jaxpr": "use rl.jit(f).trace(x)",
    "conv": "use rl.slide, or rl.slide2d, as in the tutorial's stencils",
    "convolve": "use rl.slide(k, 1), as in the tutorial's stencils",
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
    "apply_along_axis": "use rl.vmap(f), or x | rl.map(f)",
    "allclose": "use rl.numpy.isclose(x, y).all()",
    "append": "use rl.numpy.concatenate([x, y])",
    "average": "use rl.numpy.mean(x), or (x * w).sum() / w.sum()",
    "bincount": "use rl.zeros(n, rl.i64).at[x].add(1)",
    "column_stack": "use rl.numpy.stack(arrays, axis=1)",
    "convolve": "use x | rl.slide(k, 1), as in the tutorial's stencils",
    "dstack": "use rl.numpy.stack(arrays, axis=2)",
    "hstack": "use rl.numpy.concatenate(arrays, axis), where axis is 0 for vectors, else 1",
    "interp": "use rl.numpy.searchsorted, and combine the elements on both sides",
    "median": "use rl.numpy.sort(x)[n // 2], or the mean of the elements in the middle",
    "percentile": "use rl.numpy.sort(x)[k]",
    "ptp": "use x.max() - x.min()",
    "quantile": "use rl.numpy.sort(x)[k]",
    "split": "use slices, as in x[a:b]",
    "swapaxes": "use rl.numpy.moveaxis, or x.transpose(...)",
    "vstack": "use rl.numpy.stack for vectors, and rl.numpy.concatenate for matrices",
    "nonzero": "the length of its result is not known; use rl.compress(condition, rl.arange(n))",
    "unique": "the length of its result is not known; sort, and use rl.compress",
}
RANDOM_NAMES: Mapping[str, str] = {
    "PRNGKey": "use rl.random.key(seed)",
    "seed": "use rl.random.key(seed)",
    "default_rng": "use rl.random.key(seed)",
    "rand": "use rl.random.uniform(key, shape)",
    "randn": "use rl.random.normal(key, shape)",
    "randint": "use (rl.random.uniform(key, shape) * n).astype(rl.i32)",
}
MODULE_NAMES: Mapping[str, Mapping[str, str]] = {
    "riselang": FOREIGN_NAMES,
    "riselang.numpy": NUMPY_NAMES,
    "riselang.random": RANDOM_NAMES,
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
    hint = MODULE_NAMES.get(module, {}).get(name)
    if hint is not None:
        return f"{message}; {hint}"
    if name in math:
        return f"{message}; use rl.math.{name}"
    if name in numpy:
        return f"{message}; use rl.numpy.{name}"
    suggestion = closest_name(name, known)
    return f"{message}; did you mean '{suggestion}'?" if suggestion else message

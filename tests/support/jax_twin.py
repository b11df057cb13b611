"""Terms as JAX functions, which JAX differentiates.

An array is an array of JAX; an array of pairs is a pair of arrays. A map is `jax.vmap`, and loops
are `lax.scan` and `lax.while_loop`, so JAX has derivatives of its own for all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    ArrayType,
    FunType,
    IdxType,
    RiseType,
    ScalarType,
    TupleType,
    VectorType,
    array,
    components,
    element_of,
    idx,
    leaves,
    uncurry,
)
from riselang.nat import Nat
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Literal,
    Pattern,
    Scalar,
    Term,
    scalar_type,
    spine,
    subterms,
)
from riselang.term.substitution import mentions
from support.numpy_scalars import DTYPES, Array

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax: Any = import_module("jax")
jax.config.update("jax_enable_x64", True)
jnp, lax = jax.numpy, jax.lax
each = jax.tree.map
RELATIONS = {
    "eq": jnp.equal, "ne": jnp.not_equal, "lt": jnp.less, "le": jnp.less_equal,
    "gt": jnp.greater, "ge": jnp.greater_equal,
}  # fmt: skip


class NotInJax(Exception):
    """Raised for a program with an operation that has no counterpart here."""


def _round_away(x: Any) -> Any:
    return jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)


def _maximum_number(maximum: Any) -> Any:
    """Return a maximum or minimum that ignores NaN, with equal derivatives for equal operands."""
    return lambda a, b: jnp.where(jnp.isnan(a), b, jnp.where(jnp.isnan(b), a, maximum(a, b)))


EXTREMA = {
    "arith.maximumf": jnp.max, "arith.minimumf": jnp.min,
    "arith.maxnumf": jnp.nanmax, "arith.minnumf": jnp.nanmin,
}  # fmt: skip
"""The reductions of arrays, which divide derivatives equally among all equal elements."""
OPERATIONS: Mapping[str, Any] = {
    "arith.addf": jnp.add, "arith.subf": jnp.subtract, "arith.mulf": jnp.multiply,
    "arith.divf": jnp.divide, "arith.negf": jnp.negative, "arith.maximumf": jnp.maximum,
    "arith.minimumf": jnp.minimum, "arith.maxnumf": _maximum_number(jnp.maximum),
    "arith.minnumf": _maximum_number(jnp.minimum),
    "arith.addi": jnp.add, "arith.subi": jnp.subtract, "arith.muli": jnp.multiply,
    "arith.andi": jnp.bitwise_and, "arith.ori": jnp.bitwise_or, "arith.xori": jnp.bitwise_xor,
    "arith.maxsi": jnp.maximum, "arith.minsi": jnp.minimum, "arith.floordivsi": jnp.floor_divide,
    "arith.select": jnp.where, "math.powf": jnp.power, "math.atan2": jnp.arctan2,
    "math.copysign": jnp.copysign, "math.fma": lambda a, b, c: a * b + c, "math.absf": jnp.abs,
    "math.absi": jnp.abs, "math.asin": jnp.arcsin, "math.acos": jnp.arccos,
    "math.atan": jnp.arctan, "math.erf": lambda x: jax.scipy.special.erf(x),
    "math.round": _round_away, "math.roundeven": jnp.round,
    **{f"math.{name}": getattr(jnp, name) for name in (
        "sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
        "sinh", "cosh", "tanh", "cbrt", "floor", "ceil", "trunc",
    )},
}  # fmt: skip
CONVERSIONS = ("arith.sitofp", "arith.extsi", "arith.index_cast", "arith.extf", "arith.truncf")


def _scalar(term: Scalar, operands: Sequence[Any]) -> Any:
    if term.op in ("arith.cmpf", "arith.cmpi") and term.predicate is not None:
        name = term.predicate if term.predicate in RELATIONS else term.predicate[1:]
        is_signed = term.predicate[0] == "s" or term.predicate in ("eq", "ne")
        if name in RELATIONS and term.op == "arith.cmpf":
            is_unordered = jnp.isnan(operands[0]) | jnp.isnan(operands[1])
            return jnp.where(is_unordered, term.predicate[0] == "u", RELATIONS[name](*operands))
        if name in RELATIONS and is_signed:
            return RELATIONS[name](*operands)
    if term.op in CONVERSIONS:
        return operands[0].astype(DTYPES[SCALAR_NAMES[scalar_type(term)]])
    is_boolean = operands[0].dtype == jnp.bool_ and term.op in ("arith.subi", "math.absi")
    if term.op not in OPERATIONS or is_boolean:
        raise NotInJax(term.op)
    return OPERATIONS[term.op](*operands).astype(DTYPES[SCALAR_NAMES[scalar_type(term)]])


# Patterns


def _mapped(length: int, function: Any, xs: Any, output: RiseType) -> Any:
    return jax.vmap(function)(xs) if length else zeros(array(0, output))


def zeros(type: RiseType, *outer: int) -> Any:
    if isinstance(type, TupleType):
        return tuple(zeros(part, *outer) for part in components(type))
    if isinstance(type, ArrayType):
        return zeros(element_of(type), *outer, type.length.constant)
    if isinstance(type, IdxType):
        return jnp.zeros(outer, jnp.int64)
    if not isinstance(type, ScalarType):
        raise NotInJax(str(type))
    return jnp.zeros(outer, DTYPES[SCALAR_NAMES[type]])


def _scanned(function: Any, start: Any, xs: Any) -> tuple[Any, Any]:
    def step(total: Any, x: Any) -> tuple[Any, Any]:
        result = function(total)(x)
        return result, result

    return lax.scan(step, start, xs)


def _take(xs: Any, indices: Any) -> Any:
    return each(lambda x: x[indices], xs)


def _slide(s: Mapping[str, Any], xs: Any) -> Any:
    starts = jnp.arange(s["n"])[:, None] * s.get("sp", 1)
    return _take(xs, starts + jnp.arange(s["sz"]))


def _pad(mode: str) -> Any:
    def pad(s: Mapping[str, Any], xs: Any) -> Any:
        return each(
            lambda x: jnp.pad(x, [(s["l"], s["r"]), *[(0, 0)] * (x.ndim - 1)], mode=mode), xs
        )

    return pad


def _pad_const(s: Mapping[str, Any], value: Any, xs: Any) -> Any:
    def surround(own: Any, x: Any) -> Any:
        left, right = (jnp.broadcast_to(own, (s[side], *own.shape)) for side in "lr")
        return jnp.concatenate([left, x, right])

    return each(surround, value, xs)


def _scatter_with(s: Mapping[str, Any], function: Any, indices: Any, xs: Any, values: Any) -> Any:
    def step(own: Any, update: Any) -> tuple[Any, None]:
        index, value = update
        combined = function(_take(own, index))(value)
        return each(lambda x, new: x.at[index].set(new), own, combined), None

    return lax.scan(step, xs, (indices, values))[0]


def _scatter(s: Mapping[str, Any], *arguments: Any) -> Any:
    return _scatter_with(s, lambda _: lambda new: new, *arguments)


def _sort(s: Mapping[str, Any], order: Any, xs: Any) -> Any:
    if not s["n"]:
        return xs
    before = jax.vmap(lambda a: jax.vmap(lambda b: order(a)(b))(xs))(xs)
    earlier = jnp.arange(s["n"])[:, None] < jnp.arange(s["n"])
    positions = (before | (earlier & ~before & ~before.T)).sum(0)
    return _take(xs, jnp.argsort(positions))


def _while(s: Mapping[str, Any], holds: Any, function: Any, start: Any) -> Any:
    return lax.while_loop(lambda state: holds(state), lambda state: function(state), start)


def _windows(s: Mapping[str, Any], function: Any, xs: Any) -> Any:
    return _slide({**s, "sp": 1}, _mapped(s["n"] + s["sz"] - 1, function, xs, s["t"]))


def _map(s: Mapping[str, Any], function: Any, xs: Any) -> Any:
    return _mapped(s["n"], function, xs, s["t"])


def _generate(s: Mapping[str, Any], function: Any) -> Any:
    return _mapped(s["n"], function, jnp.arange(s["n"]), s["t"])


def _reduce(s: Mapping[str, Any], function: Any, start: Any, xs: Any) -> Any:
    return _scanned(function, start, xs)[0]


def _reduce_par(s: Mapping[str, Any], function: Any, start: Any, xs: Any) -> Any:
    """One chunk is reduced from the start, and combined with the start."""
    if not s["n"]:
        return start
    return function(start)(_scanned(function, start, xs)[0])


def _same(s: Mapping[str, Any], value: Any) -> Any:
    return value


def _pair(s: Mapping[str, Any], first: Any, second: Any) -> Any:
    return first, second


PATTERNS: Mapping[str, Callable[..., Any]] = {
    **{f"map{name}": _map for name in ("", "Seq", "Par", "SeqUnroll", "Block", "Thread", "Warp",
                                       "Lane", "Rank")},
    **dict.fromkeys(("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank"), _reduce),
    "reducePar": _reduce_par,
    **{name: lambda s, f, start, xs: _scanned(f, start, xs)[1] for name in ("scan", "scanSeq")},
    **{name: lambda s, f, x: lax.fori_loop(0, s["k"], lambda _, x: f(x), x)
       for name in ("iterate", "iterateSeq")},
    **dict.fromkeys(("toMem", "prefetch", "shard", "unzip", "fromIdx"), _same),
    "zip": _pair, "tuple": _pair, "while": _while, "generate": _generate, "sort": _sort,
    "fst": lambda s, x: x[0], "snd": lambda s, x: x[1],
    "split": lambda s, xs: each(lambda x: x.reshape(s["n"], s["m"], *x.shape[1:]), xs),
    "join": lambda s, xs: each(lambda x: x.reshape(s["n"] * s["m"], *x.shape[2:]), xs),
    "transpose": lambda s, xs: each(lambda x: jnp.swapaxes(x, 0, 1), xs),
    "slide": _slide, "circularBuffer": _windows, "rotateValues": _windows,
    "pad": _pad("edge"), "padWrap": _pad("wrap"), "padReflect": _pad("reflect"),
    "padConst": _pad_const,
    "let": lambda s, value, body: body(value),
    "reverse": lambda s, xs: each(lambda x: x[::-1], xs),
    "take": lambda s, xs: each(lambda x: x[: s["k"]], xs),
    "drop": lambda s, xs: each(lambda x: x[s["k"] :], xs),
    "concat": lambda s, xs, ys: each(lambda x, y: jnp.concatenate([x, y]), xs, ys),
    "ifAtLeast": lambda s, f, g: (f if s["n"] >= s["k"] else g)(jnp.int64(s["n"])),
    "sizeOf": lambda s, xs: jnp.int64(s["n"]),
    "checkIdx": lambda s, x: x.astype(jnp.int64),
    "clampIdx": lambda s, x: jnp.clip(x.astype(jnp.int64), 0, s["n"] - 1),
    "at": lambda s, i, xs: _take(xs, i), "gather": lambda s, indices, xs: _take(xs, indices),
    "sliceAt": lambda s, i, xs: _take(xs, i + jnp.arange(s["k"])),
    "updateAt": lambda s, i, new, xs: each(
        lambda x, own: x.at[i + jnp.arange(s["k"])].set(own), xs, new
    ),
    "reorder": lambda s, f, xs: _take(xs, _mapped(s["n"], f, jnp.arange(s["n"]), idx(s["n"]))),
    "scatter": _scatter, "scatterWith": _scatter_with,
}  # fmt: skip


def _curried(meaning: Callable[..., Any], sizes: Mapping[str, Any], count: int, *given: Any) -> Any:
    if len(given) == count:
        return meaning(sizes, *given)
    return lambda argument: _curried(meaning, sizes, count, *given, argument)


REDUCTIONS = ("reduce", "reduceSeq", "reduceSeqUnroll", "reduceRank")


def _match_extremum(term: Term) -> tuple[str, Term, Term, Term] | None:
    """Return the op, the element, the start and the array of `reduce` by
    `fun((total, x), max(total, f(x)))`."""
    head, arguments = spine(term)
    is_reduction = isinstance(head, Pattern) and head.spec.name in REDUCTIONS
    if not is_reduction or len(arguments) != 3 or not isinstance(arguments[0], Lambda):
        return None
    inner = arguments[0].body
    combination = inner.body if isinstance(inner, Lambda) else None
    if not isinstance(combination, Scalar) or combination.op not in EXTREMA:
        return None
    others = [each for each in combination.operands if not _is_variable(each, 1)]
    if len(others) != 1 or mentions(others[0], 1):
        return None
    return combination.op, others[0], arguments[1], arguments[2]


def _is_variable(term: Term, index: int) -> bool:
    return isinstance(term, Bound) and term.index == index


def _reduce_to_extremum(
    op: str, element: Term, start: Term, array: Term, environment: tuple[Any, ...]
) -> Any:
    first, xs = _evaluate(start, environment), _evaluate(array, environment)
    if not jax.tree.leaves(xs)[0].shape[0]:
        return first
    values = jax.vmap(lambda x: _evaluate(element, (*environment, None, x)))(xs)
    return EXTREMA[op](jnp.append(values, first))


def _evaluate(term: Term, environment: tuple[Any, ...]) -> Any:
    match term:
        case Bound():
            return environment[-1 - term.index]
        case Lambda():
            return lambda value: _evaluate(term.body, (*environment, value))
        case Apply():
            if (extremum := _match_extremum(term)) is not None:
                return _reduce_to_extremum(*extremum, environment)
            function = _evaluate(term.function, environment)
            return function(_evaluate(term.argument, environment))
        case Literal():
            return jnp.asarray(term.number, DTYPES[SCALAR_NAMES[term.attribute.scalar_type]])
        case Scalar():
            return _scalar(term, [_evaluate(each, environment) for each in term.operands])
        case Pattern():
            if term.spec.name not in PATTERNS:
                raise NotInJax(term.spec.name)
            named = zip(term.spec.parameters, term.arguments, strict=True)
            sizes = {
                name: value.constant if isinstance(value, Nat) else value for name, value in named
            }
            return _curried(PATTERNS[term.spec.name], sizes, term.spec.arity)
        case _:
            raise NotInJax(type(term).__name__)


# Derivatives


def _tree(type: RiseType, arrays: list[Any]) -> Any:
    """Return the arrays, one for each scalar leaf, paired as the tuples in `type` are."""
    while isinstance(type, ArrayType):
        type = element_of(type)
    if not isinstance(type, TupleType):
        return arrays[0]
    first, second = components(type)
    count = len(list(leaves(first)))
    return _tree(first, arrays[:count]), _tree(second, arrays[count:])


def _is_unsigned(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and SCALAR_NAMES.get(type, "").startswith("u")


def _check_type(type: RiseType) -> None:
    """Raise an error for vectors and for unsigned integers, whose overloads differ."""
    if isinstance(type, FunType):
        _check_type(type.input)
        _check_type(type.output)
    elif isinstance(type, VectorType) or _is_unsigned(type):
        raise NotInJax(str(type))
    elif isinstance(type, ArrayType):
        _check_type(type.element)
    elif isinstance(type, TupleType):
        for part in components(type):
            _check_type(part)


def derivatives(
    term: Term,
    values: Sequence[Array],
    active: Sequence[bool],
    tangents: Sequence[Array],
    cotangents: Sequence[Array],
) -> tuple[list[Array], list[Array], list[Array] | None]:
    """Return the float results, their tangents, and the cotangents of the active arguments; these
    are None if the program contains a `while`, which JAX cannot differentiate in reverse mode."""
    types, _ = uncurry(term.type)
    for part in subterms(term):
        _check_type(part.type)
    counts = [len(list(leaves(type))) for type in types]
    flags = [flag for flag, count in zip(active, counts, strict=True) for _ in range(count)]

    dtypes = [zeros(leaf).dtype for type in types for _, leaf in leaves(type)]

    def function(*floats: Any) -> list[Any]:
        given = iter(floats)
        arrays = [next(given) if flag else jnp.asarray(value, dtype)
                  for value, flag, dtype in zip(values, flags, dtypes, strict=True)]  # fmt: skip
        result = _evaluate(term, ())
        for type, count in zip(types, counts, strict=True):
            result = result(_tree(type, arrays[:count]))
            del arrays[:count]
        return [each for each in jax.tree.leaves(result) if each.dtype == jnp.float64]

    primals = [jnp.asarray(value) for value, flag in zip(values, flags, strict=True) if flag]
    results, derivative = jax.jit(lambda p, t: jax.jvp(function, p, t))(primals, list(tangents))
    names = {part.spec.name for part in subterms(term) if isinstance(part, Pattern)}
    if "while" in names:
        return results, derivative, None
    pull = jax.jit(lambda p, c: jax.vjp(function, *p)[1](c))
    return results, derivative, list(pull(primals, list(cotangents)))

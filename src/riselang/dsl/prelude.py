"""The functions that users call besides patterns: scalar functions and 2D helpers.

Many names here shadow Python's builtins on purpose, so this module contains only definitions.
"""

from __future__ import annotations

from typing import Any

from riselang.dsl.dtypes import as_scalar_type
from riselang.dsl.pattern_functions import ScalarFunctions, helper, scalar_function
from riselang.dsl.patterns import map, map_seq, pad, slide, transpose, zip
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import (
    Value,
    as_node,
    complex_part,
    convert,
    make_complex,
    reinterpret,
)
from riselang.term.scalar_ops import OVERLOADS

add, sub, mult, div = (scalar_function(name) for name in ("add", "sub", "mult", "div"))
max, min, abs = (scalar_function(name) for name in ("max", "min", "abs"))
popcount, clz = (scalar_function(name) for name in ("popcount", "clz"))
math = ScalarFunctions(
    **{
        name: scalar_function(name)
        for name, overload in OVERLOADS.items()
        if overload.on_floats is not None and overload.on_floats.startswith("math.")
    }
)


def where(condition: Any, chosen: Any, other: Any) -> Value:
    """Return `chosen` where the condition holds, else `other`; three scalars, or three vectors."""
    return select(condition, chosen, other)


def cast(value: Any, type: Any) -> Value:
    """Convert a scalar, or each lane of a vector, to another scalar type."""
    return convert(value, as_scalar_type("cast", type))


def complex(real: Any, imag: Any) -> Value:
    """Return a complex number from two scalars of type f32 or f64; of arrays, by element."""
    return make_complex(real, imag)


def real(value: Any) -> Value:
    """Return the real part of a complex number."""
    return complex_part("real", value)


def imag(value: Any) -> Value:
    """Return the imaginary part of a complex number."""
    return complex_part("imag", value)


def conj(value: Any) -> Value:
    """Return the conjugate of a complex number."""
    return complex_part("conj", value)


def bitcast(value: Any, type: Any) -> Value:
    """Reinterpret the bits of a scalar, or of each lane, as another type of the same width."""
    return reinterpret(value, as_scalar_type("bitcast", type))


def literal(number: float, type: Any) -> Value:
    """Return a constant of a given type, where the type cannot be inferred."""
    return Value(as_node(number, as_scalar_type("literal", type)))


@helper(2)
def map2d(function: Any, xss: Any) -> Value:
    """`map` over both dimensions."""
    return map(map(function), xss)


@helper(2)
def map_seq2d(function: Any, xss: Any) -> Value:
    """`mapSeq` over both dimensions."""
    return map_seq(map_seq(function), xss)


@helper(2)
def zip2d(xss: Any, yss: Any) -> Value:
    """`zip` over both dimensions."""
    return map(zip, zip(xss, yss))


@helper(3)
def slide2d(size: Any, step: Any, xss: Any) -> Value:
    """Square windows: `n.m.t -> n'.m'.size.size.t`."""
    return map(transpose, slide(size, step, map(slide(size, step), xss)))


@helper(3)
def pad2d(before: Any, after: Any, xss: Any) -> Value:
    """`pad` in both dimensions."""
    return pad(before, after, map(pad(before, after), xss))

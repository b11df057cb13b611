"""Random numbers from keys: the bits of `jax.random` with the generator Threefry.

A key is an array of two u32. Each call computes its numbers from a key alone, so the numbers depend
neither on the order of calls nor on strategies; use `split` to derive new keys.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from riselang.api.jit import jit
from riselang.api.jit_kernel import Jitted
from riselang.dialects.rise.types import f32, u32
from riselang.dsl.argument_errors import with_argument_checks
from riselang.dsl.arrays.constructors import arange
from riselang.dsl.arrays.layout import stack
from riselang.dsl.patterns import map as map_pattern
from riselang.dsl.patterns import split as split_pattern
from riselang.dsl.prelude import bitcast, literal, math, where
from riselang.dsl.prelude import max as maximum
from riselang.dsl.symbolic_values import Value, as_node
from riselang.dsl.tracing import is_tracing
from riselang.dsl.user_locations import user_location
from riselang.support.errors import UserError
from riselang.support.tracebacks import with_short_tracebacks

__all__ = ["bits", "key", "normal", "split", "uniform"]

ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
ROUNDS = 5
PARITY = 0x1BD11BDA
"""The constant of Threefry that is combined with the words of a key."""
MANTISSA_BITS = 23
ONE = 0x3F800000
"""The bits of 1.0 as an f32."""


CENTRAL = (
    2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503,
    -0.00417768164, 0.246640727, 1.50140941,
)  # fmt: skip
TAILS = (
    -0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613,
    0.00943887047, 1.00167406, 2.83297682,
)  # fmt: skip
"""The coefficients of the inverse error function: M. Giles, "Approximating the erfinv function"."""


def key(seed: int) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return the key of a seed."""
    return np.array([seed >> 32 & 0xFFFFFFFF, seed & 0xFFFFFFFF], np.uint32)


@with_short_tracebacks
def split(key: Any, num: int = 2) -> Any:
    """Return an array of `num` new keys."""
    return _run(_split, key, num)


@with_short_tracebacks
def bits(key: Any, shape: Sequence[int] = ()) -> Any:
    """Return an array of random u32."""
    return _run(_bits, key, _checked(shape))


@with_short_tracebacks
def uniform(key: Any, shape: Sequence[int] = (), minval: float = 0.0, maxval: float = 1.0) -> Any:
    """Return an array of random f32 in [minval, maxval)."""
    return _run(_uniform, key, _checked(shape), minval, maxval)


@with_short_tracebacks
def normal(key: Any, shape: Sequence[int] = ()) -> Any:
    """Return an array of random f32 with the standard normal distribution.

    They differ from those of JAX by a few ulp.
    """
    return _run(_normal, key, _checked(shape))


def _checked(shape: Sequence[int]) -> tuple[int, ...]:
    lengths = tuple(shape)
    if any(each < 0 for each in lengths):
        raise UserError(f"random: the lengths of a shape must not be negative, but it is {shape!r}",
                        user_location())  # fmt: skip
    return lengths


def _run(function: Callable[..., Any], key: Any, *parameters: Any) -> Any:
    """Build the numbers in the program that is traced, or compile a program for them."""
    if is_tracing():
        value = key if isinstance(key, Value) else Value(as_node(key))
        return function(value, *parameters)
    return _kernel(function, parameters)(np.asarray(key, np.uint32))


@functools.lru_cache(maxsize=256)
def _kernel(function: Callable[..., Any], parameters: tuple[Any, ...]) -> Jitted:
    return jit(lambda key: function(key, *parameters))


def _split(key: Value, num: int) -> Value:
    return _counters(num) | map_pattern(lambda i: stack(list(_encrypt(key, i))))


def _bits(key: Value, shape: tuple[int, ...]) -> Value:
    def word(i: Value) -> Value:
        first, second = _encrypt(key, i)
        return first ^ second

    if not shape:
        return word(literal(0, u32))
    numbers = _counters(int(np.prod(shape))) | map_pattern(word)
    for length in reversed(shape[1:]):
        numbers = split_pattern(length, numbers)
    return numbers


def _uniform(key: Value, shape: tuple[int, ...], minval: float, maxval: float) -> Value:
    low, span = np.float32(minval), np.float32(maxval) - np.float32(minval)

    def scale(word: Value) -> Value:
        mantissa = (word >> _word(32 - MANTISSA_BITS)) | _word(ONE)
        unit = bitcast(mantissa, f32) - literal(1.0, f32)
        return maximum(_float(low), unit * _float(span) + _float(low))

    return _map_scalars(scale, _bits(key, shape), len(shape))


def _normal(key: Value, shape: tuple[int, ...]) -> Value:
    low = float(np.nextafter(np.float32(-1), np.float32(0)))
    numbers = _uniform(key, shape, low, 1.0)
    root = _float(np.sqrt(2))
    return _map_scalars(lambda x: root * _inverse_erf(x), numbers, len(shape))


def _inverse_erf(x: Value) -> Value:
    """Return the inverse of the error function, by the approximation of Giles for f32."""
    w = -math.log1p(-x * x)
    is_central = w < 5.0
    distance = where(is_central, w - 2.5, math.sqrt(w) - 3.0)
    result = where(is_central, _float(CENTRAL[0]), _float(TAILS[0]))
    for central, tail in zip(CENTRAL[1:], TAILS[1:], strict=True):
        result = where(is_central, _float(central), _float(tail)) + result * distance
    return result * x


def _map_scalars(function: Callable[[Value], Value], xs: Value, rank: int) -> Value:
    if rank == 0:
        return function(xs)
    return xs | map_pattern(lambda x: _map_scalars(function, x, rank - 1))


def _counters(count: int) -> Value:
    return arange(count) | map_pattern(lambda i: i.astype(u32))


def _word(number: int) -> Value:
    return literal(number, u32)


def _float(number: Any) -> Value:
    return literal(float(number), f32)


def _encrypt(key: Value, counter: Value) -> tuple[Value, Value]:
    """Return the two words of Threefry-2x32 with 20 rounds for a counter of 64 bits, of which the
    high ones are zero."""
    first, second = key[0], key[1]
    words = (first, second, first ^ second ^ _word(PARITY))
    x, y = first, counter + second
    for number in range(ROUNDS):
        for rotation in ROTATIONS[number % 2]:
            x = x + y
            y = ((y << _word(rotation)) | (y >> _word(32 - rotation))) ^ x
        x = x + words[(number + 1) % 3]
        y = y + words[(number + 2) % 3] + _word(number + 1)
    return x, y


globals().update(with_argument_checks({name: globals()[name] for name in __all__}, "rl.random"))


def __getattr__(name: str) -> object:
    from riselang.dsl.name_hints import missing_attribute_message

    raise AttributeError(missing_attribute_message(__name__, name, __all__), name=name)

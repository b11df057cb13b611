"""Programs on unsigned integers and Booleans: compiled, interpreted and by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import ScalarType
from riselang.notation.program import parse_term

Array = np.ndarray[Any, np.dtype[Any]]
TYPES: dict[str, ScalarType] = {"u8": rl.u8, "u16": rl.u16, "u32": rl.u32, "u64": rl.u64}


def sample(name: str, size: int = 200) -> tuple[Array, Array]:
    """Two arrays of numbers, among them the limits of the type, and no zero in the second."""
    dtype = np.dtype(f"uint{name[1:]}")
    source, limits = np.random.default_rng(7), np.iinfo(dtype)
    x = source.integers(0, limits.max, size, dtype, endpoint=True)
    y = source.integers(1, limits.max, size, dtype, endpoint=True)
    x[:3], y[:3] = (0, limits.max, limits.max), (limits.max, 1, limits.max)
    return x, y


def leading_zeros(x: Array) -> Array:
    width = x.dtype.itemsize * 8
    return np.array([width - int(each).bit_length() for each in x], x.dtype)


OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: -a - b, lambda a, b: 0 - a - b),
    "*": (lambda a, b: a * b, np.multiply),
    "//": (lambda a, b: a // b, np.floor_divide),
    "%": (lambda a, b: a % b, np.remainder),
    "& | ^ ~": (lambda a, b: (a & b) | ~(a ^ b), lambda a, b: (a & b) | ~(a ^ b)),
    "<<": (lambda a, b: a << (b % 8), lambda a, b: a << (b % 8)),
    ">>": (lambda a, b: a >> (b % 8), lambda a, b: a >> (b % 8)),
    "max": (lambda a, b: rl.max(a, b), np.maximum),
    "min": (lambda a, b: rl.min(a, b), np.minimum),
    "<": (lambda a, b: rl.where(a < b, 1 + a, b), lambda a, b: np.where(a < b, 1 + a, b)),
    ">=": (lambda a, b: a >= b, np.greater_equal),
    "popcount": (lambda a, b: rl.popcount(a), lambda a, b: np.bitwise_count(a).astype(a.dtype)),
    "clz": (lambda a, b: rl.clz(a), lambda a, b: leading_zeros(a)),
    "to f64": (lambda a, b: rl.cast(a, rl.f64), lambda a, b: a.astype(np.float64)),
    "to i64": (lambda a, b: rl.cast(a, rl.i64), lambda a, b: a.astype(np.int64)),
    "to u8": (lambda a, b: rl.cast(a, rl.u8), lambda a, b: a.astype(np.uint8)),
    "2 - 1": (lambda a, b: (2 - a) * (1 + b), lambda a, b: (2 - a) * (1 + b)),
}


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.sampled(1)
def test_operations_agree_with_numpy(name: str) -> None:
    x, y = sample(name)

    def program(x: Any, y: Any) -> Any:
        return tuple(rl.zip(x, y) | rl.map(ours) for ours, _ in OPERATIONS.values())

    type = rl.Array["N", TYPES[name]]
    program.__annotations__ = {"x": type, "y": type}
    kernel = rl.jit(program)
    with np.errstate(all="ignore"):
        expected = [reference(x, y) for _, reference in OPERATIONS.values()]
    for backend in ("compile", "interpret"):
        results = kernel(x, y) if backend == "compile" else rl.jit(program, backend=backend)(x, y)
        for operation, found, wanted in zip(OPERATIONS, results, expected, strict=True):
            assert found.dtype == np.asarray(wanted).dtype, operation
            np.testing.assert_array_equal(found, wanted, f"{operation} {backend}")


def test_floats_saturate_and_nan_becomes_zero() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: rl.cast(a, rl.u8)), x | rl.map(lambda a: rl.cast(a, rl.u64))

    x = np.array([-np.inf, -1.0, -0.5, 0.5, 255.9, 256.0, 2.0**40, 2.0**64, np.inf, np.nan], "f4")
    small, large = program(x)
    assert small.tolist() == [0, 0, 0, 0, 255, 255, 255, 255, 255, 0]
    most = 2**64 - 1
    assert large.tolist() == [0, 0, 0, 0, 255, 256, 2**40, most, most, 0]


def test_large_numbers_are_sorted_last_and_clamped_to_the_last_index() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.u64]):
        ordered = x | rl.sort(lambda a, b: a < b)
        return ordered, x | rl.map(lambda a: rl.from_idx(rl.clamp_idx(5, a)))

    x = np.array([2**63, 3, 2**64 - 1, 0, 2**63 - 1, *range(40)], np.uint64)
    ordered, indices = program(x)
    np.testing.assert_array_equal(ordered, np.sort(x))
    np.testing.assert_array_equal(indices, np.minimum(x, 4))


def test_bits_are_reinterpreted() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: rl.bitcast(rl.bitcast(a, rl.u32) ^ (1 << 31), rl.f32))

    x = np.array([0.0, 1.5, -2.0, np.inf], np.float32)
    np.testing.assert_array_equal(program(x), -x)


def test_booleans_have_the_name_of_numpy() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.bool_], y: rl.Array["N", rl.u8]):
        return rl.zip(x, y) | rl.map(lambda a, b: ~a & rl.cast(b, rl.bool_))

    x, y = np.array([True, False, False]), np.array([1, 0, 7], np.uint8)
    np.testing.assert_array_equal(program(x, y), [False, False, True])


def test_scalars_are_passed_by_value() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.u16], a: rl.u16):
        return x | rl.map(lambda b: b + a)

    assert program(np.array([1, 65535], np.uint16), 65535).tolist() == [0, 65534]
    with pytest.raises(rl.UserError, match="argument a: expected a scalar of type u16"):
        program(np.array([1], np.uint16), -1)


def test_every_stage_takes_the_same_arrays() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.u8]):
        return x | rl.map(lambda a: rl.cast(rl.cast(a, rl.u16) * 3 >> 1, rl.u8) // 2)

    lowered = program.lower(N=4)
    x = np.array([0, 3, 200, 255], np.uint8)
    for stage in ("rise", "imperative", "affine"):
        found = np.empty_like(x)
        rl.loads(lowered.as_text(stage)).program(found, x)
        np.testing.assert_array_equal(found, program(x), stage)


@pytest.mark.parametrize(
    "text",
    [
        "fun(x : u8, ~x & 3_u8 | x << 1_u8 ^ x >> 2_u8)",
        "fun((x : i32, y : i32), (x << y) + 1 < (x >> y) - (y & 7))",
        "fun(x : u8, popcount(x) + clz(x) - cast[u8](x == 255_u8))",
        "fun(x : f32, bitcast[u32](x))",
        "fun(x : u32, divsi(x, 2_u32) + floordiv(x, 3_u32))",
        "fun(x : u8, cast[i32](cast[u16](x) + 300_u16) + cast[i32](cast[i8](x)))",
    ],
)
def test_notation_reads_what_it_prints(text: str) -> None:
    term = parse_term(text)
    assert parse_term(rl.show_term(term)) == term

"""Five hundred ways to call a kernel wrongly: each is refused, and the message names the argument.

Every bad argument is given to every way of calling, before and after a right call.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang import RiseError
from support.fuzzing import Ran

N, K = 6, 4
DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
          "float32", "float64", "bool", "complex64", "complex128", ">f4", ">i8", "datetime64[s]",
          "S4", "U2", "O")  # fmt: skip


@rl.jit
def kernel(A: rl.Array["N", "K", rl.f32], i: rl.Array["N", rl.i64], s: rl.f64) -> Any:
    rows = rl.zip(A, i) | rl.map(lambda row, k: (row | rl.reduce(rl.add, 0.0)) + rl.cast(k, rl.f32))
    return rows | rl.map(lambda x: x * rl.cast(s, rl.f32))


@rl.jit(sizes="symbolic")
def open_kernel(A: rl.Array["N", "K", rl.f32], i: rl.Array["N", rl.i64], s: rl.f64) -> Any:
    rows = rl.zip(A, i) | rl.map(lambda row, k: (row | rl.reduce(rl.add, 0.0)) + rl.cast(k, rl.f32))
    return rows | rl.map(lambda x: x * rl.cast(s, rl.f32))


class OnAnotherDevice:
    """An array that lies in the memory of a GPU."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the array is on device 2")


def right() -> dict[str, Any]:
    return {
        "A": np.ones((N, K), np.float32),
        "i": np.arange(N, dtype=np.int64),
        "s": 2.0,
    }


def of_dtype(array: Any, name: str) -> Any:
    if name in ("S4", "U2", "O", "datetime64[s]"):
        return np.zeros(array.shape, name)
    return array.astype(name)


def unaligned(array: Any) -> Any:
    memory = np.zeros(array.nbytes + 1, np.uint8)
    return memory[1:].view(array.dtype).reshape(array.shape)


def wrong_arrays(array: Any) -> Iterator[tuple[str, Any]]:
    """Arrays that are not the one that is asked for, in one way each."""
    for name in DTYPES:
        if np.dtype(name) != array.dtype:
            yield f"of dtype {name}", of_dtype(array, name)
    shape = array.shape
    for dimension, length in enumerate(shape):
        for other in (0, 1, length - 1, length + 1, 2 * length):
            if other != length:
                changed = (*shape[:dimension], other, *shape[dimension + 1 :])
                yield f"{other} long in dimension {dimension}", np.ones(changed, array.dtype)
    yield "with a dimension more in front", array[None]
    yield "with a dimension more behind", array[..., None].copy()
    yield "with a dimension less", array[0].copy()
    yield "without dimensions", np.array(1, array.dtype)
    yield "with a mask", np.ma.masked_array(array)


def strided_arrays(array: Any) -> Iterator[tuple[str, Any]]:
    """Arrays of the right type and shape whose elements are not contiguous, or not aligned."""
    shape = array.shape
    yield "unaligned", unaligned(array)
    double = np.ones((*shape[:-1], 2 * shape[-1]), array.dtype)
    yield "every second element", double[..., ::2]
    yield "backwards", array[..., ::-1]
    yield "upside down", array[::-1]
    yield "one element again and again", np.broadcast_to(array.dtype.type(1), shape)
    yield "in the order of Fortran", np.ones((*shape, 3), array.dtype)[..., 1]
    if len(shape) > 1:
        yield "in the middle of another", np.ones([n + 2 for n in shape], array.dtype)[1:-1, 1:-1]


def no_arrays(array: Any) -> Iterator[tuple[str, Any]]:
    for value in (None, "text", b"bytes", 1, 1.5, True, 1j, [1.0], (1.0,), {}, {1.0}, object(),
                  range(4), array.tolist(), lambda: array, slice(3), Ellipsis, iter([1.0]),
                  array.data.tobytes(), type(array)):  # fmt: skip
        yield f"{type(value).__name__} {str(value)[:8]}", value
    yield "on another device", OnAnotherDevice()


def wrong_scalars() -> Iterator[tuple[str, Any]]:
    for value in ("text", b"bytes", None, object(), {}, [1.0, 2.0], 1j, np.ones(2), lambda: 1,
                  np.array([1.0]), np.array(1, np.int32), np.array(1, np.float32),
                  np.ma.masked, np.ma.masked_array(1.0)):  # fmt: skip
        yield f"{type(value).__name__} {str(value)[:8]}", value


Case = tuple[str, str, dict[str, Any]]
"""The argument that is wrong, how, and all arguments."""


def bad_arguments() -> Iterator[Case]:
    for name in ("A", "i"):
        array = right()[name]
        for how, value in (*wrong_arrays(array), *no_arrays(array)):
            yield name, how, {**right(), name: value}
    for how, value in wrong_scalars():
        yield "s", how, {**right(), "s": value}


def bad_outputs() -> Iterator[tuple[str, Any]]:
    """What cannot take the result."""
    out = np.zeros(N, np.float32)
    yield from wrong_arrays(out)
    yield from strided_arrays(out)
    for how, value in no_arrays(out):
        if value is not None:  # which asks for a new array
            yield how, value
    read_only = np.zeros(N, np.float32)
    read_only.setflags(write=False)
    yield "read-only", read_only
    yield "two arrays", (out, out)
    yield "no arrays", ()


def aliases() -> Iterator[tuple[str, dict[str, Any], Any]]:
    """Outputs that lie where an input lies."""
    for name, size in (("A", N * K), ("i", 2 * N)):
        for shift in (0, 1, size - N, size - 1, -1, -N + 1):
            memory = np.zeros(size + 2 * N, np.float32)
            given = right()
            inside = memory[N : N + size]
            if name == "i" and N % 2:
                continue
            given[name] = inside.view(given[name].dtype).reshape(given[name].shape)
            yield f"{name} by {shift}", given, memory[N + shift : 2 * N + shift]


Call = Callable[..., Any]


WAYS = (
    "a kernel",
    "a kernel for all sizes",
    "a compiled program",
    "a compiled program for all sizes",
    "a function",
    "a function for all sizes",
)


@cache
def ways() -> dict[str, Call]:
    """How a program is called; the programs are compiled when the first of them is."""
    compiled = kernel.lower(N=N, K=K).compile()
    open_one = open_kernel.lower().compile()

    def buffers(function: Any) -> Call:
        def call(*arguments: Any, out: Any = None) -> Any:
            result = np.zeros(N, np.float32) if out is None else out
            parts = result if isinstance(result, tuple) else (result,)
            *arrays, scalar = arguments
            if isinstance(scalar, float):
                scalar = np.array(scalar)
            return function(*parts, *arrays, scalar)

        return call

    functions = buffers(compiled.function), buffers(open_one.function)
    return dict(zip(WAYS, (kernel, open_kernel, compiled, open_one, *functions), strict=True))


def error_of(call: Call, given: dict[str, Any], how: str, **options: Any) -> str:
    """The message of the error that a call ends with."""
    try:
        call(*given.values(), **options)
    except RiseError as error:
        return error.message
    raise AssertionError(f"{how} is taken")


def refused(call: Call, given: dict[str, Any], name: str, how: str) -> int:
    """1, if the message of the error names the argument."""
    message = error_of(call, given, f"{name} {how}")
    assert re.search(rf"\b{name}\b", message), (name, how, message)
    return 1


def sizes_are_free(way: str, name: str, how: str) -> bool:
    """A kernel is compiled for any shapes that fit together, and so may be those of one array."""
    return name == "A" and how.endswith("long in dimension 1") and (
        way.startswith("a kernel") or way.endswith("all sizes")
    )  # fmt: skip


def takes_lists(way: str, value: Any) -> bool:
    """A kernel converts lists of numbers to arrays."""
    return way.startswith("a kernel") and isinstance(value, list) and len(value) == N


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore::riselang.CopyWarning")
def test_strided_arguments_are_copied(way: str) -> None:
    for name in ("A", "i"):
        for how, value in strided_arrays(right()[name]):
            results = [np.zeros(N, np.float32) for _ in range(2)]
            for result, array in zip(results, (value, np.array(value)), strict=True):
                ways()[way](*{**right(), name: array}.values(), out=result)
            assert np.array_equal(results[0], results[1]), how


@pytest.mark.parametrize("way", WAYS)
def test_bad_arguments(way: str, ran: Ran) -> None:
    call, count = ways()[way], 0
    for _ in range(2):
        for name, how, given in bad_arguments():
            if sizes_are_free(way, name, how) or takes_lists(way, given[name]):
                call(*given.values())
            elif how.startswith(("0 long", "1 long", "5 long", "7 long", "12 long")):
                # Two arrays do not fit together, and either may be the wrong one.
                with pytest.raises(RiseError, match=r"\b(A|i|out)\b"):
                    call(*given.values())
                count += 1
            else:
                count += refused(call, given, name, how)
        assert np.array_equal(result_of(call), expected())
    ran("bad calls refused", count)


def result_of(call: Call) -> Any:
    out = np.zeros(N, np.float32)
    call(*right().values(), out=out)
    return out


def expected() -> Any:
    given = right()
    return ((given["A"].sum(1) + given["i"]) * given["s"]).astype(np.float32)


@pytest.mark.parametrize("way", WAYS)
def test_bad_outputs(way: str, ran: Ran) -> None:
    call, count = ways()[way], 0
    for how, value in bad_outputs():
        if way.startswith("a function") and isinstance(value, tuple):
            continue  # which takes its outputs one by one
        message = error_of(call, right(), f"out {how}", out=value)
        assert re.search(r"\bout\b", message), (how, message)
        count += 1
    for name, given, out in aliases():
        message = error_of(call, given, f"out in the place of {name}", out=out)
        assert re.search(r"\bout\b.* share memory", message), (name, message)
        count += 1
    ran("bad calls refused", count)


@pytest.mark.parametrize("way", ["a kernel", "a kernel for all sizes"])
def test_bad_counts_and_names(way: str) -> None:
    call, given = ways()[way], right()
    for arguments, named, message in (
        ((), {}, "takes 3 arguments|without A, i, s"),
        ((given["A"],), {}, "takes 3 arguments"),
        ((*given.values(), 1.0), {}, "takes 3 arguments"),
        ((given["A"],), {"i": given["i"]}, "called without s"),
        ((given["A"],), {**given}, "got A twice"),
        ((), {**given, "B": 1}, "has no parameter B; it has: A, i, s"),
        ((), {"i": given["i"], "s": 1.0}, "called without A"),
    ):
        with pytest.raises(RiseError, match=message):
            call(*arguments, **named)
    assert np.array_equal(call(**given), expected())


@pytest.mark.parametrize("way", ["a compiled program", "a function", "a function for all sizes"])
def test_bad_counts(way: str) -> None:
    call, given = ways()[way], list(right().values())
    for arguments in (given[:2], [*given, 1.0]):
        with pytest.raises(RiseError, match=r"takes \d arguments"):
            call(*arguments)


def test_there_are_five_hundred() -> None:
    arguments, outputs = len(list(bad_arguments())), len([*bad_outputs(), *aliases()])
    assert (arguments + outputs) * len(WAYS) >= 500

"""Programs on complex numbers: compiled, interpreted and by NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.dialects.rise.types import ScalarType

Array = np.ndarray[Any, np.dtype[Any]]
TYPES: dict[str, ScalarType] = {"complex64": rl.complex64, "complex128": rl.complex128}
PARTS = (0.0, -0.0, 1.0, -1.0, 0.5, -3.25, 1e-30, 1e30, math.inf, -math.inf, math.nan)


def sample(dtype: str, size: int = 40) -> Array:
    source = np.random.default_rng(5)
    parts = source.standard_normal((size, 2)).astype(np.dtype(dtype).type(0).real.dtype)
    return parts.view(dtype)[:, 0].copy()


OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = {
    "+": (lambda a, b: a + b, np.add),
    "-": (lambda a, b: -(a - b), lambda a, b: -(a - b)),
    "*": (lambda a, b: a * b, np.multiply),
    "/": (lambda a, b: a / b, np.divide),
    "numbers": (lambda a, b: 2.0 * a / 4 - (1 + 2j) * b, lambda a, b: 2 * a / 4 - (1 + 2j) * b),
    "abs": (lambda a, b: abs(a), lambda a, b: np.abs(a)),
    "parts": (lambda a, b: a.real - b.imag, lambda a, b: a.real - b.imag),
    "conj": (lambda a, b: a * b.conj(), lambda a, b: a * b.conj()),
    "exp": (lambda a, b: rl.math.exp(a), lambda a, b: np.exp(a)),
    "log": (lambda a, b: rl.math.log(a), lambda a, b: np.log(a)),
    "sqrt": (lambda a, b: rl.math.sqrt(a), lambda a, b: np.sqrt(a)),
    "sin": (lambda a, b: rl.math.sin(a) + rl.math.sinh(b), lambda a, b: np.sin(a) + np.sinh(b)),
    "cos": (lambda a, b: rl.math.cos(a) - rl.math.cosh(b), lambda a, b: np.cos(a) - np.cosh(b)),
    "tan": (lambda a, b: rl.math.tan(a) - rl.math.tanh(b), lambda a, b: np.tan(a) - np.tanh(b)),
    "pow": (lambda a, b: a**b, np.power),
    "==": (lambda a, b: (a == b) | (a != a), lambda a, b: (a == b) | (a != a)),
    "where": (
        lambda a, b: rl.where(a.real < b.real, a, b),
        lambda a, b: np.where(a.real < b.real, a, b),
    ),
    "complex": (lambda a, b: rl.complex(b.imag, a.real), lambda a, b: b.imag + 1j * a.real),
}


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize("dtype", TYPES)
def test_operations_agree_with_numpy(dtype: str) -> None:
    def program(x: Any, y: Any) -> Any:
        return tuple(rl.zip(x, y) | rl.map(ours) for ours, _ in OPERATIONS.values())

    type = rl.Array["N", TYPES[dtype]]
    program.__annotations__ = {"x": type, "y": type}
    x, y = sample(dtype), sample(dtype)[::-1].copy()
    results = rl.jit(program)(x, y)
    interpreted = rl.jit(program, backend="interpret")(x, y)
    tolerance = 1e-5 if dtype == "complex64" else 1e-13
    for (name, (_, reference)), found, same in zip(
        OPERATIONS.items(), results, interpreted, strict=True
    ):
        expected = reference(x, y)
        assert found.dtype == np.asarray(expected).astype(found.dtype).dtype, name
        np.testing.assert_allclose(found, expected, tolerance, tolerance, err_msg=name)
        np.testing.assert_array_equal(found, same, name)


def test_special_numbers_give_the_same_as_in_numpy() -> None:
    @rl.jit(float="strict")
    def program(x: rl.Array["N", rl.complex128], y: rl.Array["N", rl.complex128]):
        return (
            rl.zip(x, y) | rl.map(rl.add),
            rl.zip(x, y) | rl.map(rl.mult),
            rl.zip(x, y) | rl.map(rl.div),
            x | rl.map(rl.abs),
        )

    numbers = np.array([complex(a, b) for a in PARTS for b in PARTS])
    x, y = (each.reshape(-1).copy() for each in np.meshgrid(numbers, numbers))
    with np.errstate(all="ignore"):
        expected = x + y, x * y, x / y, np.abs(x)
        # NumPy may contract a product and a sum.
        sizes = np.abs(x), np.abs(x) * np.abs(y), np.abs(x) / np.abs(y), np.abs(x)
    for name, found, wanted, size in zip("+*/a", program(x, y), expected, sizes, strict=True):
        for take in (np.real, np.imag):
            part, reference = take(found), take(wanted)
            is_finite = np.isfinite(reference)
            np.testing.assert_array_equal(part[~is_finite], reference[~is_finite], name)
            difference = np.abs(part[is_finite] - reference[is_finite])
            assert not (difference > 1e-15 * size[is_finite]).any(), name


def transform(x: Any, length: int) -> Any:
    """The Fourier transform of an array whose length is a power of two."""
    if length == 1:
        return x
    halves = x | rl.split(2) | rl.transpose
    even, odd = (transform(halves[each], length // 2) for each in (0, 1))

    def twiddle(i: Any) -> Any:
        angle = rl.cast(rl.from_idx(i), rl.f64) * (-2 * math.pi / length)
        return rl.complex(rl.math.cos(angle), rl.math.sin(angle))

    turned = rl.zip(rl.generate(twiddle), odd) | rl.map(rl.mult)
    pairs = rl.zip(even, turned)
    return rl.concat(pairs | rl.map(rl.add), pairs | rl.map(rl.sub))


@pytest.mark.rotating(3)
def test_a_fourier_transform_is_written_with_complex_numbers() -> None:
    @rl.jit
    def program(x: rl.Array["N", 16, rl.complex128]):
        return x | rl.map(lambda row: transform(row, 16))

    x = sample("complex128", 48).reshape(3, 16)
    np.testing.assert_allclose(program(x), np.fft.fft(x), atol=1e-13)
    out = np.empty_like(x)
    assert program(x, out=out) is out
    np.testing.assert_array_equal(out, program(x))


def test_scalars_sums_and_real_arrays() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.f32], s: rl.complex64):
        z = x | rl.map(lambda a: rl.cast(a, rl.complex64) * s)
        return z, x, z | rl.reduce(rl.add, 0j)

    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        z, same, total = program(x, 1 + 2j)
        np.testing.assert_array_equal(z, x * np.complex64(1 + 2j))
        np.testing.assert_array_equal(same, x)
        assert total == 6 + 12j
        assert total.shape == ()
    assert repr(program) == "<kernel program(x : N.f32, s : complex64)>"


def test_arrays_are_passed_without_a_copy() -> None:
    @rl.jit
    def program(x: rl.Array["N", "M", rl.complex64]):
        return x | rl.transpose

    x = sample("complex64", 6).reshape(2, 3)
    np.testing.assert_array_equal(program(x), x.T)
    with pytest.raises(rl.UserError, match="argument x: expected dtype complex64"):
        program(np.real(x).copy())
    with pytest.warns(match="argument x is not C-contiguous"):
        np.testing.assert_array_equal(program(x.T), x)
    with pytest.raises(rl.UserError, match="out: expected a complex array"):
        program(x, out=np.empty((3, 2), np.float32))


@pytest.mark.rotating(3)
@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_types_come_from_the_arguments(backend: str) -> None:
    weights = np.array([1j, 2 - 1j, 3], np.complex64)

    @rl.jit(backend=backend)
    def program(x, options):
        scaled = (x * weights + [1j, 2.0, 3]) * options["scale"] - 1
        return {"scaled": scaled, "norm": rl.abs(x).sum(), "total": (x * x.conj()).sum()}

    x = sample("complex64", 6).reshape(2, 3)
    expected = (x * weights + np.array([1j, 2, 3], np.complex64)) * 2j - 1
    for _ in range(2):
        results = program(x, {"scale": 2j})
        np.testing.assert_allclose(results["scaled"], expected, 1e-5)
        assert results["scaled"].dtype == np.complex64
        np.testing.assert_allclose(results["norm"], np.abs(x).sum(), 1e-5)
        np.testing.assert_allclose(results["total"], (x * x.conj()).sum(), 1e-5)
    wide = program(x.astype(np.complex128), {"scale": 2j})
    np.testing.assert_allclose(wide["scaled"], expected, 1e-5)
    assert wide["scaled"].dtype == np.complex128


def test_debugging_shows_complex_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    @rl.jit
    def program(x):
        rl.debug.print("{}", rl.zip(x, x.real))
        return x | rl.map(lambda a: (rl.debug.print("a = {}", a), a * 2)[1])

    program(np.array([1 + 2j, 3j]))
    lines = set(capsys.readouterr().out.splitlines())
    assert lines == {"a = (1+2j)", "a = 3j", "(array([1.+2.j, 0.+3.j]), array([1., 0.]))"}


def test_one_result_in_a_structure() -> None:
    @rl.jit
    def program(x, scale=1j):
        return [rl.complex(x.imag, x.real) * scale]

    x = sample("complex128", 12).reshape(3, 4)
    expected = (np.imag(x) + 1j * np.real(x)) * 1j
    out = [np.empty_like(x)]
    for _ in range(2):
        np.testing.assert_allclose(program(x)[0], expected)
        program(x, out=out)
        np.testing.assert_allclose(out[0], expected)
    for _ in range(2):
        with pytest.warns(match="argument x is not C-contiguous"):
            np.testing.assert_allclose(program(x.T)[0], expected.T)


def test_programs_for_all_sizes_and_compiled_programs() -> None:
    @rl.jit(sizes="symbolic")
    def program(x: rl.Array["N", rl.complex64], s: rl.complex64):
        return x * s

    for size in (3, 5, 3):
        x = sample("complex64", size)
        np.testing.assert_allclose(program(x, 2 + 1j), x * np.complex64(2 + 1j), 1e-6)
    compiled = program.lower(rl.Array[3, rl.complex64], rl.complex64).compile()
    np.testing.assert_array_equal(compiled(x, 2 + 1j), program(x, 2 + 1j))
    with pytest.raises(rl.UserError, match="argument x: expected dtype complex64"):
        compiled(x.astype(np.complex128), 1)


ERRORS: dict[str, Callable[[Any], Any]] = {
    "an order is not defined on complex numbers": lambda a: a < a,
    "'erf' is not defined on complex numbers": lambda a: rl.math.erf(a),
    "expected complex64, but found f32; use a.astype": lambda a: rl.mult(a, a.real),
    "cannot be cast to f32; use rl.real": lambda a: rl.cast(a, rl.f32),
    "'real' works on complex numbers, but this is f32": lambda a: rl.real(a.imag),
    "'complex' takes two scalars of type f32 or f64": lambda a: rl.complex(a, a),
    "expected i32, but found the number 1j": lambda a: rl.add(rl.cast(a.real, rl.i32), 1j),
    "vectors of complex numbers do not exist": lambda a: rl.vector_from_scalar(4, a),
}


@pytest.mark.parametrize("message", ERRORS)
def test_errors_say_what_is_not_defined(message: str) -> None:
    def program(x: Any) -> Any:
        return x | rl.map(ERRORS[message])

    program.__annotations__ = {"x": rl.Array["N", rl.complex64]}
    with pytest.raises(rl.RiseError, match=message.replace("(", r"\(")):
        rl.jit(program)(np.ones(3, np.complex64))


Z = np.array([1 + 2j, -0.5 + 3j, 0, 2, -1j, 30 + 4j])
NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "parts": lambda np, z: (np.real(z), np.imag(z), np.conj(z), np.angle(z), np.abs(z)),
    "parts of floats": lambda np, z: (np.imag(np.real(z)), np.conj(z.real), np.angle(z.real)),
    "functions": lambda np, z: (np.tanh(z), np.square(z), np.exp(z), np.sqrt(z)),
    "tests": lambda np, z: (np.isnan(z), np.isinf(z), np.isfinite(z), np.equal(z, 2)),
    "promotion": lambda np, z: (np.multiply(z, np.real(z)), np.add(np.imag(z), 2j), np.power(z, 2)),
    "reductions": lambda np, z: (np.sum(z), np.mean(z), np.prod(z)),
    "arrays": lambda np, z: (np.matmul(z.reshape(2, 3), z.reshape(3, 2)), np.where(z == 0, 1, z)),
    "numbers": lambda np, z: (z.real * 1j, 2 - 1j + z.real, z.imag / 2j, z.real == 2 + 0j),
    "powers": lambda np, z: (np.power(z, 0), np.power(0 * z, z * z), np.power(z, 1 - z)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NUMPY)
def test_functions_under_the_names_of_numpy(name: str) -> None:
    program = NUMPY[name]
    results = rl.jit(lambda z: program(rl.numpy, z), float="strict")(Z)
    with np.errstate(all="ignore"):
        expected = program(np, Z)
    for result, reference in zip(results, expected, strict=True):
        assert result.dtype == reference.dtype
        np.testing.assert_allclose(result, reference, 1e-11, 1e-11)


def test_single_precision_stays() -> None:
    x = np.array([1, 2], np.float32)
    result = rl.jit(lambda x: x * 1j)(x)
    assert (result.dtype, result.tolist()) == (np.complex64, [1j, 2j])
    with pytest.raises(rl.UserError, match="'floor' is not defined on complex numbers"):
        rl.jit(lambda x: rl.numpy.floor(x * 1j))(x)


def test_functions_of_complex_tensors() -> None:
    type = "tensor<6xcomplex<f64>>"
    names = ("cosine", "sine", "tan", "tanh", "power")
    values = ", ".join(f"%{name}" for name in names)
    ops = [
        f"%{name} = stablehlo.{name} {'%z, %z' if name == 'power' else '%z'} : {type}"
        for name in names
    ]
    types = ", ".join([type] * len(names))
    lines = [f"func.func @main(%z: {type}) -> ({types}) {{", *ops, f"return {values} : {types}"]
    model = rl.from_stablehlo("\n".join([*lines, "}"]))
    expected = np.cos(Z), np.sin(Z), np.tan(Z), np.tanh(Z), Z**Z
    for result, reference in zip(model(Z), expected, strict=True):
        np.testing.assert_allclose(result, reference, 1e-11, 1e-11)


def test_a_function_may_have_the_name_of_one_in_the_math_library() -> None:
    def exp(x: rl.Array["N", rl.f64]):
        return rl.math.exp(x)

    assert rl.jit(exp)(np.zeros(2)).tolist() == [1, 1]

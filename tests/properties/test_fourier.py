"""Fourier transforms beside those of NumPy, and compiled beside interpreted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.numpy.fft import plans
from riselang.numpy.fft.codelets import prime_factors

pytestmark = pytest.mark.rotating(4)

RANDOM = np.random.default_rng(30)
TOLERANCES = {"f": 2e-6, "d": 4e-15}
LENGTHS = (*range(1, 41), 49, 60, 64, 81, 97, 100, 121, 127, 128, 143, 210, 256, 360, 1009, 2048)
NORMS = (None, "backward", "ortho", "forward")


def complex_array(shape: Any, kind: str) -> Any:
    parts = (RANDOM.standard_normal(shape) for _ in range(2))
    real, imaginary = (part.astype(kind) for part in parts)
    return real + np.asarray(1j, "F" if kind == "f" else "D") * imaginary


def call(name: str, *arguments: Any, **named: Any) -> Any:
    return getattr(rl.fft, name)(*arguments, **named)


def check(name: str, x: Any, *arguments: Any, **named: Any) -> None:
    def function(x: Any) -> Any:
        return getattr(rl.fft, name)(x, *arguments, **named)

    expected = getattr(np.fft, name)(x, *arguments, **named)
    found = rl.jit(function, float="strict")(x)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    tolerance = TOLERANCES["f" if found.dtype in (np.float32, np.complex64) else "d"]
    assert np.abs(found - expected).max() <= tolerance * max(1, np.abs(expected).max())


@pytest.mark.rotating(5)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize("n", LENGTHS)
def test_transforms_equal_those_of_numpy(n: int, kind: str) -> None:
    z = complex_array(n, kind)
    check("fft", z)
    check("ifft", z, norm=NORMS[n % 4])
    check("rfft", z.real.copy(), norm=NORMS[(n + 1) % 4])
    check("irfft", complex_array(n // 2 + 1, kind), n)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", "fd")
@pytest.mark.parametrize(
    ("name", "shape", "named"),
    [
        ("fft", (3, 5), {"axis": 0}),
        ("fft", (4, 6, 5), {"axis": 1, "n": 7}),
        ("ifft", (2, 3, 17), {"n": 8}),
        ("fft", (2, 136), {}),
        ("fft", (2, 37, 2), {"axis": 1, "norm": "ortho"}),
        ("irfft", (6, 5), {"axis": 0}),
        ("irfft", (6, 5), {"n": 11}),
        ("hfft", (2, 6), {}),
        ("fftn", (3, 4, 5), {}),
        ("ifftn", (3, 4, 5), {"axes": (0, 2), "norm": "forward"}),
        ("fftn", (3, 4, 5), {"s": (4, 3), "axes": (1, 2)}),
        ("fft2", (2, 8, 8), {}),
        ("ifft2", (8, 9), {"axes": (1, 0)}),
        ("irfftn", (3, 4, 5), {}),
        ("irfft2", (3, 4, 5), {"s": (3, 9), "norm": "ortho"}),
    ],
)
def test_axes_lengths_and_norms(name: str, shape: Any, named: Any, kind: str) -> None:
    check(name, complex_array(shape, kind), **named)


@pytest.mark.parametrize(
    ("name", "shape", "named"),
    [
        ("rfft", (6, 4), {"axis": 0}),
        ("rfft2", (4, 6), {"s": (3, 8)}),
        ("rfftn", (2, 3, 4), {"norm": "ortho"}),
        ("ihfft", (2, 7), {}),
        ("fft", (6,), {}),
        ("fftshift", (4, 5), {}),
        ("ifftshift", (4, 5), {"axes": 1}),
    ],
)
def test_transforms_of_real_numbers(name: str, shape: Any, named: Any) -> None:
    check(name, RANDOM.standard_normal(shape), **named)


def test_other_types_are_converted() -> None:
    check("fft", np.arange(10))
    check("rfft", np.arange(10, dtype=np.int8))
    half = RANDOM.standard_normal(8).astype(np.float16)
    assert rl.jit(lambda x: rl.fft.fft(x))(half).dtype == np.complex64


@pytest.mark.rotating(8)
@pytest.mark.sampled(1)
@pytest.mark.parametrize("n", [5, 9, 16, 23, 24, 68, 256])
@pytest.mark.parametrize("name", ["fft", "rfft", "irfft"])
def test_compiled_code_equals_the_interpreter(name: str, n: int) -> None:
    x = complex_array((2, n), "f")
    x = x.real.copy() if name == "rfft" else x

    def function(x: Any) -> Any:
        return getattr(rl.fft, name)(x)

    for permission in ("strict", "contract"):
        found = rl.jit(function, float=permission)(x)
        interpreted = rl.jit(function, float=permission, backend="interpret")(x)
        assert found.tobytes() == interpreted.tobytes()


def differences(function: Any, x: Any, step: float = 1e-5) -> Any:
    result = np.zeros_like(x)
    for position in np.ndindex(x.shape):
        delta = np.zeros_like(x)
        delta[position] = step
        result[position] = (function(x + delta) - function(x - delta)) / (2 * step)
    return result


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [("fft", ()), ("ifft", (7,)), ("rfft", ()), ("rfft", (5,)), ("irfft", (8,)), ("irfft", (9,))],
)
def test_derivatives_equal_finite_differences(name: str, arguments: Any) -> None:
    x = RANDOM.standard_normal((2, 6))
    is_real = name == "rfft"

    def loss(x: Any) -> Any:
        y = getattr(rl.fft, name)(x if is_real else rl.complex(x, x * x), *arguments)
        weights = rl.numpy.asarray(np.linspace(-1, 1, y.size).reshape(y.shape))
        if name == "irfft":
            return (y * y * weights).sum()
        return (y.real * y.real * weights + y.imag * weights).sum()

    expected = differences(rl.jit(loss), x)
    np.testing.assert_allclose(rl.jit(rl.grad(loss))(x), expected, rtol=1e-6, atol=1e-6)
    _, tangent = rl.jit(lambda x, t: rl.jvp(loss, (x,), (t,)))(x, np.ones_like(x))
    np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-6, atol=1e-6)
    second = rl.jit(rl.grad(lambda x: rl.grad(loss)(x).sum()))(x)
    sums = rl.jit(lambda x: rl.grad(loss)(x).sum())
    np.testing.assert_allclose(second, differences(sums, x), rtol=1e-5, atol=1e-5)


def test_radices_multiply_to_the_length() -> None:
    for n in (*range(1, 400), 4096, 65536, 10**6, 2**20):
        if plans.is_smooth(n):
            assert np.prod(plans.radices(n)) == n
        if len(prime_factors(n)) > 1:
            assert np.prod(plans.split_length(n)) == n
        assert plans.is_smooth(plans.convolution_length(n))
        assert plans.convolution_length(n) >= 2 * n - 1


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: rl.fft.fft(x, 0), "the number of elements must be positive, but is 0"),
        (lambda x: rl.fft.fft(x, axis=2), "axis 2 does not exist"),
        (lambda x: rl.fft.fft(x, norm="half"), "norm must be 'backward', 'ortho' or 'forward'"),
        (lambda x: rl.fft.rfft(rl.complex(x, x)), "rfft transforms real numbers"),
        (lambda x: rl.fft.fftn(x, (2, 3)), "s has 2 lengths"),
        (lambda x: call("fft", x, length=3), "unexpected keyword argument 'length'"),
        (lambda x: call("dct", x), "has no attribute 'dct'"),
    ],
)
def test_wrong_arguments_are_reported(function: Any, message: str) -> None:
    with pytest.raises((rl.UserError, AttributeError), match=message):
        rl.jit(function)(np.ones(4))


def test_lengths_must_be_known() -> None:
    with pytest.raises(rl.UserError, match="the length of axis 0 must be known"):
        rl.jit(lambda x: rl.fft.fft(x), sizes="symbolic")(np.ones(4))

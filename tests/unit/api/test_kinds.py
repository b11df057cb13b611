"""Arrays of other libraries come in without a copy, and results go out as theirs."""

from __future__ import annotations

import logging
import sys
import types
from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.support.errors import UserError

pytestmark = pytest.mark.rotating(2)

Array = np.ndarray[Any, Any]


class Tensor:
    """An array of a library of its own."""

    def __init__(self, values: Array):
        self.values = values

    def __dlpack__(self, **options: Any) -> Any:
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.values.__dlpack_device__()


class Interface:
    """What has numpy's interface and nothing else."""

    def __init__(self, values: Array):
        self.__array_interface__ = values.__array_interface__
        self.values = values


@pytest.fixture
def tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    library = types.ModuleType("tensors")
    library.from_dlpack = lambda array: Tensor(np.from_dlpack(array))  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "tensors", library)
    monkeypatch.setattr(Tensor, "__module__", "tensors.core")


@rl.jit
def doubled(x: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda a: a * 2.0)


@rl.jit
def both(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return x | rl.map(lambda a: a + 1.0), y | rl.map(lambda a: a * 2.0)


X = np.arange(5, dtype=np.float32)


@pytest.mark.usefixtures("tensors")
def test_the_kind_of_the_caller_comes_back() -> None:
    result = doubled(Tensor(X))
    assert isinstance(result, Tensor)
    assert np.array_equal(result.values, X * 2)
    first, second = both(X, Tensor(X))
    assert isinstance(first, Tensor)
    assert np.array_equal(second.values, X * 2)
    compiled = doubled.lower(X).compile()
    assert isinstance(compiled(Tensor(X)), Tensor)
    assert isinstance(compiled(X), np.ndarray)
    assert isinstance(doubled(X), np.ndarray)


def test_a_library_without_a_way_back_gives_numpy() -> None:
    assert isinstance(doubled(Tensor(X)), np.ndarray)


def test_the_array_interface() -> None:
    result = doubled(Interface(X))
    assert isinstance(result, np.ndarray)
    assert np.array_equal(result, X * 2)


def test_arrays_of_jax() -> None:
    """On whichever device JAX has them."""
    jax = pytest.importorskip("jax")
    result = doubled(jax.numpy.asarray(X))
    assert isinstance(result, jax.Array)
    assert np.array_equal(result, X * 2)


class Elsewhere:
    """An array on another device, as JAX has them on a GPU: NumPy copies it, but shares nothing."""

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("the array is on a GPU")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return X.astype(dtype or X.dtype)


class OnlyThere(Elsewhere):
    """An array that its library does not copy unasked, as torch does not."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise TypeError("use Tensor.cpu() first")


def test_an_array_on_another_device_is_copied() -> None:
    assert np.array_equal(doubled(Elsewhere()), X * 2)


def test_an_array_that_is_not_copied_is_rejected() -> None:
    with pytest.raises(UserError, match="argument x: this array cannot be read here"):
        doubled(OnlyThere())


def test_what_is_compiled_is_told(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    monkeypatch.setenv("RISE_LOG_COMPILES", "1")
    monkeypatch.setenv("RISE_CACHE", "1")
    monkeypatch.setenv("RISE_CACHE_DIR", str(tmp_path))
    with caplog.at_level(logging.INFO, "riselang"):
        doubled.trace(N=7).lower().compile()
        doubled.trace(N=7).lower().compile()
    compiled, found = (record.getMessage() for record in caplog.records)
    assert compiled.startswith("compiled doubled in ")
    assert found == "found doubled in the cache"

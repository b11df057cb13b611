"""Functions whose parameters have no types: dtypes, shapes and structures come from the call."""

from __future__ import annotations

import dataclasses
import pickle
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import riselang as rl

X = np.arange(3, dtype=np.float32)
WEIGHTS = np.array([1, 2, 4], np.float32)


@rl.jit
def axpy(x, y):
    return rl.zip(x, y) | rl.map(lambda a, b: a * 2 + b)


@rl.jit
def scale(x: rl.Array["N", rl.T], factor: rl.T = 2):
    return x | rl.map(lambda a: a * factor)


@rl.jit
def weighted(x):
    return rl.zip(x, WEIGHTS) | rl.map(rl.mult)


@pytest.mark.parametrize("dtype", [np.float64, np.int16])
def test_types_come_from_the_call(dtype: Any) -> None:
    for length in (3, 5, 3):
        x = np.arange(length, dtype=dtype)
        result = axpy(x, x)
        assert result.dtype == dtype
        assert np.array_equal(result, x * 3)
    assert "x : 3.f64" in axpy.lower(rl.Array[3, rl.f64], np.ones(3)).as_text("notation")
    with pytest.raises(rl.UserError, match="the type of x is not known: pass arrays or types"):
        axpy.lower()


def test_a_call_with_known_shapes_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    axpy(X, X)
    monkeypatch.setattr(type(axpy), "_call_new_shapes", None)
    assert axpy(X, X).tolist() == [0, 3, 6]


def test_a_dtype_variable_binds_one_dtype() -> None:
    assert scale(np.arange(3), 5).dtype == np.int64
    assert scale(X).tolist() == [0, 2, 4]
    S = rl.dtype_variable("S")

    def same(x: Any, y: Any) -> Any:
        return rl.zip(x, y)

    same.__annotations__ = {"x": rl.Array["N", S], "y": rl.Array["N", S]}
    with pytest.raises(rl.UserError, match=r"argument y: expected dtype f32 \(S = f32 from x\)"):
        rl.jit(same)(X, np.arange(3))


def test_python_numbers_adapt_and_otherwise_have_the_types_of_numpy() -> None:
    assert scale([1, 2]).dtype == np.int64
    assert scale([1, 2], 1.5).tolist() == [1.5, 3]
    assert scale(X, 3).dtype == np.float32
    with pytest.raises(rl.UserError, match="argument factor: expected a scalar of type i32"):
        scale(np.arange(3, dtype=np.int32), 2.5)
    with pytest.raises(
        rl.UserError, match=r"expected 3\.f32, since y is used as that, but found a"
    ):
        axpy(X, 1.0)
    results = rl.jit(lambda a, b, c, d: (a * 2, b * 0.5, c + 1, d + 1j))(1, 1, 1.5, 1.5)
    assert [each.dtype.name for each in results] == ["int64", "float64", "float64", "complex128"]
    results = rl.jit(lambda x: (x.sum(), rl.numpy.mean(x), x * 2))([1, 2])
    assert [each.dtype.name for each in results] == ["int64", "float64", "int64"]
    assert rl.jit(lambda x: x * [0.5, 1.0])([1, 2]).dtype == np.float64


def test_literals_without_a_type_are_narrow() -> None:
    results = rl.jit(lambda x: (rl.map(lambda a: 1.5, x), rl.map(lambda a: 1, x)))(X)
    assert [each.dtype.name for each in results] == ["float32", "int32"]


def test_derivatives_by_python_numbers_are_f64() -> None:
    assert rl.grad(lambda x: 2.5 * x * x)(3.0).dtype == np.float64
    assert rl.grad(lambda x: (x * x).sum())([3.0, 4.0]).dtype == np.float64
    assert rl.jacobian(lambda x: x * x)([3, 4]).dtype == np.float64
    assert rl.grad(lambda a, x: (a * x).sum())(3.0, X).dtype == np.float32
    inner = rl.jit(lambda x: rl.grad(lambda a: (a * x).sum())(3.0))
    assert [inner(X).dtype, inner(np.arange(3.0)).dtype] == [np.float32, np.float64]


def test_captured_arrays_are_constants() -> None:
    assert weighted(X).tolist() == [0, 2, 8]
    WEIGHTS[0] = 100
    assert weighted(X).tolist() == [0, 2, 8]
    assert np.array_equal(weighted(np.ones(3, np.float32)), [1, 2, 4])  # also for other calls
    rows = rl.jit(
        lambda y: [[1, 2, 3], [4, 5, 6]] | rl.map(lambda row: rl.zip(row, y) | rl.map(rl.mult))
    )
    assert rows(X).dtype == np.float32
    assert rl.jit(weighted, backend="interpret")(X).tolist() == [0, 2, 8]


def test_captured_arrays_are_saved_with_a_program(tmp_path: Path) -> None:
    matrix, factors = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([1j, 2], np.complex64)

    @rl.jit
    def program(x, z):
        rl.check(x[0] >= 0, "the first element is negative")
        return matrix @ x, z * factors, x * [1, 2, 3]

    z = np.array([1, 1j], np.complex64)
    program.lower(X, z).compile().save(tmp_path / "program.kernel")
    matrix[:] = 0
    loaded: Any = rl.load(tmp_path / "program.kernel")
    for result, expected in zip(loaded(X, z), ([5, 14], [1j, 2j], [0, 2, 6]), strict=True):
        assert result.tolist() == expected
    with pytest.raises(rl.CheckError, match="the first element is negative"):
        loaded(X - 1, z)
    data = (tmp_path / "program.kernel").read_bytes()
    (tmp_path / "damaged.kernel").write_bytes(data[:-9])
    with pytest.raises(rl.UserError, match="is damaged"):
        rl.load(tmp_path / "damaged.kernel")


def test_values_that_leave_their_function() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x

    rl.jit(keep)(X)
    with pytest.raises(rl.UserError, match="'x' is used outside the function whose parameter it"):
        rl.jit(lambda y: rl.zip(kept[0], y))(X)
    with pytest.raises(rl.UserError, match="symbolic values work only while a function under rl"):
        rl.reverse(kept[0])
    inner: list[Any] = []
    escaping = rl.jit(
        lambda y: (y | rl.map(lambda a: inner.append(a) or a)) | rl.map(lambda b: b + inner[0])
    )
    with pytest.raises(rl.UserError, match="'a' is used outside the function whose parameter"):
        escaping(X)


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Layer:
    weights: rl.Array["N", "M", rl.f32]
    bias: rl.Array["N", rl.f32]
    name: str = dataclasses.field(default="layer", metadata={"static": True})

    @rl.jit
    def apply(self, x: rl.Array["M", rl.f32]):
        def row_times_x(row: Any, bias: Any) -> Any:
            return rl.zip(row, x) | rl.map(rl.mult) | rl.reduce(rl.add, bias)

        return rl.zip(self.weights, self.bias) | rl.map(row_times_x)


def new_layer(*fields: Any) -> Layer:
    return Layer(*fields)


@rl.jit
def moved(layer: Layer, points: dict[str, Any], nothing: Any = None):
    shifted = {name: Point(p.y, p.x) for name, p in points.items()}
    bias = layer.bias | rl.map(lambda b: b + 1.0)
    return new_layer(layer.weights, bias, layer.name), shifted, [nothing]


def test_structures_of_arguments_and_results() -> None:
    layer = new_layer(np.ones((2, 3), np.float32), np.zeros(2, np.float32), "first")
    for _ in range(2):
        result, points, rest = moved(layer, {"b": Point(X, 1.5), "a": Point(2, X)})
        assert result.name == "first"
        assert result.bias.tolist() == [1, 1]
        assert points["b"].x == 1.5
        assert np.array_equal(points["a"].x, X)
        assert rest == [None]
    with pytest.raises(rl.UserError, match="argument layer_bias: expected 1 dimension"):
        moved(new_layer(layer.weights, layer.weights), {})
    with pytest.raises(rl.UserError, match="argument layer: expected a structure with the parts"):
        moved(X, {})
    out = {"a": np.empty(3, np.float32)}
    doubled = rl.jit(lambda x: {"a": x | rl.map(lambda a: a * 2)})
    assert doubled(X, out=out)["a"] is out["a"]
    assert out["a"].tolist() == [0, 2, 4]


def test_methods() -> None:
    layer = new_layer(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    assert layer.apply(X).tolist() == [4, 4]
    assert layer.apply.lower(X).as_text("notation").startswith("fun((self_weights : 2.3.f32")

    class Scaler:
        def __init__(self, factor: float):
            self.factor = factor

        @rl.jit
        def apply(self, x):
            return x | rl.map(lambda a: a * self.factor)

    assert [Scaler(k).apply(X).tolist() for k in (2, 3)] == [[0, 2, 4], [0, 3, 6]]


def test_static_arguments_defaults_and_keywords() -> None:
    @rl.jit(static=("steps", "how"))
    def repeat(x, steps, /, how="double", *, offset=0.0):
        for _ in range(steps):
            x = x | rl.map(lambda a: (a * 2 if how == "double" else a) + offset)
        return x

    assert repeat(X, 2).tolist() == [0, 4, 8]
    assert repeat(X, 1, "add", offset=1).tolist() == [1, 2, 3]
    assert rl.jit(repeat, backend="interpret")(X, 3).tolist() == [0, 8, 16]
    with pytest.raises(rl.UserError, match="a static argument must be hashable"):
        repeat(X, 1, [])
    with pytest.raises(rl.UserError, match="found 'abc'; add x to static="):
        repeat("abc", 1)
    with pytest.raises(rl.UserError, match="repeat is called without steps"):
        repeat(X)
    with pytest.raises(rl.UserError, match="static: axpy has no parameter 'z'"):
        rl.jit(axpy, static="z")


def test_annotations_constrain_inlined_calls() -> None:
    @rl.jit
    def double(x: rl.Array["N", rl.f64]):
        return x | rl.map(lambda a: a * 2)

    assert rl.jit(lambda x: double(x))(np.ones(2)).tolist() == [2, 2]
    with pytest.raises(rl.UserError, match=r"argument x of double: expected 3\.f64, but found"):
        rl.jit(lambda x: double(x))(X)


def test_pickling() -> None:
    assert pickle.loads(pickle.dumps(axpy)) is axpy
    assert np.array_equal(pickle.loads(pickle.dumps(scale(X))), X * 2)


def test_sizes_by_name() -> None:
    @rl.jit
    def first_half(x: rl.Array["N", rl.f32]):
        return x | rl.take("N floordiv 2")

    assert first_half(np.arange(4, dtype=np.float32)).tolist() == [0, 1]
    with pytest.raises(rl.UserError, match="no parameter of <lambda> has the size K; use a number"):
        rl.jit(lambda x: x | rl.take("K"))(X)


def test_a_printed_function_is_its_program() -> None:
    @rl.jit
    def double(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a * 2)

    assert str(double) == "fun((x : N.f32),\n  x |> map(fun(a, a * 2.0)))"
    untyped = rl.jit(lambda x: x | rl.map(lambda a: a * 2))
    assert str(untyped).startswith("<jitted function")
    assert "time to compile" not in untyped._repr_html_()
    untyped(X)
    assert str(untyped).startswith("fun((x : 3.f32)")
    assert "time to compile" in untyped._repr_html_()


def test_values_that_partial_passes_are_known() -> None:
    def shift(x: Any, count: int, *, steps: int) -> Any:
        for _ in range(steps):
            x = x + count
        return x

    assert rl.jit(partial(shift, count=2, steps=3))(X).tolist() == [6, 7, 8]


def test_a_static_argument_must_be_hashable() -> None:
    program = rl.jit(lambda x, options: x, static="options")
    with pytest.raises(rl.UserError, match="the call contains an unhashable type: 'list'; pass a"):
        program(X, [1])

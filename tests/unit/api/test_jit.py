"""`rl.jit`: sizes from shapes, dtypes, back ends, stages, and bad calls."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import riselang as rl


@rl.jit
def matmul(A: rl.Array["N", "K", rl.f32], B: rl.Array["K", "M", rl.f32]):
    return A | rl.map(
        lambda row: (
            B
            | rl.transpose
            | rl.map(lambda col: rl.zip(row, col) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


@rl.jit
def scale(factor: rl.f32, x: rl.Array["N", rl.f32]):
    return x | rl.map(lambda a: a * factor)


def random(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).random(shape, np.float32)


@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 7, 1), (3, 0, 2), (0, 4, 5), (1, 1, 1)])
def test_matmul_for_the_shapes_of_the_call(shape: tuple[int, int, int]) -> None:
    n, k, m = shape
    a, b = random(n, k), random(k, m, seed=1)
    result = matmul(a, b)
    assert result.dtype == np.float32
    assert result.shape == (n, m)
    assert np.allclose(result, a @ b, rtol=1e-5)
    assert np.array_equal(result, rl.jit(matmul, backend="interpret")(a, b))


DTYPES = {
    rl.f16: np.float16, rl.bf16: ml_dtypes.bfloat16, rl.f32: np.float32, rl.f64: np.float64,
    rl.i8: np.int8, rl.i16: np.int16, rl.i32: np.int32, rl.i64: np.int64,
}  # fmt: skip


@pytest.mark.parametrize("type", DTYPES, ids=str)
def test_every_scalar_type(type: Any) -> None:
    def double(x: rl.Array["N", type]):
        return x | rl.map(lambda a: a + a)

    double.__annotations__ = {"x": rl.Array["N", type]}
    x: Any = np.arange(5).astype(DTYPES[type])
    assert np.array_equal(rl.jit(double)(x), x + x)


def test_scalars_come_in_by_value() -> None:
    assert scale(3.0, np.array([1, 2], np.float32)).tolist() == [3, 6]


def test_stages_are_text() -> None:
    program = matmul.lower(N=2, K=3, M=4)
    assert "|> map(mult) |> reduce(add, 0.0)" in matmul.trace(N=2, K=3, M=4).as_text()
    assert "fma(" in program.as_text("notation")
    assert "rise.lowering_unit" in program.as_text("rise")
    assert "rise.codegen.idx" in program.as_text("imperative")
    assert "affine.load" in program.as_text("affine")
    assert "rise." not in program.as_text("affine")
    assert "define void @matmul" in program.as_text("llvm")
    assert "matmul" in program.as_text("asm")
    with pytest.raises(rl.UserError, match="expected one of the stages"):
        program.as_text("nonsense")


BAD_CALLS: list[tuple[tuple[Any, ...], str]] = [
    ((random(2, 3),), "matmul takes 2 arguments (A, B), but got 1"),
    ((random(2, 3), random(4, 5)), "dimension 0 of B is 4, but expected K (K = 3 from dimension 1"),
    (
        (random(2, 3), random(3)),
        "argument B: expected 2 dimensions (K.M.f32), but found",
    ),
    ((random(2, 3).astype(np.float64), random(3, 4)), "argument A: expected dtype float32 (f32)"),
    (([["a"]], random(1, 1)), "argument A: expected N.K.f32, but found a list whose items are not"),
    (([[1.0], []], random(1, 1)), "argument A: the lists have different lengths"),
    ((None, random(1, 1)), "argument A: expected an array, but found NoneType"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD_CALLS)
def test_bad_calls_name_the_argument(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(rl.UserError) as caught:
        matmul(*arguments)
    assert message in str(caught.value)


def test_a_parameter_with_another_annotation() -> None:
    def misspelled(x: str):
        return x

    with pytest.raises(rl.UserError, match="parameter x of misspelled needs a type such as"):
        rl.jit(misspelled)


def test_settings_are_checked() -> None:
    with pytest.raises(rl.UserError, match="backend must be one of"):
        rl.jit(matmul, backend="gpu")
    with pytest.raises(rl.UserError, match="float must be one of"):
        rl.jit(matmul, float="fast")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"static_argnums": 1}, "jit has no parameter static_argnums; use static=, which names"),
        ({"static_argnames": "n"}, "jit has no parameter static_argnames; use static=,"),
        ({"static": 1}, "static: expected names of parameters, as in 'n', but found 1"),
        ({"static": ("n", 0)}, "static: expected names of parameters, as in 'n', but found 0"),
    ],
)
def test_static_parameters_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(rl.UserError, match=message):
        rl.jit(lambda x, n: x * n, **options)


def test_a_missing_method_is_explained() -> None:
    kernel: Any = rl.jit(lambda x: x)
    with pytest.raises(AttributeError, match=r"has no attribute 'save'; f\.lower\(x\)\.compile"):
        kernel.save("f.kernel")
    assert not hasattr(kernel, "missing")


def test_an_array_type_that_starts_with_its_dtype_is_explained() -> None:
    with pytest.raises(rl.UserError, match="found 'N'; the lengths come first"):
        rl.Array[rl.f32, "N"]


def test_an_array_that_speaks_dlpack_comes_in() -> None:
    class Foreign:
        def __init__(self, array: np.ndarray[Any, Any]):
            self.array = array

        def __dlpack__(self, **options: Any) -> Any:
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self) -> Any:
            return self.array.__dlpack_device__()

    x = np.array([1, 2], np.float32)
    assert scale(2.0, Foreign(x)).tolist() == [2, 4]


@rl.jit(sizes="symbolic")
def added(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
    return rl.zip(x | rl.split(4) | rl.join, y) | rl.map(rl.add)


def test_a_symbolic_kernel_works_at_every_size_that_its_patterns_permit() -> None:
    for length in (0, 4, 12):
        x, y = random(length), random(length, seed=1)
        assert np.array_equal(added(x, y), x + y)
    assert repr(added.trace()).startswith("fun((x : (N_by_4 * 4).f32, y : (N_by_4 * 4).f32)")
    assert "x : 8.f32" in added.lower(N=8).as_text("notation")


def test_a_symbolic_kernel_rejects_other_sizes() -> None:
    with pytest.raises(rl.UserError, match=r"dimension 0 of x is 6, but expected N_by_4 \* 4"):
        added(random(6), random(6))

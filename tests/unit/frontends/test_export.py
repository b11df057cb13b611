"""Programs as StableHLO modules: read back by riselang, and run by XLA."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import riselang as rl
from support.model_examples import as_list


def round_trip(program: Any, *arguments: Any) -> str:
    """Compare the exported program, and return its text."""
    text = rl.to_stablehlo(program, *arguments)
    wanted = as_list(program(*arguments))
    found = as_list(rl.from_stablehlo(text, backend="interpret")(*arguments))
    for result, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(result, other, 1e-5, 1e-6)
        assert np.asarray(result).dtype == np.asarray(other).dtype
    return text


def numbers(*shape: int) -> Any:
    return np.random.default_rng(3).integers(-8, 9, shape).astype(np.float32)


@rl.jit
def matmul(a: rl.Array["N", "K", rl.f32], b: rl.Array["K", "M", rl.f32]) -> Any:
    columns = b | rl.transpose
    return a | rl.map(
        lambda row: (
            columns | rl.map(lambda c: rl.zip(row, c) | rl.map(rl.mult) | rl.reduce(rl.add, 0.0))
        )
    )


def test_a_matrix_multiplication_is_one_op() -> None:
    text = round_trip(matmul, numbers(4, 5), numbers(5, 6))
    assert text.count("stablehlo.dot_general") == 1
    assert "broadcast" not in text


def test_sizes_are_given_by_name_or_by_types() -> None:
    by_name = rl.to_stablehlo(matmul, N=4, K=5, M=6)
    by_type = rl.to_stablehlo(matmul, rl.Array[4, 5, rl.f32], rl.Array[5, 6, rl.f32])
    assert by_name == by_type == rl.to_stablehlo(matmul, numbers(4, 5), numbers(5, 6))
    with pytest.raises(rl.UserError, match=r"the size . has no value; pass arrays"):
        rl.to_stablehlo(matmul)


def test_stencils_and_prefixes() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.f32]) -> Any:
        windows = x | rl.pad(1, 1) | rl.slide(3, 1)
        return windows | rl.map(lambda w: w | rl.reduce(rl.max, 0.0)), x | rl.scan(rl.add, 0.0)

    round_trip(program, numbers(9))


def test_states_of_loops_differ_between_the_elements_of_a_map() -> None:
    @rl.jit
    def collatz(x: rl.Array["N", rl.i64]) -> Any:
        def steps(start: Any) -> Any:
            def step(state: Any) -> Any:
                n, count = state
                return rl.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

            return rl.while_(lambda state: state[0] > 1, step, (start, 0))[1]

        return x | rl.map(steps)

    round_trip(collatz, np.array([1, 7, 27, 6], np.int64))


def test_sorting_and_scattering() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.f32], i: rl.Array["M", rl.i64]) -> Any:
        counts = rl.scatter_with(
            lambda old, new: old + new, i | rl.map(rl.clamp_idx(4)), rl.zeros(4, rl.f32),
            i | rl.map(lambda _: rl.literal(1.0, rl.f32)),
        )  # fmt: skip
        return x | rl.sort(lambda a, b: a < b), counts

    round_trip(program, numbers(9), np.array([0, 3, 3, 1], np.int64))


def test_gradients_are_programs_like_others() -> None:
    def loss(w: Any, x: Any) -> Any:
        return ((x @ w) ** 2).sum()

    x = numbers(4, 3)
    gradient = rl.jit(rl.grad(loss))
    text = round_trip(gradient, numbers(3), x)
    assert text.count("dot_general") == 2


def test_integers_are_divided_as_in_programs() -> None:
    @rl.jit
    def program(x: rl.Array["N", rl.i32], y: rl.Array["N", rl.i32]) -> Any:
        return rl.zip(x, y) | rl.map(lambda a, b: a // b), rl.zip(x, y) | rl.map(lambda a, b: a % b)

    x = np.array([7, -7, 7, -7, 5, -(2**31)], np.int32)
    round_trip(program, x, np.array([2, 2, -2, -2, 0, 3], np.int32))


def test_imported_models_are_exported_again() -> None:
    text = rl.to_stablehlo(matmul, N=2, K=3, M=2)
    model = rl.from_stablehlo(text)
    assert "dot_general" in rl.to_stablehlo(model)


def test_what_cannot_be_exported_is_named() -> None:
    with pytest.raises(rl.UserError, match="expected a function, found int"):
        rl.to_stablehlo(3)


@pytest.mark.rotating(3)
def test_xla_runs_exported_programs() -> None:
    pytest.importorskip("jax")
    from support.xla import run_stablehlo

    a, b = numbers(4, 5), numbers(5, 6)
    (found,) = run_stablehlo(rl.to_stablehlo(matmul, a, b), [a, b])
    np.testing.assert_allclose(found, a @ b)


@pytest.mark.parametrize("name", ["matmul", "collatz", "sorted"])
def test_onnxruntime_runs_exported_programs(name: str) -> None:
    pytest.importorskip("onnx")

    @rl.jit
    def collatz(x: rl.Array["N", rl.i64]) -> Any:
        def step(state: Any) -> Any:
            n, count = state
            return rl.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return x | rl.map(lambda n: rl.while_(lambda state: state[0] > 1, step, (n, 0))[1])

    @rl.jit
    def sort(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.sort(lambda a, b: a < b)

    program, *arguments = {
        "matmul": (matmul, numbers(4, 5), numbers(5, 6)),
        "collatz": (collatz, np.array([1, 7, 27, 6], np.int64)),
        "sorted": (sort, numbers(9)),
    }[name]
    model = rl.to_onnx(program, *arguments)
    wanted = program(*arguments)
    np.testing.assert_allclose(rl.from_onnx(model, backend="interpret")(*arguments), wanted)
    runtime: Any = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(model.SerializeToString())
    named = {each.name: x for each, x in zip(model.graph.input, arguments, strict=True)}
    np.testing.assert_allclose(session.run(None, named)[0], wanted)


def test_what_onnx_lacks_is_named() -> None:
    pytest.importorskip("onnx")
    program = rl.jit(lambda x: x | rl.map(rl.popcount))
    with pytest.raises(rl.LimitationError, match=r"stablehlo.popcnt cannot be exported to ONNX"):
        rl.to_onnx(program, np.ones(3, np.int32))


def test_floats_of_one_byte_are_exported_to_stablehlo_only() -> None:
    @rl.jit
    def first(x: rl.Array[3, rl.f8e4m3fn]) -> Any:
        return x | rl.take(1)

    x = np.arange(3).astype(ml_dtypes.float8_e4m3fn)
    assert "f8E4M3FN" in rl.to_stablehlo(first, x)
    with pytest.raises(rl.LimitationError, match="elements are not supported in ONNX models"):
        rl.to_onnx(first, x)


def test_floats_of_one_byte_in_a_program_are_not_exported_to_onnx() -> None:
    """ONNX does not define Gather for them. Random program 41001112."""
    text = "fun((i : i32), cast[f32]([1.0_f8e4m3fn, 2.0_f8e4m3fn] |> at(i |> clampIdx(2))))"
    program: Any = rl.loads(text, name="program.rise").main
    with pytest.raises(rl.LimitationError, match="f8E4M3FN elements are not supported in ONNX"):
        rl.to_onnx(program, np.int32(1))


@pytest.mark.parametrize("index", [0, 2, 3, 2**63, 2**64 - 1])
def test_large_unsigned_indices_are_exported(index: int) -> None:
    """They are not negative as signed integers. Random programs 41002366 and 41003842."""
    text = "fun((xs : 4.f32, i : u64), xs |> at(i |> clampIdx(4)))"
    wanted, found = exported_and_read(text, np.arange(4, dtype=np.float32), np.uint64(index))
    assert wanted == found == min(index, 3)


def exported_and_read(text: str, *arguments: Any) -> tuple[np.ndarray[Any, Any], ...]:
    """The results of a program, and those of its StableHLO module."""
    program: Any = rl.loads(text, name="program.rise", backend="interpret").main
    module = rl.from_stablehlo(rl.to_stablehlo(program, *arguments), backend="interpret")
    return np.asarray(program(*arguments)), np.asarray(module(*arguments))


def test_large_integers_are_exported_with_all_bits() -> None:
    """NumPy makes floats of a list of small and of large integers. Random program 30000856."""
    text = """fun((x : 3.u64), zip(x, [0_u64, 9223372036854775807_u64, 18446744073709551615_u64])
      |> map(fun(p, fst(p) ^ snd(p))))"""
    wanted, found = exported_and_read(text, np.zeros(3, np.uint64))
    assert wanted.tolist() == found.tolist() == [0, 2**63 - 1, 2**64 - 1]


def test_conversions_of_constants_are_those_of_the_program() -> None:
    """NaN and numbers that no i32 represents. Random program 30000311."""
    text = """fun((x : 4.i32), zip(x, [nan_f32, 3.0e9, -3.0e9, -2.5])
      |> map(fun(p, fst(p) + cast[i32](snd(p)))))"""
    wanted, found = exported_and_read(text, np.zeros(4, np.int32))
    assert wanted.tolist() == found.tolist() == [0, 2**31 - 1, -(2**31), -2]

"""`checkIdx`: an index out of range is a located error, and no access leaves its array."""

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from agreement import Array, agree, compiled, interpreted, lowered, new_outputs, text
from llvmlite import binding

import riselang as rl
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import parse_module, verify_module
from riselang.lowering.runtime_checks import CHECKS
from riselang.support.errors import OutOfRangeError
from support.guarded import Call, Refused, Request, Runner

X = np.array([3, 1, 4, 1, 5, 0], np.int64)
Y = np.arange(6, dtype=np.float32) / 4


class Descriptor(ctypes.Structure):
    """MLIR's descriptor of a buffer of one dimension, as C code has it."""

    _fields_ = (
        ("allocated", ctypes.c_void_p),
        ("aligned", ctypes.c_void_p),
        ("offset", ctypes.c_int64),
        ("size", ctypes.c_int64),
        ("stride", ctypes.c_int64),
    )


def descriptor(array: np.ndarray[Any, Any]) -> Descriptor:
    return Descriptor(array.ctypes.data, array.ctypes.data, 0, array.size, 1)


def pick(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
    return x | rl.map_par(lambda v: rl.at(rl.check_idx(6, v), y))


def test_indices_in_range() -> None:
    (found,) = agree(pick, X, Y)
    assert np.array_equal(found, Y[X])


def test_a_program_without_checks_has_no_buffer_for_failures() -> None:
    def clamped(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
        return x | rl.map(lambda v: rl.at(rl.clamp_idx(6, v), y))

    assert "memref<4xi64>" not in text(clamped, X, Y)
    assert CHECKS not in text(clamped, X, Y, stage="imperative")
    assert CHECKS in text(pick, X, Y, stage="imperative")
    assert CHECKS in text(pick, X, Y)
    assert CHECKS not in lowered(pick, X, Y).compilation.native_text


def errors(function: Callable[..., Any], *arrays: Array) -> list[str]:
    """What the interpreter and compiled code say."""
    found: list[str] = []
    for backend in ("interpret", "compile"):
        with pytest.raises(OutOfRangeError) as caught:
            rl.jit(function, backend=backend)(*arrays)
        found.append(str(caught.value))
    return found


@pytest.mark.parametrize("wrong", [-1, 6, 7, 2**62, -(2**63)])
def test_the_error_is_the_interpreters(wrong: int) -> None:
    x = X.copy()
    x[3] = wrong
    first, second = errors(pick, x, Y)
    assert first == second
    assert f"test_checks.py:{pick.__code__.co_firstlineno + 1}:" in second
    assert f"checkIdx: the index {wrong} is not in [0, 6)" in second
    assert "^^^^" in second


def test_it_can_be_caught_as_an_index_error() -> None:
    with pytest.raises(IndexError):
        rl.jit(pick)(X + 1, Y)


def test_a_call_after_a_failure_starts_anew() -> None:
    kernel = rl.jit(pick)
    with pytest.raises(OutOfRangeError):
        kernel(X + 5, Y)
    assert np.array_equal(kernel(X, Y), Y[X])


def test_the_first_of_several_failures_is_reported() -> None:
    def two(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
        return x | rl.map_seq(
            lambda v: rl.at(rl.check_idx(6, v), y) + rl.at(rl.check_idx(6, v - 100), y)
        )

    x = np.array([103, 102, 1, 0, 9, 8], np.int64)
    first, second = errors(two, x, Y)
    assert first == second
    assert "the index 103 " in second


@pytest.mark.sampled(2)
@pytest.mark.parametrize("loops", ["affine", "scf"])
@pytest.mark.parametrize("threads", [1, 2, 3])
def test_many_failures_on_threads_leave_one_that_happened(loops: str, threads: int) -> None:
    def nested(x: rl.Array[64, 8, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
        return x | rl.map_par(rl.map_par(lambda v: rl.at(rl.check_idx(6, v), y)))

    x = np.arange(512, dtype=np.int64).reshape(64, 8)
    for _ in range(3):
        with pytest.raises(OutOfRangeError) as caught:
            compiled(lowered(nested, x, Y), [x, Y], loops, threads)
        message = caught.value.message
        assert int(message.split()[3]) in range(6, 512)
        assert "is not in [0, 6)" in message


def test_truth_values_and_small_integers_as_indices() -> None:
    def small(t: rl.Array[2, rl.i1], b: rl.Array[2, rl.i8], y: rl.Array[6, rl.f32]) -> Any:
        return rl.zip(t, b) | rl.map(
            lambda p, q: rl.at(rl.check_idx(2, p), y | rl.take(2)) + rl.at(rl.check_idx(6, q), y)
        )

    t, b = np.array([True, False]), np.array([5, 0], np.int8)
    agree(small, t, b, Y)
    first, second = errors(small, t, np.array([0, -128], np.int8), Y)
    assert first == second
    assert "the index -128 " in second


@pytest.mark.parametrize(
    "view",
    [
        lambda y: y | rl.drop(6),
        lambda y: y | rl.take(0),
        lambda y: y | rl.take(0) | rl.map(lambda v: v + 1) | rl.to_mem("heap"),
        lambda y: rl.concat(y | rl.take(0), y | rl.drop(6)) | rl.reverse,
        lambda y: y | rl.split(6) | rl.drop(1) | rl.join,
    ],
)
def test_nothing_is_read_of_an_empty_array(view: Callable[[Any], Any]) -> None:
    def empty(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
        return x | rl.map(lambda v: rl.at(rl.check_idx(0, v), view(y)))

    first, second = errors(empty, X, Y)
    assert first == second
    assert "is not in [0, 0)" in second


def test_a_while_that_waits_for_a_check_ends() -> None:
    def search(x: rl.Array[6, rl.i64]) -> Any:
        return rl.while_(
            lambda i: rl.at(rl.check_idx(6, i), x) != 77, lambda i: i + 1, rl.cast(0, rl.i64)
        )

    first, second = errors(search, X)
    assert first == second
    assert "the index 6 " in second


def test_a_while_ends_where_the_check_stands_in_a_view_outside() -> None:
    def search(x: rl.Array[6, rl.i64]) -> Any:
        looked_up = x | rl.map(lambda v: rl.at(rl.check_idx(6, v + 1), x))
        return rl.while_(
            lambda i: rl.at(rl.clamp_idx(6, i), looked_up) != 77,
            lambda i: i + 1,
            rl.cast(0, rl.i64),
        )

    _, second = errors(search, X)
    assert "the index 6 " in second


WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "at": lambda x, y: x | rl.map(lambda v: rl.at(rl.check_idx(6, v), y)),
    "gather": lambda x, y: rl.gather(x | rl.map(rl.check_idx(6)), y),
    "scatter": lambda x, y: rl.scatter(x | rl.map(rl.check_idx(6)), y, y | rl.reverse),
    "sliceAt": lambda x, y: x | rl.map(lambda v: rl.slice_at(3, rl.check_idx(4, v), y)),
    "updateAt": lambda x, y: (
        x | rl.map(lambda v: rl.update_at(rl.check_idx(5, v), y | rl.take(2), y))
    ),
    "reorder": lambda x, y: y | rl.reorder(lambda i: rl.check_idx(6, rl.from_idx(i) * 1000)),
    "mapPar": lambda x, y: x | rl.map_par(lambda v: rl.at(rl.check_idx(6, v * 1000), y)),
}


@pytest.mark.sampled(1)
@pytest.mark.rotating(4)
@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_no_access_leaves_its_array(loops: str) -> None:
    """Between protected pages, where an access outside would end the process."""
    runner = Runner({"RISE_NUM_THREADS": "2"})
    for program in WRITES.values():

        def function(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
            return program(x, y)  # noqa: B023 - called before the next round

        made = lowered(function, X, Y)
        (out,) = new_outputs(made)
        x = np.array([0, 2**40, -(2**40), 6, -1, 2**62], np.int64)
        call = Call("function", [out], [x, Y])
        with pytest.raises(Refused, match="checkIdx: the index"):
            runner.run(Request(made.as_text("rise"), loops, [call]))
    runner.close()


CALLING = """
func.func @inner(%out : memref<2xf32>, %in : memref<2xi64>, %from : memref<3xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<2, scalar<i64>>
    %ys = rise.in %from : !rise.array<3, scalar<f32>>
    %f = rise.lambda (%x : !rise.scalar<i64>) -> !rise.scalar<f32> {
      %check = rise.checkIdx #rise.nat<3> #rise.scalar<i64>
      %i = rise.apply %check, %x
      %at = rise.at #rise.nat<3> #rise.scalar<f32>
      %y = rise.apply %at, %i, %ys
      rise.return %y : !rise.scalar<f32>
    }
    %map = rise.map #rise.nat<2> #rise.scalar<i64> #rise.scalar<f32>
    %zs = rise.apply %map, %f, %xs
    rise.out %out <- %zs
    rise.return
  }
  func.return
}
func.func @middle(%out : memref<2xf32>, %in : memref<2xi64>, %from : memref<3xf32>) {
  func.call @inner(%out, %in, %from) : (memref<2xf32>, memref<2xi64>, memref<3xf32>) -> ()
  func.return
}
func.func @outer(%out : memref<2xf32>, %in : memref<2xi64>, %from : memref<3xf32>) {
  func.call @middle(%out, %in, %from) : (memref<2xf32>, memref<2xi64>, memref<3xf32>) -> ()
  func.return
}
func.func @other(%out : memref<2xf32>) {
  func.return
}
"""


def test_functions_that_call_one_with_a_check_pass_the_failure_on() -> None:
    module = parse_module(CALLING)
    verify_module(module)
    functions = Compilation(module).functions
    out, y = np.zeros(2, np.float32), np.array([5, 6, 7], np.float32)
    functions["outer"](out, np.array([2, 0]), y)
    assert out.tolist() == [7, 5]
    functions["other"](out)
    for name in ("inner", "middle", "outer"):
        with pytest.raises(OutOfRangeError, match=r"7:\d+: error: checkIdx: the index 3"):
            functions[name](out, np.array([1, 3]), y)


def test_an_index_that_no_result_depends_on_is_not_checked_by_compiled_code() -> None:
    def unused(x: rl.Array[6, rl.i64], y: rl.Array[6, rl.f32]) -> Any:
        return x | rl.map(lambda v: rl.at(rl.check_idx(6, v), y)) | rl.take(2)

    x = np.array([1, 2, 3, 4, 5, 6], np.int64)
    assert np.array_equal(rl.jit(unused)(x, Y), Y[1:3])
    with pytest.raises(OutOfRangeError):
        interpreted(unused, x, Y)


def test_calls_on_several_threads_do_not_meet() -> None:
    kernel = rl.jit(pick)
    kernel(X, Y)

    def call(number: int) -> int | None:
        x = X.copy()
        x[number % 6] = number
        try:
            kernel(x, Y)
        except OutOfRangeError as error:
            return int(error.message.split()[3])
        return None

    numbers = list(range(-20, 40))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(call, numbers))
    assert found == [None if 0 <= number < 6 else number for number in numbers]


def test_a_failure_in_object_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a C program sees it: arrays, and behind them the buffer for a failure."""
    monkeypatch.setenv("RISE_NUM_THREADS", "1")
    code = binding.ObjectFileRef.from_data(lowered(pick, X, Y).compilation.object_code)
    engine = binding.create_mcjit_compiler(
        binding.parse_assembly(""), binding.Target.from_default_triple().create_target_machine()
    )
    engine.add_object_file(code)
    engine.finalize_object()
    address = engine.get_function_address("rise_call_pick")
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)
    out, y = np.zeros(6, np.float32), np.arange(6, dtype=np.float32)
    x, failure = np.arange(6, dtype=np.int64)[::-1].copy(), np.zeros(4, np.int64)
    buffers = [array.ctypes.data for array in (out, x, y, failure)]
    function(*buffers)
    assert out.tolist() == [5, 4, 3, 2, 1, 0]
    assert failure[0] == 0
    x[2] = 77
    function(*buffers)
    assert failure.tolist() == [1, 1, 77, 6]


@pytest.mark.parametrize("literal", ["-3", "0", "4", "5", "7", "true", "false"])
def test_a_literal_index_is_clamped_when_it_is_lowered(literal: str) -> None:
    text = f"fun(x : 5.f32, x |> at({literal} |> clampIdx(5)))"
    number = ("false", "true").index(literal) if literal.isalpha() else int(literal)
    program: Any = rl.loads(text, name="p.rise")
    x = np.arange(5, dtype=np.float32)
    assert program.main(x) == x[min(max(number, 0), 4)]
    assert "arith.m" not in program.main.lower().as_text("affine")


@pytest.mark.parametrize("kind", ["i8", "i64"])
def test_a_position_that_is_not_negative_is_compared_once(kind: str) -> None:
    number = f"select(a < 0_{kind}, a + 5_{kind}, a)"
    text = f"fun((x : 5.f32, i : 4.{kind}), i |> map(fun(a, x |> at({number} |> checkIdx(5)))))"
    program: Any = rl.loads(text, name="p.rise")
    x = np.arange(5, dtype=np.float32)
    assert program.main(x, np.array([0, 4, -1, -5], f"int{kind[1:]}")).tolist() == [0, 4, 4, 0]
    hot = program.main.lower().as_text("affine").split("else", 1)[0]
    assert "arith.cmpi ult" in hot
    assert "arith.select" not in hot
    for wrong, reported in ((5, 5), (-6, -1)):
        with pytest.raises(rl.UserError, match=f"{reported}"):
            program.main(x, np.array([0, wrong, 1, 1], f"int{kind[1:]}"))

"""A kernel that has been called is called quickly, and refuses what it refused at first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api import kernel
from riselang.native.llvm.entry_points import (
    array_entry_points_ir,
    entry_point_ir,
    guarded_entry_points_ir,
    packed_entry_points_ir,
)
from riselang.runtime import arrays
from riselang.support.errors import UserError


@rl.jit
def axpy(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]) -> Any:
    return rl.zip(x, y) | rl.map(lambda a, b: a * 2.0 + b)


X, Y = np.arange(6, dtype=np.float32), np.ones(6, np.float32)
BAD = {
    "another length": (X, np.ones(5, np.float32), "dimension 0 of y is 5, but expected N"),
    "another rank": (X.reshape(2, 3), Y, "argument x: expected 1 dimension"),
    "another type": (X.astype(np.float64), Y, "argument x: expected dtype float32"),
    "swapped bytes": (X.astype(">f4"), Y, "argument x: expected dtype float32"),
    "no array": (X, "y", "argument y: expected an array"),
    "a list of strings": (["a"] * 6, Y, "argument x: expected N.f32, but found a list whose items"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_after_good_ones(case: str) -> None:
    x, y, message = BAD[case]
    for _ in range(2):
        assert np.array_equal(axpy(X, Y), X * 2 + Y)
        with pytest.raises(UserError, match=message):
            axpy(x, y)


def test_arrays_that_are_not_contiguous_are_copied_with_a_note() -> None:
    unaligned = np.frombuffer(b"0" * 25, np.uint8)[1:].view(np.float32)
    for y, reason in ((np.ones(12, np.float32)[::2], "not C-contiguous"), (unaligned, "not align")):
        for _ in range(2):
            with pytest.warns(rl.CopyWarning, match=f"argument y is {reason}") as warned:
                assert np.array_equal(axpy(X, y), X * 2 + y)
            assert warned[0].filename == __file__


FUNCTION = """func.func @add(%a : memref<6xf32>, %s : f32) {
  affine.for %i = 0 to 6 {
    %x = affine.load %a[%i] : memref<6xf32>
    %y = arith.addf %x, %s : f32
    affine.store %y, %a[%i] : memref<6xf32>
  }
  func.return
}
"""


def test_masked_arrays_are_rejected_everywhere() -> None:
    """Their masks would be ignored, without a word."""
    masked = np.ma.masked_array(X, mask=X > 2)
    refused = r"argument \w+: a masked array cannot be passed.*\.filled\(value\)"
    module: Any = rl.loads(FUNCTION)
    interpreted: Any = rl.jit(axpy.function, backend="interpret")
    symbolic: Any = rl.jit(axpy.function, sizes="symbolic")
    compiled = axpy.lower(X, Y).compile()
    calls = (
        *(lambda f=f: f(masked, Y) for f in (axpy, symbolic, interpreted, compiled)),
        lambda: axpy(X, Y, out=masked),
        lambda: compiled(X, Y, out=masked),
        lambda: axpy.trace(masked, Y),
        lambda: axpy.lower(X, masked),
        lambda: module.add(masked, 1.0),
        lambda: module.add(X, np.ma.masked),
        lambda: module.add(X, np.ma.masked_array(np.float32(1))),
    )
    for call in calls:
        with pytest.raises(UserError, match=refused):
            call()
    assert np.array_equal(axpy(masked.filled(0), Y), masked.filled(0) * 2 + Y)


def test_another_number_of_arguments() -> None:
    axpy(X, Y)
    with pytest.raises(UserError, match=r"axpy takes 2 arguments \(x, y\), but got 3"):
        axpy(X, Y, Y)


def test_results_are_fresh_and_inputs_may_be_read_only_or_the_same() -> None:
    x = X.copy()
    x.flags.writeable = False
    first, second = axpy(x, x), axpy(x, x)
    assert first is not second
    assert not np.may_share_memory(first, second)
    assert np.array_equal(second, x * 3)


def test_each_shape_has_its_program() -> None:
    for length in (1, 6, 3, 6, 1, 0):
        x = np.arange(length, dtype=np.float32)
        assert np.array_equal(axpy(x, x), x * 3)


def test_several_results_and_pairs() -> None:
    @rl.jit
    def both(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a + 1.0), rl.zip(x, x) | rl.map(lambda a, b: (a * 2.0, b))

    for _ in range(3):
        first, (second, third) = both(X)
        assert np.array_equal(first, X + 1)
        assert np.array_equal(second, X * 2)
        assert np.array_equal(third, X)


def test_a_subclass_of_arrays_takes_the_long_way() -> None:
    class Tagged(np.ndarray[Any, Any]):
        pass

    assert np.array_equal(axpy(X.view(Tagged), Y), X * 2 + Y)


def test_buffers_that_share_memory() -> None:
    kernel = axpy.lower(X, Y).compile().function
    with pytest.raises(UserError, match="arguments out and x share memory, and out is written"):
        kernel(X, X, Y)
    memory = np.zeros(12, np.float32)
    with pytest.raises(UserError, match="arguments out and y share memory"):
        kernel(memory[:6], X, memory[5:11])
    kernel(memory[:6], X, memory[6:])
    assert np.array_equal(memory[:6], X * 2)


def test_nothing_shares_no_memory() -> None:
    empty: Any = np.zeros(0, np.float32)
    axpy.lower(N=0).compile().function(empty, empty, empty)


def test_strides_of_open_lengths() -> None:
    @rl.jit(sizes="symbolic")
    def copied(x: rl.Array["N", "M", "K", rl.f32]) -> Any:
        return x | rl.map(rl.map(rl.map(lambda a: a + 1.0)))

    for shape in ((2, 3, 4), (5, 1, 2), (1, 7, 3)):
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        assert np.array_equal(copied(x), x + 1)


def test_the_text_of_an_entry() -> None:
    assert entry_point_ir("f", [(2, 3), "float", (None, 4, None), ()]) == (
        'define void @"rise_call_f"(ptr %p0, float %p1, ptr %p2, i64 %p2_0, i64 %p2_2, ptr %p3) {\n'
        "  %p2_by_2 = mul i64 1, %p2_2\n"
        "  %p2_by_1 = mul i64 %p2_by_2, 4\n"
        '  call void @"f"(ptr %p0, ptr %p0, i64 0, i64 2, i64 3, i64 3, i64 1, float %p1, '
        "ptr %p2, ptr %p2, i64 0, i64 %p2_0, i64 4, i64 %p2_2, i64 %p2_by_1, i64 %p2_by_2, i64 1, "
        "ptr %p3, ptr %p3, i64 0)\n"
        "  ret void\n"
        "}\n"
    )


def test_dynamic_dimensions_are_passed_in_one_array() -> None:
    entries = entry_point_ir("f", [(None, 4, None), "float"])
    assert packed_entry_points_ir(entry_point_ir("f", [(2, 3)])) == ""
    assert packed_entry_points_ir(entries) == (
        'define void @"rise_packed_rise_call_f"(ptr %p0, float %p1, ptr %lengths) {\n'
        "  %a0 = getelementptr i64, ptr %lengths, i64 0\n"
        "  %p0_0 = load i64, ptr %a0\n"
        "  %a1 = getelementptr i64, ptr %lengths, i64 1\n"
        "  %p0_2 = load i64, ptr %a1\n"
        '  call void @"rise_call_f"(ptr %p0, i64 %p0_0, i64 %p0_2, float %p1)\n'
        "  ret void\n"
        "}\n"
    )
    guarded = guarded_entry_points_ir(entries)
    assert '@"rise_guarded_rise_call_f"(ptr %p0, float %p1, ptr %lengths) {' in guarded


def test_one_array_contains_all_addresses_and_dynamic_dimensions() -> None:
    assert array_entry_points_ir(entry_point_ir("f", [(2,), "float"]), is_guarded=True) == ""
    entries = entry_point_ir("f", [(2,), (None,)])
    assert array_entry_points_ir(entries, is_guarded=True) == (
        'define i64 @"rise_array_rise_call_f"(ptr %slots) {\n'
        "  %slot0 = getelementptr i64, ptr %slots, i64 0\n"
        "  %p0 = load ptr, ptr %slot0\n"
        "  %slot1 = getelementptr i64, ptr %slots, i64 1\n"
        "  %p1 = load ptr, ptr %slot1\n"
        "  %slot2 = getelementptr i64, ptr %slots, i64 2\n"
        "  %lengths = bitcast ptr %slot2 to ptr\n"
        '  %reason = call i64 @"rise_guarded_rise_call_f"(ptr %p0, ptr %p1, ptr %lengths)\n'
        "  ret i64 %reason\n"
        "}\n"
    )
    assert '@"rise_packed_rise_call_f"(' in array_entry_points_ir(entries, is_guarded=False)


def test_the_address_of_an_array() -> None:
    base = np.arange(24, dtype=np.int16).reshape(2, 3, 4)
    for array in (base, base[1], base[:, 1:], base.T, base[0, 0, 2:3], base[1:1], np.array(3)):
        assert arrays.address(array) == array.ctypes.data
        assert arrays.address(array) == arrays._interface_address(array)


def test_arguments_by_name() -> None:
    expected = X * 2 + Y
    assert np.array_equal(axpy(x=X, y=Y), expected)
    assert np.array_equal(axpy(X, y=Y), expected)
    assert np.array_equal(axpy(y=Y, x=X), expected)
    for arguments, named, message in (
        ((X,), {"z": Y}, "axpy has no parameter z; it has: x, y"),
        ((X,), {"x": X}, "axpy got x twice"),
        ((), {"y": Y}, "axpy is called without x"),
    ):
        with pytest.raises(UserError, match=message):
            axpy(*arguments, **named)


def test_results_in_given_arrays() -> None:
    out = np.zeros(6, np.float32)
    assert axpy(X, Y, out=out) is out
    assert np.array_equal(out, X * 2 + Y)
    for wrong, message in (
        (np.zeros(5, np.float32), "argument out: expected shape"),
        (np.zeros(6, np.float64), "argument out: expected dtype float32"),
        ((out, out), "out: expected 1 array, as axpy returns, but got 2"),
        (X, "arguments out and x share memory"),
        (np.broadcast_to(np.float32(0), (6,)), "argument out: "),
    ):
        with pytest.raises(UserError, match=message):
            axpy(X, Y, out=wrong)


def test_several_results_in_given_arrays() -> None:
    @rl.jit
    def both(x: rl.Array["N", rl.f32]) -> Any:
        return x | rl.map(lambda a: a + 1.0), rl.zip(x, x) | rl.map(lambda a, b: (a * 2.0, b))

    out = (np.zeros(6, np.float32), (np.zeros(6, np.float32), np.zeros(6, np.float32)))
    both(X, out=out)
    assert np.array_equal(out[0], X + 1)
    assert np.array_equal(out[1][0], X * 2)
    assert np.array_equal(out[1][1], X)


def test_results_of_a_kernel_for_all_sizes_in_given_arrays() -> None:
    program: Any = rl.loads("fun((x : n.f32), x |> map(fun(a, a + a)))", name="d.rise")
    out = np.zeros(6, np.float32)
    assert np.array_equal(program.main(X, out=out), X + X)
    symbolic = rl.jit(axpy.function, sizes="symbolic")
    assert np.array_equal(symbolic(X, Y, out=out), X * 2 + Y)
    with pytest.raises(UserError, match="out= is for compiled kernels"):
        rl.jit(axpy.function, backend="interpret")(X, Y, out=out)


@pytest.mark.parametrize("sizes", ["specialize", "symbolic"])
def test_shapes_that_were_seen_are_not_looked_at_again(
    sizes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To find sizes takes a hundred times as long as the rest of a call."""
    quick = rl.jit(axpy.function, sizes=sizes)
    out = np.zeros(6, np.float32)
    quick(X, Y)
    quick(X, Y, out=out)
    with pytest.raises(UserError, match="dimension 0 of y is 5"):
        quick(X, Y[:5])
    monkeypatch.setattr(kernel, "bind_sizes", lambda *_: pytest.fail("sizes are looked for"))
    assert np.array_equal(quick(Y, X), Y * 2 + X)
    assert np.array_equal(quick(Y, X, out=out), Y * 2 + X)


@pytest.mark.parametrize("sizes", ["specialize", "symbolic"])
def test_bad_results_after_good_ones(sizes: str) -> None:
    again = rl.jit(axpy.function, sizes=sizes)
    again(X, Y, out=np.zeros(6, np.float32))
    for wrong, message in (
        (X, "arguments out and x share memory"),
        (np.zeros(12, np.float32)[::2], "argument out: expected a C-contiguous array"),
        (np.broadcast_to(np.float32(0), (6,)), "argument out: "),
        (np.zeros(5, np.float32), "5"),
    ):
        with pytest.raises(UserError, match=message):
            again(X, Y, out=wrong)


def test_shapes_are_forgotten_before_they_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "MAX_PREPARED_CALLS", 3)
    many = rl.jit(axpy.function, sizes="symbolic")
    for length in range(1, 9):
        assert np.array_equal(many(X[:length], Y[:length]), X[:length] * 2 + 1)


def test_a_kernel_by_name_inside_another() -> None:
    @rl.jit
    def twice(x: rl.Array["N", rl.f32]) -> Any:
        return axpy(y=x, x=axpy(x, x))

    assert np.array_equal(twice(X), X * 3 * 2 + X)


def test_an_index_is_passed_as_a_number() -> None:
    at: Any = rl.loads("fun((x : 4.f32, i : idx[4]), x |> at(i))", name="at.rise").main
    x = np.arange(4, dtype=np.float32)
    assert [at(x, 3), at(x, np.int64(1)), at(x, np.array(0))] == [3, 1, 0]
    for index, message in ((4, r"expected indices in \[0, 4\)"), (1.5, r"of type idx\[4\]")):
        with pytest.raises(rl.UserError, match=message):
            at(x, index)


def test_numpy_numbers_are_passed_with_out() -> None:
    program: Any = rl.loads("fun((a : f32, x : 4.f32), x |> map(fun(e, a * e)))", name="scale.rise")
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    for factor in (2, 3, 5):
        assert program.main(np.float32(factor), x, out=out) is out
        assert np.array_equal(out, factor * x)

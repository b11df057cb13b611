"""Programs for all sizes: where sizes come from, one kernel at many shapes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import riselang as rl
from riselang.api.kernel import TermKernel
from riselang.notation.program import parse_term


def kernel(text: str, backend: str = "compile") -> TermKernel:
    made = TermKernel("f", parse_term(text), backend)
    made.symbolic = True
    return made


def arange(*shape: int) -> np.ndarray[Any, Any]:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


PROGRAMS: dict[str, tuple[str, list[list[tuple[int, ...]]]]] = {
    "two dimensions": ("fun(x : N.M.f32, x |> transpose)", [[(3, 4)], [(1, 7)], [(0, 2)]]),
    "a product": ("fun(x : N.M.f32, x |> join |> reverse)", [[(3, 4)], [(5, 2)]]),
    "a multiple": ("fun(x : N.f32, x |> split(4) |> transpose |> join)", [[(8,)], [(12,)], [(0,)]]),
    "a linear length": ("fun(x : (2 * n + 1).f32, x |> slide(3, 2) |> join)", [[(7,)], [(3,)]]),
    "a length from another": (
        "fun((x : N.f32, y : (N * M).f32), y |> split(N) |> map(fun(r, zip(x, r) |> map(add))))",
        [[(3,), (6,)], [(2,), (10,)]],
    ),
    "the other way round": (
        "fun((y : (N * M).f32, x : N.f32), y |> split(N) |> map(fun(r, zip(x, r) |> map(add))))",
        [[(6,), (3,)], [(10,), (2,)]],
    ),
    "memory of its own": (
        "fun(x : N.f32, let y = x |> scan(add, 0.0) |> toMem(heap); zip(y, reverse(y)))",
        [[(5,)], [(100,)], [(0,)]],
    ),
    "memory in a loop over threads": (
        "fun(x : N.M.f32, x |> mapPar(fun(r, r |> scan(add, 0.0) |> toMem(stack) |> reverse)))",
        [[(5, 3)], [(2, 9)]],
    ),
    "pads": ("fun(x : N.f32, x |> pad(2, 1) |> padWrap(1, 1))", [[(3,)], [(1,)]]),
    "concatenation": ("fun((x : N.f32, y : M.f32), concat(x, y) |> reverse)", [[(2,), (3,)]]),
    "indices": (
        "fun(x : N.f32, generate(fun(i : idx[N], x |> at(clampIdx(N, fromIdx(i) * 2)))))",
        [[(4,)], [(7,)]],
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_kernel_gives_what_the_interpreter_gives(name: str) -> None:
    text, calls = PROGRAMS[name]
    compiled, reference = kernel(text), kernel(text, "interpret")
    for shapes in calls:
        arrays = [arange(*shape) for shape in shapes]
        assert np.array_equal(compiled(*arrays), reference(*arrays)), shapes
    assert "?" in compiled.lower().as_text("affine")


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        (
            "fun((x : N.f32, y : N.f32), zip(x, y) |> map(add))",
            [(3,), (4,)],
            "dimension 0 of y is 4, but expected N (N = 3 from dimension 0 of x)",
        ),
        ("fun(x : N.f32, x |> split(4))", [(6,)], "dimension 0 of x is 6, but expected N_by_4 * 4"),
        ("fun(x : N.f32, x |> take(4))", [(3,)], "take: n is a length, which cannot be negative"),
        ("fun(x : N.f32, x |> pad(1, 1))", [(0,)], "n must be at least 1, but is 0 (for N = 0)"),
        ("fun(x : N.f32, x |> padWrap(4, 0))", [(3,)], "padWrap: "),
        ("fun(x : (N * M).f32, x)", [(6,)], "x is 6, which does not determine M * N"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("backend", ["compile", "interpret"])
def test_wrong_sizes_are_rejected_at_the_call(
    backend: str, text: str, shapes: list[tuple[int, ...]], message: str
) -> None:
    with pytest.raises(rl.UserError) as caught:
        kernel(text, backend)(*[arange(*shape) for shape in shapes])
    assert message in caught.value.message


def test_a_size_that_no_shape_tells_must_be_given() -> None:
    program = kernel("fun(x : (m * n).f32, x |> split(m) |> join)")
    with pytest.raises(rl.UserError, match="does not determine m \\* n"):
        program(arange(6))
    assert "x : 6.f32" in program.lower(m=2, n=3).as_text("notation")


MODULE = """
func.func @reversed(%out : memref<?xf32>, %a : memref<?xf32>) {
  %x = rise.in %a : !rise.array<N, scalar<f32>>
  %r = rise.reverse #rise.nat<N> #rise.scalar<f32>
  %y = rise.apply %r, %x
  rise.out %out <- %y
  return
}
func.func @at(%out : memref<?xf32>, %i : memref<?xindex>, %a : memref<?xf32>) {
  %x = rise.in %a : !rise.array<N, scalar<f32>>
  %places = rise.in %i : !rise.array<M, idx<N>>
  %g = rise.gather #rise.nat<N> #rise.nat<M> #rise.scalar<f32>
  %y = rise.apply %g, %places, %x
  rise.out %out <- %y
  return
}
"""


def test_a_loaded_function_takes_any_length() -> None:
    module = rl.loads(MODULE)
    for length in (0, 1, 5):
        out = np.zeros(length, np.float32)
        module.reversed(out, arange(length))
        assert np.array_equal(out, arange(length)[::-1])
    out = np.zeros(2, np.float32)
    module.at(out, np.array([2, 0]), arange(3))
    assert out.tolist() == [2, 0]


def test_the_shapes_and_indices_of_a_loaded_function_are_checked() -> None:
    module = rl.loads(MODULE)
    with pytest.raises(rl.UserError, match=r"dimension 0 of out is 2, but expected N \(N = 3 from"):
        module.reversed(np.zeros(2, np.float32), arange(3))
    with pytest.raises(rl.UserError, match=r"i: expected indices in \[0, 3\), but found 3"):
        module.at(np.zeros(2, np.float32), np.array([2, 3]), arange(3))

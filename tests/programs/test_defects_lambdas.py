"""Defect 6 of the first implementation of RISE in MLIR (DESIGN, section 5): functions.

Lambdas of two or more arguments were applied in the wrong order; identity lambdas, partial
application and function-valued arguments were not supported; only one lowering unit was lowered.
"""

from collections.abc import Callable

import numpy as np
import pytest
from running import LOOPS, Array, assert_same_bits, checked, random_array, seed

import riselang as rl
from riselang.support.errors import RiseError

I32 = "!rise.scalar<i32>"
SCALAR = "#rise.scalar<i32>"
FUNCTION = "!rise.fun<scalar<i32> -> scalar<i32>>"


def embed(name: str, operation: str, left: str, right: str) -> str:
    return (
        f"{name} = rise.embed({left}, {right}) {{\n"
        f"{name} = {operation} {left}, {right} : i32\n"
        f"rise.return {name} : i32\n}} : {I32}\n"
    )


def on_arrays(body: str, length: int = 6) -> str:
    """A function from `%xs` and `%ys` to `%result`, all of one length."""
    type = f"!rise.array<{length}, scalar<i32>>"
    memory = f"memref<{length}xi32>"
    return f"""
    func.func @program(%out : {memory}, %a : {memory}, %b : {memory}) {{
      %xs = rise.in %a : {type}
      %ys = rise.in %b : {type}
      %map = rise.mapSeq #rise.nat<{length}> {SCALAR} {SCALAR}
      {body}
      rise.out %out <- %result
      func.return
    }}
    """


def run_on_arrays(body: str, meaning: Callable[[Array, Array], Array]) -> None:
    xs, ys = random_array(6, dtype=np.int32), random_array(6, dtype=np.int32)
    for loops in LOOPS:
        out, *_ = checked(on_arrays(body), "program", [np.zeros(6, np.int32), xs, ys], loops)
        assert_same_bits([out], [meaning(xs, ys).astype(np.int32)])


DIFFERENCE = f"""
      %difference = rise.lambda (%l : {I32}, %r : {I32}) -> {I32} {{
        {embed("%d", "arith.subi", "%l", "%r")}
        rise.return %d : {I32}
      }}
"""


def test_two_arguments_arrive_in_order() -> None:
    run_on_arrays(
        DIFFERENCE
        + f"""
      %ten = rise.literal #rise.lit<10, scalar<i32>>
      %f = rise.lambda (%x : {I32}) -> {I32} {{
        %r = rise.apply %difference, %x, %ten
        rise.return %r : {I32}
      }}
      %result = rise.apply %map, %f, %xs
    """,
        lambda xs, ys: xs - 10,
    )


def test_three_arguments_arrive_in_order() -> None:
    run_on_arrays(
        f"""
      %three = rise.lambda (%p : {I32}, %q : {I32}, %r : {I32}) -> {I32} {{
        {embed("%pq", "arith.subi", "%p", "%q")}
        {embed("%pqr", "arith.muli", "%pq", "%r")}
        rise.return %pqr : {I32}
      }}
      %seven = rise.literal #rise.lit<7, scalar<i32>>
      %two = rise.literal #rise.lit<2, scalar<i32>>
      %f = rise.lambda (%x : {I32}) -> {I32} {{
        %r = rise.apply %three, %seven, %x, %two
        rise.return %r : {I32}
      }}
      %result = rise.apply %map, %f, %xs
    """,
        lambda xs, ys: (7 - xs) * 2,
    )


def test_a_reduction_gives_the_element_first() -> None:
    text = on_arrays(
        DIFFERENCE
        + f"""
      %zero = rise.literal #rise.lit<0, scalar<i32>>
      %slide = rise.slide #rise.nat<6> #rise.nat<1> #rise.nat<1> {SCALAR}
      %single = rise.apply %slide, %xs
      %fold = rise.lambda (%w : !rise.array<1, scalar<i32>>) -> {I32} {{
        %reduce = rise.reduceSeq #rise.nat<6> {SCALAR} {SCALAR}
        %r = rise.apply %reduce, %difference, %zero, %ys
        rise.return %r : {I32}
      }}
      %maps = rise.mapSeq #rise.nat<6> #rise.array<1, scalar<i32>> {SCALAR}
      %result = rise.apply %maps, %fold, %single
    """
    )
    xs, ys = random_array(6, dtype=np.int32), random_array(6, dtype=np.int32)
    out, *_ = checked(text, "program", [np.zeros(6, np.int32), xs, ys])
    accumulator = 0
    for y in ys:
        accumulator = int(y) - accumulator
    assert (out == accumulator).all()


@pytest.mark.parametrize(
    ("returned", "expected"), [("%element", lambda ys: ys[-1]), ("%acc", lambda ys: 5)]
)
def test_reductions_by_a_projection(returned: str, expected: Callable[[Array], int]) -> None:
    text = f"""
    func.func @program(%out : memref<i32>, %b : memref<6xi32>) {{
      %ys = rise.in %b : !rise.array<6, scalar<i32>>
      %f = rise.lambda (%element : {I32}, %acc : {I32}) -> {I32} {{
        rise.return {returned} : {I32}
      }}
      %five = rise.literal #rise.lit<5, scalar<i32>>
      %reduce = rise.reduceSeq #rise.nat<6> {SCALAR} {SCALAR}
      %result = rise.apply %reduce, %f, %five, %ys
      rise.out %out <- %result
      func.return
    }}
    """
    ys = random_array(6, dtype=np.int32)
    for loops in LOOPS:
        out, _ = checked(text, "program", [np.zeros((), np.int32), ys], loops)
        assert out == expected(ys)


IDENTITY = f"%id = rise.lambda (%x : {I32}) -> {I32} {{ rise.return %x : {I32} }}\n"


def test_identity_lambdas() -> None:
    run_on_arrays(IDENTITY + "%result = rise.apply %map, %id, %xs", lambda xs, ys: xs)


def test_identity_on_an_array() -> None:
    type = "!rise.array<6, scalar<i32>>"
    run_on_arrays(
        f"""
      %id = rise.lambda (%x : {type}) -> {type} {{ rise.return %x : {type} }}
      %result = rise.apply %id, %ys
    """,
        lambda xs, ys: ys,
    )


def test_an_input_in_a_pair_is_stored_as_it_is() -> None:
    arrays = "#rise.array<6, scalar<i32>>"
    run_on_arrays(
        f"""
      %tuple = rise.tuple {arrays} {arrays}
      %both = rise.apply %tuple, %xs, %ys
      %snd = rise.snd {arrays} {arrays}
      %result = rise.apply %snd, %both
    """,
        lambda xs, ys: ys,
    )


def test_partial_application_of_a_lambda() -> None:
    run_on_arrays(
        DIFFERENCE
        + """
      %ten = rise.literal #rise.lit<10, scalar<i32>>
      %f = rise.apply %difference, %ten
      %result = rise.apply %map, %f, %xs
    """,
        lambda xs, ys: 10 - xs,
    )


def test_partial_application_of_patterns() -> None:
    run_on_arrays(
        IDENTITY
        + DIFFERENCE
        + f"""
      %copy = rise.apply %map, %id
      %copied = rise.apply %copy, %xs
      %zip = rise.zip #rise.nat<6> {SCALAR} {SCALAR}
      %withCopied = rise.apply %zip, %copied
      %pairs = rise.apply %withCopied, %ys
      %f = rise.lambda (%p : !rise.tuple<scalar<i32>, scalar<i32>>) -> {I32} {{
        %fst = rise.fst {SCALAR} {SCALAR}
        %snd = rise.snd {SCALAR} {SCALAR}
        %l = rise.apply %fst, %p
        %partial = rise.apply %difference, %l
        %r = rise.apply %snd, %p
        %d = rise.apply %partial, %r
        rise.return %d : {I32}
      }}
      %maps = rise.mapSeq #rise.nat<6> #rise.tuple<scalar<i32>, scalar<i32>> {SCALAR}
      %result = rise.apply %maps, %f, %pairs
    """,
        lambda xs, ys: xs - ys,
    )


def test_functions_as_arguments() -> None:
    run_on_arrays(
        DIFFERENCE
        + f"""
      %three = rise.literal #rise.lit<3, scalar<i32>>
      %from3 = rise.apply %difference, %three
      %twice = rise.lambda (%f : {FUNCTION}, %x : {I32}) -> {I32} {{
        %once = rise.apply %f, %x
        %again = rise.apply %f, %once
        %thrice = rise.apply %f, %again
        rise.return %thrice : {I32}
      }}
      %g = rise.apply %twice, %from3
      %result = rise.apply %map, %g, %xs
    """,
        lambda xs, ys: 3 - xs,
    )


def test_functions_as_results() -> None:
    run_on_arrays(
        DIFFERENCE
        + f"""
      %make = rise.lambda (%x : {I32}) -> {FUNCTION} {{
        %r = rise.apply %difference, %x
        rise.return %r : {FUNCTION}
      }}
      %f = rise.lambda (%x : {I32}) -> {I32} {{
        %two = rise.literal #rise.lit<2, scalar<i32>>
        %g = rise.apply %make, %two
        %r = rise.apply %g, %x
        rise.return %r : {I32}
      }}
      %result = rise.apply %map, %f, %xs
    """,
        lambda xs, ys: 2 - xs,
    )


def test_a_pattern_as_an_argument() -> None:
    arrays = "!rise.array<6, scalar<i32>>"
    pairs = "!rise.array<6, tuple<scalar<i32>, scalar<i32>>>"
    run_on_arrays(
        DIFFERENCE
        + f"""
      %flip = rise.lambda (%f : !rise.fun<array<6, scalar<i32>> -> fun<array<6, scalar<i32>> ->
          array<6, tuple<scalar<i32>, scalar<i32>>>>>, %a1 : {arrays}, %b1 : {arrays})
          -> {pairs} {{
        %r = rise.apply %f, %b1, %a1
        rise.return %r : {pairs}
      }}
      %zip = rise.zip #rise.nat<6> {SCALAR} {SCALAR}
      %flipped = rise.apply %flip, %zip, %xs, %ys
      %f = rise.lambda (%p : !rise.tuple<scalar<i32>, scalar<i32>>) -> {I32} {{
        %fst = rise.fst {SCALAR} {SCALAR}
        %snd = rise.snd {SCALAR} {SCALAR}
        %l = rise.apply %fst, %p
        %r = rise.apply %snd, %p
        %d = rise.apply %difference, %l, %r
        rise.return %d : {I32}
      }}
      %maps = rise.map #rise.nat<6> #rise.tuple<scalar<i32>, scalar<i32>> {SCALAR}
      %result = rise.apply %maps, %f, %flipped
    """,
        lambda xs, ys: ys - xs,
    )


def test_several_units_in_one_function() -> None:
    def unit(source: str, target: str, operation: str) -> str:
        return f"""
          rise.lowering_unit {{
            %xs = rise.in {source} : !rise.array<5, scalar<f32>>
            %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {{
              %y = rise.embed(%x) {{
                %y = {operation} %x, %x : f32
                rise.return %y : f32
              }} : !rise.scalar<f32>
              rise.return %y : !rise.scalar<f32>
            }}
            %map = rise.mapSeq #rise.nat<5> #rise.scalar<f32> #rise.scalar<f32>
            %ys = rise.apply %map, %f, %xs
            rise.out {target} <- %ys
            rise.return
          }}
        """

    text = f"""
    func.func @chain(%a : memref<5xf32>, %b : memref<5xf32>, %c : memref<5xf32>) {{
      {unit("%a", "%b", "arith.addf")}
      {unit("%b", "%c", "arith.mulf")}
      {unit("%c", "%a", "arith.subf")}
      func.return
    }}
    """
    xs = random_array(5)
    arrays = [xs, np.zeros(5, np.float32), np.zeros(5, np.float32)]
    for loops in LOOPS:
        a, b, c = checked(text, "chain", arrays, loops)
        assert_same_bits([a, b, c], [np.zeros(5, np.float32), xs + xs, (xs + xs) ** 2])


def test_one_unit_that_reads_and_writes_a_buffer() -> None:
    text = """
    func.func @transpose(%a : memref<4x4xf32>) {
      rise.lowering_unit {
        %xss = rise.in %a : !rise.array<4, array<4, scalar<f32>>>
        %t = rise.transpose #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
        %yss = rise.apply %t, %xss
        rise.out %a <- %yss
        rise.return
      }
      func.return
    }
    """
    xss = random_array(4, 4)
    for loops in LOOPS:
        (result,) = checked(text, "transpose", [xss], loops)
        assert_same_bits([result], [xss.T.copy()])


def test_one_unit_that_swaps_two_scalars() -> None:
    text = """
    func.func @swap(%a : memref<f32>, %b : memref<f32>) {
      rise.lowering_unit {
        %x = rise.in %a : !rise.scalar<f32>
        %y = rise.in %b : !rise.scalar<f32>
        rise.out %a <- %y
        rise.out %b <- %x
        rise.return
      }
      func.return
    }
    """
    arrays = [np.array(1, np.float32), np.array(5, np.float32)]
    for loops in LOOPS:
        a, b = checked(text, "swap", arrays, loops)
        assert (a, b) == (5, 1)


def test_one_unit_that_swaps_two_arrays() -> None:
    text = """
    func.func @swap(%a : memref<3xf32>, %b : memref<3xf32>) {
      rise.lowering_unit {
        %x = rise.in %a : !rise.array<3, scalar<f32>>
        %y = rise.in %b : !rise.array<3, scalar<f32>>
        rise.out %a <- %y
        rise.out %b <- %x
        rise.return
      }
      func.return
    }
    """
    arrays = [random_array(3), random_array(3)]
    for loops in LOOPS:
        assert_same_bits(checked(text, "swap", arrays, loops), arrays[::-1])


def test_memrefs_with_a_layout_are_not_read_out_of_bounds() -> None:
    text = """
    func.func @copy(%out : memref<4xf32>, %in : memref<4xf32, strided<[2], offset: 0>>) {
      %x = rise.in %in : !rise.array<4, scalar<f32>>
      rise.out %out <- %x
      func.return
    }
    """
    with pytest.raises(RiseError):
        rl.loads(text).copy(np.zeros(4, np.float32), random_array(4))


def test_two_outs_in_one_unit() -> None:
    text = """
    func.func @both(%a : memref<3xf32>, %b : memref<f32>, %c : memref<3xf32>) {
      rise.lowering_unit {
        %xs = rise.in %c : !rise.array<3, scalar<f32>>
        %add = rise.lambda (%x : !rise.scalar<f32>, %y : !rise.scalar<f32>) -> !rise.scalar<f32> {
          %s = rise.embed(%x, %y) {
            %s = arith.addf %x, %y : f32
            rise.return %s : f32
          } : !rise.scalar<f32>
          rise.return %s : !rise.scalar<f32>
        }
        %zero = rise.literal #rise.lit<0.0>
        %reduce = rise.reduceSeq #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
        %sum = rise.apply %reduce, %add, %zero, %xs
        rise.out %b <- %sum
        %plus = rise.apply %add, %sum
        %map = rise.mapSeq #rise.nat<3> #rise.scalar<f32> #rise.scalar<f32>
        %ys = rise.apply %map, %plus, %xs
        rise.out %a <- %ys
        rise.return
      }
      func.return
    }
    """
    xs = random_array(3)
    for loops in LOOPS:
        a, b, _ = checked(
            text, "both", [np.zeros(3, np.float32), np.zeros((), np.float32), xs], loops
        )
        np.testing.assert_allclose(b, xs.sum(), rtol=1e-5, atol=1e-6)
        assert_same_bits([a], [(b + xs).astype(np.float32)])


def test_several_functions_in_one_module() -> None:
    module = rl.loads(seed("transposes"))
    xss = random_array(3, 5)
    by_load, by_store = np.zeros((2, 5, 3), np.float32)
    module.load(by_load, xss)
    module.store(by_store, xss)
    assert_same_bits([by_load, by_store], [xss.T.copy(), xss.T.copy()])


def test_a_unit_inside_a_loop_of_another_dialect() -> None:
    text = """
    func.func @rows(%out : memref<4xf32>, %in : memref<4xf32>, %count : memref<f32>) {
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %three = arith.constant 3 : index
      scf.for %i = %zero to %three step %one {
        rise.lowering_unit {
          %xs = rise.in %in : !rise.array<4, scalar<f32>>
          %old = rise.in %out : !rise.array<4, scalar<f32>>
          %zip = rise.zip #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
          %pairs = rise.apply %zip, %xs, %old
          %f = rise.lambda (%p : !rise.tuple<scalar<f32>, scalar<f32>>) -> !rise.scalar<f32> {
            %fst = rise.fst #rise.scalar<f32> #rise.scalar<f32>
            %snd = rise.snd #rise.scalar<f32> #rise.scalar<f32>
            %x = rise.apply %fst, %p
            %y = rise.apply %snd, %p
            %s = rise.embed(%x, %y) {
              %s = arith.addf %x, %y : f32
              rise.return %s : f32
            } : !rise.scalar<f32>
            rise.return %s : !rise.scalar<f32>
          }
          %map = rise.mapSeq #rise.nat<4> #rise.tuple<scalar<f32>, scalar<f32>> #rise.scalar<f32>
          %ys = rise.apply %map, %f, %pairs
          rise.out %out <- %ys
          rise.return
        }
      }
      func.return
    }
    """
    xs = random_array(4)
    for loops in LOOPS:
        out = np.zeros(4, np.float32)
        rl.loads(text, loops=loops).rows(out, xs, np.zeros((), np.float32))
        assert_same_bits([out], [xs + xs + xs])

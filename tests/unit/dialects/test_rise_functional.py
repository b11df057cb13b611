"""lambda, apply, return, lowering_unit, in, out, embed and literal: text and verifiers."""

from textwrap import dedent, indent

import pytest
from dialect_text import assert_prints_as_written, assert_refused, assert_round_trip, printed, read

from riselang.dialects.module import walk
from riselang.dialects.rise.interface_ops import EmbedOp

ROUND_TRIPS = {
    "identity lambda": """
        %0 = rise.lambda (%x : !rise.scalar<i32>) -> !rise.scalar<i32> {
          rise.return %x : !rise.scalar<i32>
        }
    """,
    "lambda of two parameters": """
        %0 = rise.lambda (%x : !rise.scalar<i32>, %y : !rise.scalar<f32>) -> !rise.scalar<f32> {
          rise.return %y : !rise.scalar<f32>
        }
    """,
    "lambda that takes and gives functions": """
        %0 = rise.lambda (%f : !rise.fun<scalar<i32> -> scalar<f32>>) -> \
!rise.fun<scalar<i32> -> scalar<f32>> {
          rise.return %f : !rise.fun<scalar<i32> -> scalar<f32>>
        }
    """,
    "lambda with attributes": """
        %0 = rise.lambda (%x : !rise.scalar<i32>) -> !rise.scalar<i32> {
          rise.return %x : !rise.scalar<i32>
        } {note = "kept"}
    """,
    "apply to one and to two arguments": """
        %f = "test.op"() : () -> !rise.fun<scalar<i32> -> fun<scalar<f32> -> scalar<f32>>>
        %x = "test.op"() : () -> !rise.scalar<i32>
        %y = "test.op"() : () -> !rise.scalar<f32>
        %0 = rise.apply %f, %x
        %1 = rise.apply %f, %x, %y
    """,
    "apply with attributes": """
        %f = "test.op"() : () -> !rise.fun<scalar<i32> -> scalar<i32>>
        %x = "test.op"() : () -> !rise.scalar<i32>
        %0 = rise.apply %f, %x {note = 1 : i32}
    """,
    "lowering unit with in and out": """
        %a = "test.op"() : () -> memref<4x5xf32>
        %out = "test.op"() : () -> memref<4x5xf32>
        rise.lowering_unit {
          %A = rise.in %a : !rise.array<4, array<5, scalar<f32>>>
          rise.out %out <- %A
          rise.return
        }
    """,
    "in and out of pairs, one buffer each": """
        %a, %b = "test.op"() : () -> (memref<4xf32>, memref<4x2xi32>)
        %pairs = rise.in %a, %b : !rise.array<4, tuple<scalar<f32>, array<2, scalar<i32>>>>
        rise.out %a, %b <- %pairs
    """,
    "scalars in and out": """
        %a, %b = "test.op"() : () -> (memref<f64>, memref<1xf64>)
        %x = rise.in %a : !rise.scalar<f64>
        %y = rise.in %b : !rise.scalar<f64>
        rise.out %b <- %x
        rise.out %a <- %y
    """,
    "buffers of unknown length": """
        %a = "test.op"() : () -> memref<?x4xf32>
        %x = rise.in %a : !rise.array<N, array<4, scalar<f32>>>
        rise.out %a <- %x
    """,
    "embed, operands shadowed by their unwrapped values": """
        %x, %y = "test.op"() : () -> (!rise.scalar<f32>, !rise.scalar<f32>)
        %0 = rise.embed(%x, %y) {
          %1 = arith.mulf %x, %y : f32
          rise.return %1 : f32
        } : !rise.scalar<f32>
    """,
    "embed without operands": """
        %0 = rise.embed() {
          %1 = arith.constant 1.000000e+00 : f32
          rise.return %1 : f32
        } : !rise.scalar<f32>
    """,
    "embed that changes the type": """
        %x = "test.op"() : () -> !rise.scalar<f32>
        %0 = rise.embed(%x) {
          %1 = arith.extf %x : f32 to f64
          rise.return %1 : f64
        } : !rise.scalar<f64>
    """,
    "embed of foreign ops": """
        %c, %x = "test.op"() : () -> (!rise.scalar<i1>, !rise.scalar<f32>)
        %0 = rise.embed(%c, %x) {
          %1 = scf.if %c -> (f32) {
            %2 = arith.negf %x : f32
            scf.yield %2 : f32
          } else {
            scf.yield %x : f32
          }
          rise.return %1 : f32
        } : !rise.scalar<f32>
    """,
    "embed with attributes": """
        %0 = rise.embed() {
          %1 = arith.constant 1.000000e+00 : f32
          rise.return %1 : f32
        } : !rise.scalar<f32> {note = "kept"}
    """,
    "lowering unit with attributes": """
        rise.lowering_unit {
          rise.return
        } {note = "kept"}
    """,
    "literal with attributes": """
        %0 = rise.literal #rise.lit<0.000000e+00> {note = "kept"}
    """,
    "return with attributes": """
        %0 = rise.lambda (%x : !rise.scalar<i32>) -> !rise.scalar<i32> {
          rise.return %x : !rise.scalar<i32> {note = "kept"}
        }
    """,
    "in and out with attributes": """
        %a = "test.op"() : () -> memref<4xf32>
        %0 = rise.in %a : !rise.array<4, scalar<f32>> {note = "kept"}
        rise.out %a <- %0 {note = "kept"}
    """,
    "literal": """
        %0 = rise.literal #rise.lit<0.000000e+00>
    """,
}


@pytest.mark.parametrize("text", ROUND_TRIPS.values(), ids=ROUND_TRIPS.keys())
def test_round_trip(text: str) -> None:
    assert_prints_as_written(text)


def test_an_embed_may_use_one_name_inside_and_outside() -> None:
    text = """
        %x = "test.op"() : () -> !rise.scalar<f32>
        %x2 = rise.embed(%x) {
          %x2 = arith.addf %x, %x : f32
          rise.return %x2 : f32
        } : !rise.scalar<f32>
        %x3 = rise.embed(%x, %x2) {
          %x3 = arith.addf %x, %x2 : f32
          rise.return %x3 : f32
        } : !rise.scalar<f32>
    """
    assert_round_trip(text)


def test_one_operand_twice_in_an_embed() -> None:
    """The second block argument would take the name of the first; both must stay what they are."""
    text = """
        %x = "test.op"() : () -> !rise.scalar<f32>
        %0 = "rise.embed"(%x, %x) ({
        ^bb0(%a : f32, %b : f32):
          %1 = arith.subf %a, %b : f32
          rise.return %1 : f32
        }) : (!rise.scalar<f32>, !rise.scalar<f32>) -> !rise.scalar<f32>
    """
    assert_round_trip(text)


def test_nested_lambdas_see_the_values_around_them() -> None:
    assert_round_trip("""
        %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.fun<scalar<i32> -> scalar<f32>> {
          %g = rise.lambda (%y : !rise.scalar<i32>) -> !rise.scalar<f32> {
            rise.return %x : !rise.scalar<f32>
          }
          rise.return %g : !rise.fun<scalar<i32> -> scalar<f32>>
        }
    """)


def test_a_lowering_unit_gets_its_return() -> None:
    text = printed("""
        rise.lowering_unit {
          %0 = rise.literal #rise.lit<0.0>
        }
    """)
    assert text.splitlines()[-2:] == ["  rise.return", "}"]


VALUES = """\
        %f = "test.op"() : () -> !rise.fun<scalar<i32> -> fun<scalar<f32> -> scalar<f32>>>
        %i = "test.op"() : () -> !rise.scalar<i32>
        %x = "test.op"() : () -> !rise.scalar<f32>
        %xs = "test.op"() : () -> !rise.array<4, scalar<f32>>
        %ps = "test.op"() : () -> !rise.array<4, tuple<scalar<f32>, scalar<i32>>>
        %m = "test.op"() : () -> memref<4xf32>
        %mi = "test.op"() : () -> memref<4xi32>
        %m5 = "test.op"() : () -> memref<5xf32>
        %p = "test.op"() : () -> f32
"""

REFUSED_CUSTOM = {
    "lambda: parameter without type": (
        """
        %0 = rise.lambda (¦%a) -> !rise.scalar<f32> {
          rise.return %a : !rise.scalar<f32>
        }
        """,
        "parameter %a has no type",
    ),
    "lambda: parameter of a foreign type": (
        """
        %0 = rise.lambda (%a : ¦f32) -> !rise.scalar<f32> {
          rise.return %a : f32
        }
        """,
        "a lambda takes RISE types, but f32 is not one",
    ),
    "lambda: no parameters": (
        """
        %0 = rise.lambda () -> !rise.scalar<f32> ¦{
          rise.return %x : !rise.scalar<f32>
        }
        """,
        "a lambda needs at least one parameter",
    ),
    "lambda: result of a foreign type": (
        """
        %0 = rise.lambda (%a : !rise.scalar<f32>) -> f32 ¦{
          rise.return %a : !rise.scalar<f32>
        }
        """,
        "a lambda returns a RISE type, but f32 is not one",
    ),
    "lambda: no function type": (
        """
        %0 = rise.lambda (%a) ¦: !rise.scalar<f32> {
          rise.return %a : !rise.scalar<f32>
        }
        """,
        "expected a function type for the lambda, but found !rise.scalar<f32>",
    ),
    "lambda: more parameters than the type has": (
        """
        %0 = rise.lambda (%a, %b) ¦: !rise.fun<scalar<f32> -> scalar<f32>> {
          rise.return %a : !rise.scalar<f32>
        }
        """,
        "found 2 parameters, but !rise.fun<scalar<f32> -> scalar<f32>> takes 1",
    ),
    "lambda: parameter and function type differ": (
        """
        %0 = rise.lambda (¦%a : !rise.scalar<i32>) : !rise.fun<scalar<f32> -> scalar<f32>> {
          rise.return %x : !rise.scalar<f32>
        }
        """,
        "the parameter has type !rise.scalar<i32>, but",
    ),
    "lambda: returns another type than it declares": (
        """
        ¦%0 = rise.lambda (%a : !rise.scalar<f32>) -> !rise.scalar<i32> {
          rise.return %a : !rise.scalar<f32>
        }
        """,
        "'rise.lambda' op is declared as !rise.fun<scalar<f32> -> scalar<i32>>, but its "
        "parameters and its result make it !rise.fun<scalar<f32> -> scalar<f32>>",
    ),
    "lambda: no return": (
        """
        ¦%0 = rise.lambda (%a : !rise.scalar<f32>) -> !rise.scalar<f32> {
          %1 = rise.literal #rise.lit<0.0>
        }
        """,
        "expected the region of the lambda to end in 'rise.return' with one value",
    ),
    "lambda: return without a value": (
        """
        ¦%0 = rise.lambda (%a : !rise.scalar<f32>) -> !rise.scalar<f32> {
          rise.return
        }
        """,
        "expected the region of the lambda to end in 'rise.return' with one value",
    ),
    "return: type differs from the value's": (
        """
        %0 = rise.lambda (%a : !rise.scalar<f32>) -> !rise.scalar<f32> {
          rise.return ¦%a : !rise.scalar<i32>
        }
        """,
        "",
    ),
    "apply: no function": (
        "%0 = rise.apply ¦%x, %x",
        "'rise.apply' expected a function to apply, but found !rise.scalar<f32>",
    ),
    "apply: no argument": ("%0 = rise.apply ¦%f", "'rise.apply' needs at least one argument"),
    "apply: too many arguments": (
        "%0 = rise.apply ¦%f, %i, %x, %x",
        "passes 3 arguments to a function that takes at most 2",
    ),
    "apply: wrong argument": (
        "%0 = rise.apply ¦%f, %x",
        "expected argument 1 of type !rise.scalar<i32>, but found !rise.scalar<f32>",
    ),
    "apply: arguments in the wrong order": (
        "%0 = rise.apply ¦%f, %x, %i",
        "expected argument 1 of type !rise.scalar<i32>, but found !rise.scalar<f32>",
    ),
    "apply: wrong second argument": (
        "%0 = rise.apply ¦%f, %i, %i",
        "expected argument 2 of type !rise.scalar<f32>, but found !rise.scalar<i32>",
    ),
    "apply: undefined argument": (
        "%0 = rise.apply %f, ¦%nowhere",
        "%nowhere is used here before it is defined",
    ),
    "apply: no such result": ("%0 = rise.apply %f, ¦%i#1", "%i has 1 results, not 2"),
    "apply: wrong trailing type": (
        "%0 = rise.apply %f, %i, %x : ¦!rise.scalar<i32>",
        "this type is !rise.scalar<i32>, but the value has the type !rise.scalar<f32>",
    ),
    "apply: foreign argument": (
        "%0 = rise.apply ¦%f, %p",
        "expected argument 1 of type !rise.scalar<i32>, but found f32",
    ),
    "embed: operand that is no scalar": (
        """
        %0 = rise.embed(%x, ¦%xs) {
          rise.return %x : f32
        } : !rise.scalar<f32>
        """,
        "an embed takes scalars and vectors, but this is !rise.array<4, scalar<f32>>",
    ),
    "embed: result that is no scalar": (
        """
        %0 = rise.embed(%x) {
          rise.return %x : f32
        } : ¦!rise.array<4, scalar<f32>>
        """,
        "an embed returns a scalar or a vector, not !rise.array<4, scalar<f32>>",
    ),
    "embed: no result type": (
        """
        %0 = rise.embed(%x) {
          rise.return %x : f32
        }
        ¦%1 = rise.literal #rise.lit<0.0>
        """,
        "and the type of the embedded value",
    ),
    "embed: returns another type": (
        """
        ¦%0 = rise.embed(%x) {
          rise.return %x : f32
        } : !rise.scalar<f64>
        """,
        "'rise.embed' op expected a region that returns f64, but found one that returns f32",
    ),
    "embed: uses a value it does not list": (
        """
        %0 = rise.embed(%x) {
          rise.return ¦%p : f32
        } : !rise.scalar<f32>
        """,
        "p",
    ),
    "in: no RISE type": ("%0 = rise.in %m : ¦memref<4xf32>", "is not a RISE data type"),
    "in: function type": (
        "%0 = rise.in %m : ¦!rise.fun<scalar<f32> -> scalar<f32>>",
        "is not a RISE data type",
    ),
    "in: wrong length": (
        "¦%0 = rise.in %m : !rise.array<5, scalar<f32>>",
        "'rise.in' op expected memref<5xf32> for !rise.array<5, scalar<f32>>, "
        "but found memref<4xf32>",
    ),
    "in: wrong element type": (
        "¦%0 = rise.in %mi : !rise.array<4, scalar<f32>>",
        "expected memref<4xf32> for !rise.array<4, scalar<f32>>, but found memref<4xi32>",
    ),
    "in: wrong rank": (
        "¦%0 = rise.in %m : !rise.array<4, array<1, scalar<f32>>>",
        "expected memref<4x1xf32>",
    ),
    "in: too few buffers": (
        "¦%0 = rise.in %m : !rise.array<4, tuple<scalar<f32>, scalar<i32>>>",
        "one for each scalar in it, but found 1",
    ),
    "in: too many buffers": (
        "¦%0 = rise.in %m, %mi : !rise.array<4, scalar<f32>>",
        "expected 1 buffer for",
    ),
    "in: undefined buffer": (
        "%0 = rise.in ¦%nowhere : !rise.scalar<f32>",
        "%nowhere is used here before it is defined",
    ),
    "in: no type": (
        "%0 = rise.in %m\n¦%1 = rise.literal #rise.lit<0.0>",
        "and the RISE type of the input",
    ),
    "out: wrong length": (
        "¦rise.out %m5 <- %xs",
        "'rise.out' op expected memref<4xf32> for !rise.array<4, scalar<f32>>",
    ),
    "out: swapped buffers": (
        "¦rise.out %mi, %m <- %ps",
        "expected memref<4xf32> for !rise.array<4, tuple<scalar<f32>, scalar<i32>>>",
    ),
    "out: too few buffers": ("¦rise.out %m <- %ps", "expected 2 buffers for"),
    "out: a function": ("¦rise.out %m <- %f", "'rise.out' op"),
    "out: a plain value": ("¦rise.out %m <- %p", "'rise.out' op"),
    "out: not a buffer": ("¦rise.out %xs <- %xs", "'rise.out' op"),
    "out: no arrow": ("rise.out %m ¦%xs", "of '<-' and the value to store"),
    "lowering unit: returns a value": (
        """
        ¦rise.lowering_unit {
          rise.return %x : !rise.scalar<f32>
        }
        """,
        "must end in 'rise.return' without a value",
    ),
}


@pytest.mark.parametrize(
    ("text", "message"), REFUSED_CUSTOM.values(), ids=list(REFUSED_CUSTOM.keys())
)
def test_refused(text: str, message: str) -> None:
    assert_refused(VALUES + indent(dedent(text).strip("\n"), "        ") + "\n", message)


F32, I32 = "!rise.scalar<f32>", "!rise.scalar<i32>"

REFUSED_GENERIC = {
    "apply: wrong result": (
        f"""
        %f, %x = "test.op"() : () -> (!rise.fun<scalar<f32> -> scalar<f32>>, {F32})
        ¦%0 = "rise.apply"(%f, %x) : (!rise.fun<scalar<f32> -> scalar<f32>>, {F32}) -> {I32}
        """,
        "expected a result of type !rise.scalar<f32>, but found !rise.scalar<i32>",
    ),
    "apply: wrong argument": (
        f"""
        %f, %x = "test.op"() : () -> (!rise.fun<scalar<f32> -> scalar<f32>>, {I32})
        ¦%0 = "rise.apply"(%f, %x) : (!rise.fun<scalar<f32> -> scalar<f32>>, {I32}) -> {F32}
        """,
        "expected argument 1 of type !rise.scalar<f32>, but found !rise.scalar<i32>",
    ),
    "apply: no function": (
        f"""
        %x = "test.op"() : () -> {F32}
        ¦%0 = "rise.apply"(%x, %x) : ({F32}, {F32}) -> {F32}
        """,
        "'rise.apply' op",
    ),
    "apply: foreign function": (
        f"""
        %f, %x = "test.op"() : () -> (index, {F32})
        ¦%0 = "rise.apply"(%f, %x) : (index, {F32}) -> {F32}
        """,
        "'rise.apply' op",
    ),
    "apply: no argument": (
        """
        %f = "test.op"() : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        ¦%0 = "rise.apply"(%f) : (!rise.fun<scalar<f32> -> scalar<f32>>) -> \
!rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "needs at least one argument",
    ),
    "apply: no operands": (
        f"""
        ¦%0 = "rise.apply"() : () -> {F32}
        """,
        "'rise.apply' op",
    ),
    "apply: two results": (
        f"""
        %f, %x = "test.op"() : () -> (!rise.fun<scalar<f32> -> scalar<f32>>, {F32})
        ¦%0, %1 = "rise.apply"(%f, %x) : (!rise.fun<scalar<f32> -> scalar<f32>>, {F32}) -> \
({F32}, {F32})
        """,
        "'rise.apply' op",
    ),
    "apply: too many arguments": (
        f"""
        %f, %x = "test.op"() : () -> (!rise.fun<scalar<f32> -> scalar<f32>>, {F32})
        ¦%0 = "rise.apply"(%f, %x, %x) : (!rise.fun<scalar<f32> -> scalar<f32>>, {F32}, {F32}) \
-> {F32}
        """,
        "passes 2 arguments to a function that takes at most 1",
    ),
    "lambda: no parameters": (
        f"""
        ¦%0 = "rise.lambda"() ({{
          %1 = rise.literal #rise.lit<0.0>
          rise.return %1 : {F32}
        }}) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "needs at least one parameter",
    ),
    "lambda: parameter of a foreign type": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : f32):
          %1 = rise.literal #rise.lit<0.0>
          rise.return %1 : {F32}
        }}) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "must take and return RISE types, but f32 is not one",
    ),
    "lambda: gives a foreign value": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}):
          %1 = arith.constant 0.0 : f32
          rise.return %1 : f32
        }}) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "must take and return RISE types, but f32 is not one",
    ),
    "lambda: wrong type": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}):
          rise.return %a : {F32}
        }}) : () -> !rise.fun<scalar<i32> -> scalar<f32>>
        """,
        "is declared as !rise.fun<scalar<i32> -> scalar<f32>>",
    ),
    "lambda: two blocks": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}):
          rise.return %a : {F32}
        ^bb1(%b : {F32}):
          rise.return %b : {F32}
        }}) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "expected one block in the region of the lambda, but found 2",
    ),
    "lambda: empty region": (
        """
        ¦%0 = "rise.lambda"() ({
        }) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "'rise.lambda' op",
    ),
    "lambda: result is no function": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}):
          rise.return %a : {F32}
        }}) : () -> {F32}
        """,
        "'rise.lambda' op",
    ),
    "return: two values": (
        f"""
        %a, %b = "test.op"() : () -> ({F32}, {F32})
        ¦"rise.return"(%a, %b) : ({F32}, {F32}) -> ()
        """,
        "expected at most one value, but found 2",
    ),
    "lambda: returns two values": (
        f"""
        ¦%0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}, %b : {F32}):
          "rise.return"(%a, %b) : ({F32}, {F32}) -> ()
        }}) : () -> !rise.fun<scalar<f32> -> fun<scalar<f32> -> scalar<f32>>>
        """,
        "to end in 'rise.return' with one value",
    ),
    "return: not at the end": (
        f"""
        %0 = "rise.lambda"() ({{
        ^bb0(%a : {F32}):
          ¦"rise.return"(%a) : ({F32}) -> ()
          "rise.return"(%a) : ({F32}) -> ()
        }}) : () -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "'rise.return' op",
    ),
    "embed: block arguments differ from the operands": (
        f"""
        %x = "test.op"() : () -> {F32}
        ¦%0 = "rise.embed"(%x) ({{
        ^bb0(%a : f64):
          rise.return %a : f64
        }}) : ({F32}) -> !rise.scalar<f64>
        """,
        "found one that takes (f64)",
    ),
    "embed: too few block arguments": (
        f"""
        %x = "test.op"() : () -> {F32}
        ¦%0 = "rise.embed"(%x, %x) ({{
        ^bb0(%a : f32):
          rise.return %a : f32
        }}) : ({F32}, {F32}) -> {F32}
        """,
        "found one that takes (f32)",
    ),
    "embed: operand that is no scalar": (
        f"""
        %x = "test.op"() : () -> !rise.array<4, scalar<f32>>
        ¦%0 = "rise.embed"(%x) ({{
        ^bb0(%a : f32):
          rise.return %a : f32
        }}) : (!rise.array<4, scalar<f32>>) -> {F32}
        """,
        "'rise.embed' op",
    ),
    "embed: no return": (
        f"""
        ¦%0 = "rise.embed"() ({{
          %1 = arith.constant 0.0 : f32
        }}) : () -> {F32}
        """,
        "expected the region of the embed to end in 'rise.return' with one value",
    ),
    "embed: two blocks": (
        f"""
        ¦%0 = "rise.embed"() ({{
        ^bb0:
          %1 = arith.constant 0.0 : f32
          rise.return %1 : f32
        ^bb1:
          %2 = arith.constant 0.0 : f32
          rise.return %2 : f32
        }}) : () -> {F32}
        """,
        "expected one block in the region of the embed, but found 2",
    ),
    "embed: uses a value around it": (
        f"""
        %p = "test.op"() : () -> f32
        ¦%0 = "rise.embed"() ({{
          rise.return %p : f32
        }}) : () -> {F32}
        """,
        "",
    ),
    "literal: wrong result": (
        f"""
        ¦%0 = "rise.literal"() <{{value = #rise.lit<0.0>}}> : () -> {I32}
        """,
        "expected a result of type !rise.scalar<f32>, but found !rise.scalar<i32>",
    ),
    "literal: wrong length": (
        f"""
        ¦%0 = "rise.literal"() <{{value = #rise.lit<[0.0, 1.0]>}}> : () -> {F32}
        """,
        "expected a result of type !rise.array<2, scalar<f32>>, but found !rise.scalar<f32>",
    ),
    "literal: rows of different lengths": (
        """
        %0 = rise.literal #rise.lit<¦[[0.0, 1.0], [2.0]]>
        """,
        "[[0.0, 1.0], [2.0]] is not a literal of type f32: the elements of an array must have",
    ),
    "literal: no elements": (
        """
        %0 = rise.literal #rise.lit<¦[], scalar<i32>>
        """,
        "[] is not a literal of type i32: an array literal must have elements",
    ),
    "literal: no value": (
        f"""
        ¦%0 = "rise.literal"() : () -> {F32}
        """,
        "'rise.literal' op",
    ),
    "literal: value that is no literal": (
        f"""
        ¦%0 = "rise.literal"() <{{value = 0.0 : f32}}> : () -> {F32}
        """,
        "'rise.literal' op",
    ),
    "lowering unit: no return": (
        """
        ¦"rise.lowering_unit"() ({
          %1 = rise.literal #rise.lit<0.0>
        }) : () -> ()
        """,
        "must end in 'rise.return' without a value",
    ),
    "lowering unit: empty region": (
        """
        ¦"rise.lowering_unit"() ({
        }) : () -> ()
        """,
        "'rise.lowering_unit' op",
    ),
    "lowering unit: inside another": (
        """
        rise.lowering_unit {
          ¦rise.lowering_unit {
            rise.return
          }
          rise.return
        }
        """,
        "'rise.lowering_unit' op",
    ),
    "lowering unit: holds a foreign op": (
        """
        %x, %m = "test.op"() : () -> (f32, memref<f32>)
        rise.lowering_unit {
          ¦memref.store %x, %m[] : memref<f32>
          rise.return
        }
        """,
        "memref.store",
    ),
    "in: no buffers": (
        f"""
        ¦%0 = "rise.in"() : () -> {F32}
        """,
        "one for each scalar in it, but found 0",
    ),
    "in: not a buffer": (
        """
        %x = "test.op"() : () -> tensor<4xf32>
        ¦%0 = "rise.in"(%x) : (tensor<4xf32>) -> !rise.array<4, scalar<f32>>
        """,
        "'rise.in' op",
    ),
    "in: a function": (
        """
        %m = "test.op"() : () -> memref<f32>
        ¦%0 = "rise.in"(%m) : (memref<f32>) -> !rise.fun<scalar<f32> -> scalar<f32>>
        """,
        "'rise.in' op",
    ),
    "in: an open type": (
        """
        %m = "test.op"() : () -> memref<f32>
        ¦%0 = "rise.in"(%m) : (memref<f32>) -> !rise.var<"t">
        """,
        "'rise.in' op",
    ),
    "out: wrong shape": (
        """
        %m, %x = "test.op"() : () -> (memref<2x4xf32>, !rise.array<4, array<2, scalar<f32>>>)
        ¦"rise.out"(%m, %x) : (memref<2x4xf32>, !rise.array<4, array<2, scalar<f32>>>) -> ()
        """,
        "expected memref<4x2xf32> for !rise.array<4, array<2, scalar<f32>>>, "
        "but found memref<2x4xf32>",
    ),
    "out: a known length for a symbolic one": (
        """
        %m, %x = "test.op"() : () -> (memref<4xf32>, !rise.array<N, scalar<f32>>)
        ¦"rise.out"(%m, %x) : (memref<4xf32>, !rise.array<N, scalar<f32>>) -> ()
        """,
        "expected memref<Nxf32> for !rise.array<N, scalar<f32>>, but found memref<4xf32>",
    ),
}


@pytest.mark.parametrize(
    ("text", "message"), REFUSED_GENERIC.values(), ids=list(REFUSED_GENERIC.keys())
)
def test_generic_form_is_verified(text: str, message: str) -> None:
    assert_refused(text, message)


def test_the_region_of_an_embed_is_isolated() -> None:
    module = read("""
        %x = "test.op"() : () -> !rise.scalar<f32>
        %0 = rise.embed(%x) {
          rise.return %x : f32
        } : !rise.scalar<f32>
    """)
    (embed,) = [op for op in walk(module) if isinstance(op, EmbedOp)]
    assert embed.body.block.args[0] is not embed.arguments[0]

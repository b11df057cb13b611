"""The ops between the lowering phases: text and verifiers."""

import pytest
from dialect_text import assert_prints_as_written, assert_refused

from riselang.dialects.rise.codegen import CODEGEN_OPS
from riselang.dialects.rise.codegen_views import ViewOp

A4 = "!rise.array<4, scalar<f32>>"
I4 = "!rise.array<4, scalar<i32>>"
A12 = "!rise.array<12, scalar<f32>>"
V2 = "!rise.array<2, vector<2, scalar<f32>>>"
MATRIX = "!rise.array<16, array<16, scalar<bf16>>>"
A34 = "!rise.array<3, array<4, scalar<f32>>>"
A43 = "!rise.array<4, array<3, scalar<f32>>>"
PAIRS = "!rise.array<4, tuple<scalar<f32>, scalar<i32>>>"
PAIR_OF_ARRAYS = "!rise.tuple<array<4, scalar<f32>>, array<4, scalar<i32>>>"
PAIR = "!rise.tuple<scalar<f32>, scalar<i32>>"
F32, I32 = "!rise.scalar<f32>", "!rise.scalar<i32>"


def with_values(types: dict[str, str], *lines: str) -> str:
    made = [f'%{name} = "test.op"() : () -> {type}' for name, type in types.items()]
    return "\n".join([*made, *lines])


def floats(length: str) -> str:
    return f"!rise.array<{length}, scalar<f32>>"


def view(name: str, before: str, after: str, option: str = "") -> str:
    source, result = floats(before), floats(after)
    return with_values({"a": source}, f"%0 = rise.codegen.{name} %a {option}: {source} -> {result}")


ROUND_TRIPS = {
    "size": with_values({"n": "index"}, '%N = rise.codegen.size "N" = %n'),
    "cast of a buffer": with_values(
        {"m": "memref<4xf32>"}, f"%0 = rise.codegen.cast %m : memref<4xf32> -> {A4}"
    ),
    "cast of two buffers": with_values(
        {"a": "memref<4xf32>", "b": "memref<4xi32>"},
        f"%0 = rise.codegen.cast %a, %b : memref<4xf32>, memref<4xi32> -> {PAIRS}",
    ),
    "cast of a plain scalar": with_values(
        {"x": "f32"}, f"%0 = rise.codegen.cast %x : f32 -> {F32}"
    ),
    "cast to a plain scalar": with_values({"x": F32}, f"%0 = rise.codegen.cast %x : {F32} -> f32"),
    "cast of a boxed scalar": with_values(
        {"m": "memref<1xf32>"}, f"%0 = rise.codegen.cast %m : memref<1xf32> -> {F32}"
    ),
    "idx": with_values({"a": A34, "i": "index"}, f"%0 = rise.codegen.idx %a, %i : {A34} -> {A4}"),
    "zip": with_values({"a": A4, "b": I4}, f"%0 = rise.codegen.zip %a, %b : {A4}, {I4} -> {PAIRS}"),
    "tuple": with_values(
        {"a": F32, "b": I32}, f"%0 = rise.codegen.tuple %a, %b : {F32}, {I32} -> {PAIR}"
    ),
    "fst": with_values({"p": PAIR}, f"%0 = rise.codegen.fst %p : {PAIR} -> {F32}"),
    "snd": with_values({"p": PAIR}, f"%0 = rise.codegen.snd %p : {PAIR} -> {I32}"),
    "unzip": with_values({"p": PAIRS}, f"%0 = rise.codegen.unzip %p : {PAIRS} -> {PAIR_OF_ARRAYS}"),
    "unzipAcc": with_values(
        {"p": PAIR_OF_ARRAYS}, f"%0 = rise.codegen.unzipAcc %p : {PAIR_OF_ARRAYS} -> {PAIRS}"
    ),
    "split": with_values({"a": A12}, f"%0 = rise.codegen.split %a : {A12} -> {A34}"),
    "splitAcc": with_values({"a": A34}, f"%0 = rise.codegen.splitAcc %a : {A34} -> {A12}"),
    "join": with_values({"a": A34}, f"%0 = rise.codegen.join %a : {A34} -> {A12}"),
    "joinAcc": with_values({"a": A12}, f"%0 = rise.codegen.joinAcc %a : {A12} -> {A34}"),
    "transpose": with_values({"a": A34}, f"%0 = rise.codegen.transpose %a : {A34} -> {A43}"),
    "transposeAcc": with_values({"a": A34}, f"%0 = rise.codegen.transposeAcc %a : {A34} -> {A43}"),
    "slide": with_values(
        {"a": "!rise.array<9, scalar<f32>>"},
        "%0 = rise.codegen.slide %a step <2> : !rise.array<9, scalar<f32>> -> "
        "!rise.array<4, array<3, scalar<f32>>>",
    ),
    "pad": with_values(
        {"a": A4},
        f"%0 = rise.codegen.pad %a left <1> : {A4} -> !rise.array<7, scalar<f32>>",
    ),
    "zipAcc1": with_values({"p": PAIRS}, f"%0 = rise.codegen.zipAcc1 %p : {PAIRS} -> {A4}"),
    "zipAcc2": with_values({"p": PAIRS}, f"%0 = rise.codegen.zipAcc2 %p : {PAIRS} -> {I4}"),
    "mapread": with_values(
        {"a": A34},
        f"%0 = rise.codegen.mapread %a : {A34} -> {A34} {{",
        f"^bb0(%x: {A4}):",
        f"  rise.return %x : {A4}",
        "}",
    ),
    "mapAcc": with_values(
        {"a": A34},
        f"%0 = rise.codegen.mapAcc %a : {A34} -> {A34} {{",
        f"^bb0(%x: {A4}):",
        f"  %1 = rise.codegen.reverseAcc %x : {A4} -> {A4}",
        f"  rise.return %1 : {A4}",
        "}",
    ),
    "asVector": with_values(
        {"a": A4}, f"%0 = rise.codegen.asVector %a : {A4} -> !rise.array<2, vector<2, scalar<f32>>>"
    ),
    "asVectorAcc": with_values({"a": V2}, f"%0 = rise.codegen.asVectorAcc %a : {V2} -> {A4}"),
    "asScalar": with_values({"a": V2}, f"%0 = rise.codegen.asScalar %a : {V2} -> {A4}"),
    "asScalarAcc": with_values({"a": A4}, f"%0 = rise.codegen.asScalarAcc %a : {A4} -> {V2}"),
    "list": with_values(
        {"a": F32, "b": F32},
        f"%0 = rise.codegen.list %a, %b : {F32}, {F32} -> !rise.array<2, scalar<f32>>",
    ),
    "tensorMMA": with_values(
        {"a": MATRIX, "b": MATRIX, "c": "f32", "d": floats("8")},
        "rise.codegen.tensorMMA %a, %b, %c, %d {sizes = array<i64: 16, 2, 1, 1, 1, 2, 16>} : "
        f"{MATRIX}, {MATRIX}, f32, {floats('8')}",
    ),
    "tensorAttention": with_values(
        {
            "a": MATRIX,
            "b": MATRIX,
            "c": MATRIX,
            "d": "f32",
            "e": "f32",
            "g": "index",
            "f": floats("8"),
        },
        "rise.codegen.tensorAttention %a, %b, %c, %d, %e, %g, %f "
        "{sizes = array<i64: 16, 2, 1, 1, 2, 32, 16>} : "
        f"{MATRIX}, {MATRIX}, {MATRIX}, f32, f32, index, {floats('8')}",
    ),
    "assign": with_values({"a": F32, "b": F32}, f"rise.codegen.assign %a, %b : {F32}, {F32}"),
    "reverse": view("reverse", "4", "4"),
    "reverseAcc": view("reverseAcc", "4", "4"),
    "prefetch": view("prefetch", "4", "4", "by <2> "),
    "take": view("take", "6", "4"),
    "takeAcc": view("takeAcc", "4", "6"),
    "drop": view("drop", "6", "4"),
    "padWrap": view("padWrap", "4", "7", "left <1> "),
    "padReflect": view("padReflect", "4", "7", "left <1> "),
    "concat": with_values(
        {"a": A4, "b": floats("3")},
        f"%0 = rise.codegen.concat %a, %b : {A4}, {floats('3')} -> {floats('7')}",
    ),
    "padConst": with_values(
        {"c": F32, "a": A4},
        f"%0 = rise.codegen.padConst %c, %a left <1> : {F32}, {A4} -> {floats('6')}",
    ),
    "gather": with_values(
        {"i": "!rise.array<3, idx<4>>", "a": A4},
        f"%0 = rise.codegen.gather %i, %a : !rise.array<3, idx<4>>, {A4} -> {floats('3')}",
    ),
    "sliceAt": with_values(
        {"a": floats("6"), "i": "index"},
        f"%0 = rise.codegen.sliceAt %a, %i : {floats('6')} -> {A4}",
    ),
    "generate": with_values(
        {},
        "%0 = rise.codegen.generate -> !rise.array<4, idx<4>> {\n"
        "^bb0(%i: !rise.idx<4>):\n  rise.return %i : !rise.idx<4>\n}",
    ),
    "cast of an index": with_values(
        {"i": "index"}, "%0 = rise.codegen.cast %i : index -> !rise.idx<4>"
    ),
}


@pytest.mark.parametrize("text", ROUND_TRIPS.values(), ids=ROUND_TRIPS.keys())
def test_round_trip(text: str) -> None:
    assert_prints_as_written(text)


def test_every_op_is_in_the_table() -> None:
    """Those of views have a test of their own, made from the registry."""
    written = [op for op in CODEGEN_OPS if not issubclass(op, ViewOp)]
    names = {op.name.removeprefix("rise.codegen.") for op in written}
    assert names <= {name.split()[0] for name in ROUND_TRIPS}


REFUSED = {
    "take: more than there is": view("take", "4", "6").replace("%0", "¦%0", 1),
    "padWrap: too long": view("padWrap", "4", "4", "left <1> ").replace("%0", "¦%0", 1),
    "concat: wrong length": with_values(
        {"a": A4}, f"¦%0 = rise.codegen.concat %a, %a : {A4}, {A4} -> {floats('7')}"
    ),
    "padConst: another type": with_values(
        {"c": "!rise.scalar<i32>", "a": A4},
        f"¦%0 = rise.codegen.padConst %c, %a left <1> : !rise.scalar<i32>, {A4} -> {floats('6')}",
    ),
    "gather: indices of another array": with_values(
        {"i": "!rise.array<3, idx<5>>", "a": A4},
        f"¦%0 = rise.codegen.gather %i, %a : !rise.array<3, idx<5>>, {A4} -> {floats('3')}",
    ),
    "sliceAt: other elements": with_values(
        {"a": floats("6"), "i": "index"},
        f"¦%0 = rise.codegen.sliceAt %a, %i : {floats('6')} -> !rise.array<4, scalar<i32>>",
    ),
    "cast: a float as an index": with_values(
        {"x": "f32"}, "¦%0 = rise.codegen.cast %x : f32 -> !rise.idx<4>"
    ),
    "cast: wrong shape": with_values(
        {"m": "memref<5xf32>"}, f"¦%0 = rise.codegen.cast %m : memref<5xf32> -> {A4}"
    ),
    "cast: too few buffers": with_values(
        {"m": "memref<4xf32>"}, f"¦%0 = rise.codegen.cast %m : memref<4xf32> -> {PAIRS}"
    ),
    "cast: to another scalar": with_values(
        {"x": F32}, f"¦%0 = rise.codegen.cast %x : {F32} -> i32"
    ),
    "cast: of another scalar": with_values(
        {"x": "i32"}, f"¦%0 = rise.codegen.cast %x : i32 -> {F32}"
    ),
    "cast: of an array to a scalar": with_values(
        {"x": A4}, f"¦%0 = rise.codegen.cast %x : {A4} -> f32"
    ),
    "cast: of nothing to data": with_values({}, f"¦%0 = rise.codegen.cast -> {A4}"),
    "idx: wrong result": with_values(
        {"a": A34, "i": "index"}, f"¦%0 = rise.codegen.idx %a, %i : {A34} -> {F32}"
    ),
    "zip: different lengths": with_values(
        {"a": A4, "b": A12},
        f"¦%0 = rise.codegen.zip %a, %b : {A4}, {A12} -> "
        "!rise.array<4, tuple<scalar<f32>, scalar<f32>>>",
    ),
    "zip: swapped components": with_values(
        {"a": I4, "b": A4}, f"¦%0 = rise.codegen.zip %a, %b : {I4}, {A4} -> {PAIRS}"
    ),
    "tuple: wrong result": with_values(
        {"a": I32, "b": F32}, f"¦%0 = rise.codegen.tuple %a, %b : {I32}, {F32} -> {PAIR}"
    ),
    "fst: wrong component": with_values(
        {"p": PAIR}, f"¦%0 = rise.codegen.fst %p : {PAIR} -> {I32}"
    ),
    "snd: wrong component": with_values(
        {"p": PAIR}, f"¦%0 = rise.codegen.snd %p : {PAIR} -> {F32}"
    ),
    "fst: no pair": with_values({"p": F32}, f"¦%0 = rise.codegen.fst %p : {F32} -> {F32}"),
    "unzip: no array of pairs": with_values(
        {"p": A4}, f"¦%0 = rise.codegen.unzip %p : {A4} -> {PAIR_OF_ARRAYS}"
    ),
    "unzipAcc: the wrong way": with_values(
        {"p": PAIRS}, f"¦%0 = rise.codegen.unzipAcc %p : {PAIRS} -> {PAIR_OF_ARRAYS}"
    ),
    "split: wrong lengths": with_values(
        {"a": A12}, f"¦%0 = rise.codegen.split %a : {A12} -> !rise.array<3, array<5, scalar<f32>>>"
    ),
    "split: the wrong way": with_values(
        {"a": A34}, f"¦%0 = rise.codegen.split %a : {A34} -> {A12}"
    ),
    "splitAcc: the wrong way": with_values(
        {"a": A12}, f"¦%0 = rise.codegen.splitAcc %a : {A12} -> {A34}"
    ),
    "join: wrong length": with_values(
        {"a": A34}, f"¦%0 = rise.codegen.join %a : {A34} -> !rise.array<7, scalar<f32>>"
    ),
    "joinAcc: the wrong way": with_values(
        {"a": A34}, f"¦%0 = rise.codegen.joinAcc %a : {A34} -> {A12}"
    ),
    "transpose: not swapped": with_values(
        {"a": A34}, f"¦%0 = rise.codegen.transpose %a : {A34} -> {A34}"
    ),
    "transposeAcc: not swapped": with_values(
        {"a": A34}, f"¦%0 = rise.codegen.transposeAcc %a : {A34} -> {A34}"
    ),
    "slide: wrong step": with_values(
        {"a": "!rise.array<9, scalar<f32>>"},
        "¦%0 = rise.codegen.slide %a step <1> : !rise.array<9, scalar<f32>> -> "
        "!rise.array<4, array<3, scalar<f32>>>",
    ),
    "pad: shorter than its source": with_values(
        {"a": A12}, f"¦%0 = rise.codegen.pad %a left <1> : {A12} -> {A4}"
    ),
    "pad: more on the left than there is": with_values(
        {"a": A4},
        f"¦%0 = rise.codegen.pad %a left <9> : {A4} -> !rise.array<7, scalar<f32>>",
    ),
    "pad: other elements": with_values(
        {"a": I4},
        f"¦%0 = rise.codegen.pad %a left <1> : {I4} -> !rise.array<7, scalar<f32>>",
    ),
    "zipAcc1: wrong component": with_values(
        {"p": PAIRS}, f"¦%0 = rise.codegen.zipAcc1 %p : {PAIRS} -> {I4}"
    ),
    "zipAcc2: wrong component": with_values(
        {"p": PAIRS}, f"¦%0 = rise.codegen.zipAcc2 %p : {PAIRS} -> {A4}"
    ),
    "zipAcc1: no pairs": with_values({"p": A4}, f"¦%0 = rise.codegen.zipAcc1 %p : {A4} -> {A4}"),
    "mapread: region takes another element": with_values(
        {"a": A34},
        f"¦%0 = rise.codegen.mapread %a : {A34} -> {A34} {{",
        f"^bb0(%x: {A12}):",
        f"  rise.return %x : {A12}",
        "}",
    ),
    "mapread: wrong result": with_values(
        {"a": A34},
        f"¦%0 = rise.codegen.mapread %a : {A34} -> {A43} {{",
        f"^bb0(%x: {A4}):",
        f"  rise.return %x : {A4}",
        "}",
    ),
    "mapread: no return": with_values(
        {"a": A34},
        f"¦%0 = rise.codegen.mapread %a : {A34} -> {A34} {{",
        f"^bb0(%x: {A4}):",
        "}",
    ),
    "mapread: returns a plain value": with_values(
        {"a": A4},
        f"¦%0 = rise.codegen.mapread %a : {A4} -> {A4} {{",
        f"^bb0(%x: {F32}):",
        f"  %1 = rise.codegen.cast %x : {F32} -> f32",
        "  rise.return %1 : f32",
        "}",
    ),
    "list: another length": with_values(
        {"a": F32}, f"¦%0 = rise.codegen.list %a : {F32} -> !rise.array<2, scalar<f32>>"
    ),
    "list: another element": with_values(
        {"a": F32}, f"¦%0 = rise.codegen.list %a : {F32} -> !rise.array<1, scalar<i32>>"
    ),
    "asVector: wrong length": with_values(
        {"a": A4},
        f"¦%0 = rise.codegen.asVector %a : {A4} -> !rise.array<2, vector<3, scalar<f32>>>",
    ),
    "mapAcc: wrong result": with_values(
        {"a": A34},
        f"¦%0 = rise.codegen.mapAcc %a : {A34} -> {A43} {{",
        f"^bb0(%x: {A4}):",
        f"  rise.return %x : {A4}",
        "}",
    ),
    "assign: other types": with_values(
        {"a": F32, "b": I32}, f"¦rise.codegen.assign %a, %b : {F32}, {I32}"
    ),
    "assign: arrays": with_values({"a": A4, "b": A4}, f"¦rise.codegen.assign %a, %b : {A4}, {A4}"),
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=list(REFUSED.keys()))
def test_refused(text: str) -> None:
    op = text[text.index("¦") + 1 :].split(" (")[0].removeprefix("%0 = ").split()[0]
    assert_refused(text, f"'{op}' op ")


def test_refusals_say_what_is_wrong() -> None:
    messages = {
        "zip: different lengths": "zips arrays of different lengths 4 and 12",
        "fst: wrong component": "are not related by fst",
        "zipAcc1: no pairs": "expected an array of pairs, but found !rise.array<4, scalar<f32>>",
        "idx: wrong result": "expected a result of type !rise.array<4, scalar<f32>>",
        "assign: other types": "stores a value of type !rise.scalar<f32> to a target of type",
        "mapread: region takes another element": "expected a region that takes one element of",
        "mapread: no return": "expected the region of the mapread to end in 'rise.return' with one "
        "value",
        "cast: to another scalar": "cannot cast",
    }
    for name, message in messages.items():
        assert_refused(REFUSED[name], message)


@pytest.mark.parametrize(
    "text",
    [
        with_values(
            {"a": F32, "i": "index"},
            f'¦%0 = "rise.codegen.idx"(%a, %i) : ({F32}, index) -> {F32}',
        ),
        with_values(
            {"a": A4, "i": "i32"}, f'¦%0 = "rise.codegen.idx"(%a, %i) : ({A4}, i32) -> {F32}'
        ),
        with_values(
            {"a": A4, "f": "f32"}, f'¦%0 = "rise.codegen.zip"(%a, %f) : ({A4}, f32) -> {PAIRS}'
        ),
        with_values({"a": A12}, f'¦%0 = "rise.codegen.slide"(%a) : ({A12}) -> {A34}'),
        with_values({"a": A12}, f'¦%0 = "rise.codegen.pad"(%a) : ({A12}) -> {A12}'),
        with_values({"a": F32}, f'¦%0 = "rise.codegen.zipAcc1"(%a) : ({F32}) -> {F32}'),
        with_values({"a": A4}, f'¦%0 = "rise.codegen.mapread"(%a) ({{\n}}) : ({A4}) -> {A4}'),
        with_values({"x": "f32"}, '¦"rise.codegen.assign"(%x, %x) : (f32, f32) -> ()'),
    ],
)
def test_generic_form_is_verified(text: str) -> None:
    op = text[text.index("¦") :].split('"')[1]
    assert_refused(text, f"'{op}' op ")

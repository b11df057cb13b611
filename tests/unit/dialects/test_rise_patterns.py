"""One op for each pattern: text, types and verifiers."""

import pytest
from dialect_text import assert_prints_as_written, assert_refused, printed, read
from xdsl.dialects.func import FuncOp

from making.pattern_reference import REFERENCE
from riselang.dialects.module import module_text
from riselang.dialects.rise.pattern_ops import PATTERN_OPS
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.type_printer import format_type
from riselang.notation.program import parse_term
from riselang.term.from_dialect import read_units
from riselang.term.to_dialect import program_module

SCALARS = "#rise.scalar<f32> #rise.scalar<i32>"
PATTERN_TEXTS = {
    "map": f"#rise.nat<4> {SCALARS}",
    "mapSeq": f"#rise.nat<4> {SCALARS}",
    "mapPar": f"#rise.nat<4> {SCALARS}",
    "reduce": f"#rise.nat<4> {SCALARS}",
    "reduceSeq": f"#rise.nat<4> {SCALARS}",
    "zip": f"#rise.nat<4> {SCALARS}",
    "unzip": f"#rise.nat<4> {SCALARS}",
    "tuple": SCALARS,
    "fst": SCALARS,
    "snd": SCALARS,
    "split": "#rise.nat<3> #rise.nat<4> #rise.scalar<f32>",
    "join": "#rise.nat<3> #rise.nat<4> #rise.scalar<f32>",
    "transpose": "#rise.nat<3> #rise.nat<4> #rise.scalar<f32>",
    "slide": "#rise.nat<4> #rise.nat<3> #rise.nat<2> #rise.scalar<f32>",
    "pad": "#rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>",
    "scan": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "reverse": "#rise.nat<4> #rise.scalar<f32>",
    "padConst": "#rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>",
    "padWrap": "#rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>",
    "padReflect": "#rise.nat<4> #rise.nat<1> #rise.nat<2> #rise.scalar<f32>",
    "prefetch": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "take": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "drop": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "concat": "#rise.nat<4> #rise.nat<3> #rise.scalar<f32>",
    "at": "#rise.nat<4> #rise.scalar<f32>",
    "sliceAt": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "updateAt": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "gather": "#rise.nat<4> #rise.nat<3> #rise.scalar<f32>",
    "reorder": "#rise.nat<4> #rise.scalar<f32>",
    "scatter": "#rise.nat<4> #rise.nat<3> #rise.scalar<f32>",
    "scatterWith": "#rise.nat<4> #rise.nat<3> #rise.scalar<f32>",
    "generate": "#rise.nat<4> #rise.scalar<f32>",
    "iterate": "#rise.nat<2> #rise.scalar<f32>",
    "while": "#rise.scalar<f32>",
    "sort": "#rise.nat<4> #rise.scalar<f32>",
    "clampIdx": "#rise.nat<4> #rise.scalar<i32>",
    "checkIdx": "#rise.nat<4> #rise.scalar<i32>",
    "fromIdx": "#rise.nat<4>",
    "sizeOf": "#rise.nat<4> #rise.scalar<f32>",
    "ifAtLeast": "#rise.nat<4> #rise.nat<3> #rise.scalar<f32>",
    "mapSeqUnroll": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "reduceSeqUnroll": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "scanSeq": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "iterateSeq": "#rise.nat<2> #rise.scalar<f32>",
    "reducePar": "#rise.nat<4> #rise.scalar<f32>",
    "toMem": '"stack" #rise.scalar<f32>',
    "asVector": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "asScalar": "#rise.nat<2> #rise.nat<4> #rise.scalar<f32>",
    "vectorFromScalar": "#rise.nat<2> #rise.scalar<f32>",
    "circularBuffer": "#rise.nat<4> #rise.nat<3> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "rotateValues": "#rise.nat<3> #rise.nat<4> #rise.scalar<f32>",
    "tensorMMA": "#rise.nat<16> #rise.nat<2> #rise.nat<1> #rise.nat<2> #rise.nat<1> #rise.nat<2> "
    "#rise.nat<16> #rise.scalar<bf16> #rise.scalar<f32>",
    "tensorAttention": "#rise.nat<16> #rise.nat<2> #rise.nat<1> #rise.nat<1> #rise.nat<2> "
    "#rise.nat<32> #rise.nat<8> #rise.scalar<bf16>",
    "mma": "#rise.nat<2> #rise.nat<1> #rise.nat<3> #rise.nat<4> #rise.nat<5> #rise.scalar<i8> "
    "#rise.scalar<i32>",
    "mapBlock": "#rise.nat<1> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "mapThread": "#rise.nat<1> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "mapWarp": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "shard": "#rise.nat<1> #rise.nat<4> #rise.scalar<f32>",
    "mapRank": "#rise.nat<1> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "reduceRank": "#rise.nat<1> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "mapLane": "#rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
    "mapLaneExchange": "#rise.nat<2> #rise.nat<3> #rise.nat<4> #rise.scalar<f32> #rise.scalar<i32>",
}
"""Each pattern with sizes that differ, so that swapped ones show."""

NOTATION = {
    "map": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "mapSeq": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "mapPar": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "reduce": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> i32",
    "reduceSeq": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> i32",
    "zip": "4.f32 -> 4.i32 -> 4.(f32 x i32)",
    "unzip": "4.(f32 x i32) -> (4.f32 x 4.i32)",
    "tuple": "f32 -> i32 -> (f32 x i32)",
    "fst": "(f32 x i32) -> f32",
    "snd": "(f32 x i32) -> i32",
    "split": "12.f32 -> 4.3.f32",
    "join": "3.4.f32 -> 12.f32",
    "transpose": "3.4.f32 -> 4.3.f32",
    "slide": "9.f32 -> 4.3.f32",
    "pad": "4.f32 -> 7.f32",
    "scan": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> 4.i32",
    "reverse": "4.f32 -> 4.f32",
    "padConst": "f32 -> 4.f32 -> 7.f32",
    "padWrap": "4.f32 -> 7.f32",
    "padReflect": "4.f32 -> 7.f32",
    "prefetch": "4.f32 -> 4.f32",
    "take": "6.f32 -> 2.f32",
    "drop": "6.f32 -> 4.f32",
    "concat": "4.f32 -> 3.f32 -> 7.f32",
    "at": "idx[4] -> 4.f32 -> f32",
    "sliceAt": "idx[5] -> 6.f32 -> 2.f32",
    "updateAt": "idx[5] -> 2.f32 -> 6.f32 -> 6.f32",
    "gather": "3.idx[4] -> 4.f32 -> 3.f32",
    "reorder": "(idx[4] -> idx[4]) -> 4.f32 -> 4.f32",
    "scatter": "3.idx[4] -> 4.f32 -> 3.f32 -> 4.f32",
    "scatterWith": "(f32 -> f32 -> f32) -> 3.idx[4] -> 4.f32 -> 3.f32 -> 4.f32",
    "generate": "(idx[4] -> f32) -> 4.f32",
    "iterate": "(f32 -> f32) -> f32 -> f32",
    "while": "(f32 -> i1) -> (f32 -> f32) -> f32 -> f32",
    "sort": "(f32 -> f32 -> i1) -> 4.f32 -> 4.f32",
    "clampIdx": "i32 -> idx[4]",
    "checkIdx": "i32 -> idx[4]",
    "fromIdx": "idx[4] -> index",
    "sizeOf": "4.f32 -> index",
    "ifAtLeast": "(index -> f32) -> (index -> f32) -> f32",
    "mapSeqUnroll": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "reduceSeqUnroll": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> i32",
    "scanSeq": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> 4.i32",
    "iterateSeq": "(f32 -> f32) -> f32 -> f32",
    "reducePar": "(f32 -> f32 -> f32) -> f32 -> 4.f32 -> f32",
    "toMem": "f32 -> f32",
    "asVector": "8.f32 -> 4.vec[2, f32]",
    "asScalar": "4.vec[2, f32] -> 8.f32",
    "vectorFromScalar": "f32 -> vec[2, f32]",
    "circularBuffer": "(f32 -> i32) -> 6.f32 -> 4.3.i32",
    "rotateValues": "(f32 -> f32) -> 6.f32 -> 4.3.f32",
    "tensorMMA": "(f32 -> (bf16 x bf16) -> f32) -> f32 -> 16.16.bf16 -> 32.16.bf16 -> 2.32.8.f32",
    "tensorAttention": "f32 -> f32 -> index -> 16.8.bf16 -> 32.8.bf16 -> 32.16.bf16 -> 1.32.8.f32",
    "mma": "(i32 -> (i8 x i8) -> i32) -> i32 -> 5.3.2.i8 -> 5.8.i8 -> 3.4.i32",
    "mapBlock": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "mapThread": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "mapWarp": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "shard": "4.f32 -> 4.f32",
    "mapRank": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "reduceRank": "(f32 -> i32 -> i32) -> i32 -> 4.f32 -> i32",
    "mapLane": "(f32 -> i32) -> 4.f32 -> 4.i32",
    "mapLaneExchange": "(f32 -> 4.2.i32) -> 6.f32 -> 6.4.2.i32",
}

LOOPS = [name for name in PATTERN_TEXTS if PATTERNS[name].has_target]
VIEWS = [name for name in PATTERN_TEXTS if PATTERNS[name].role is Role.VIEW]


def test_the_tables_agree() -> None:
    assert PATTERN_TEXTS.keys() == NOTATION.keys() <= PATTERN_OPS.keys()


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PATTERN_OPS)
def test_the_example_of_each_pattern_is_read_back(name: str) -> None:
    example = REFERENCE[name].example
    term = parse_term(f"fun(({example.parameters}), {example.expression})")
    text = module_text(program_module(term, "example"))
    assert f"rise.{name} " in text
    (function,) = read(text).body.block.ops
    assert isinstance(function, FuncOp)
    ((_, unit),) = read_units(function)
    assert unit.term == term


@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_round_trip(name: str) -> None:
    assert_prints_as_written(f"%0 = rise.{name} {PATTERN_TEXTS[name]}")


@pytest.mark.parametrize("name", NOTATION)
def test_type(name: str) -> None:
    (op,) = read(f"%0 = rise.{name} {PATTERN_TEXTS[name]}").body.block.ops
    assert format_type(op.results[0].type) == NOTATION[name]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("to", ["affine", "scf"])
def test_loop_dialect_round_trips(name: str, to: str) -> None:
    assert_prints_as_written(f'%0 = rise.{name} {{to = "{to}"}} {PATTERN_TEXTS[name]}')


@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_other_attributes_round_trip(name: str) -> None:
    assert_prints_as_written(f'%0 = rise.{name} {{note = "kept"}} {PATTERN_TEXTS[name]}')


@pytest.mark.parametrize(
    "text",
    [
        "%0 = rise.split #rise.nat<M> #rise.nat<N> #rise.array<K, scalar<f32>>",
        "%0 = rise.split #rise.nat<4> #rise.nat<N * 2> #rise.scalar<f32>",
        "%0 = rise.join #rise.nat<N floordiv 4> #rise.nat<4> #rise.scalar<i1>",
        "%0 = rise.slide #rise.nat<N> #rise.nat<3> #rise.nat<1> #rise.scalar<f32>",
        "%0 = rise.pad #rise.nat<N> #rise.nat<0> #rise.nat<K> #rise.scalar<f32>",
        "%0 = rise.map #rise.nat<0> #rise.scalar<f32> #rise.scalar<f32>",
        "%0 = rise.mapSeq #rise.nat<N> #rise.tuple<scalar<f32>, scalar<f32>> "
        "#rise.array<2, scalar<f64>>",
    ],
)
def test_symbolic_and_nested_attributes_round_trip(text: str) -> None:
    assert_prints_as_written(text)


@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_attributes_without_the_dialect_prefix(name: str) -> None:
    attributes = PATTERN_TEXTS[name]
    short = attributes.replace("#rise.", "#")
    assert printed(f"%0 = rise.{name} {short}") == f"%0 = rise.{name} {attributes}"


@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_the_type_may_be_written_behind_a_pattern(name: str) -> None:
    text = f"%0 = rise.{name} {PATTERN_TEXTS[name]}"
    (op,) = read(text).body.block.ops
    assert printed(f"{text} : {op.results[0].type}") == text


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", PATTERN_TEXTS)
def test_attributes_with_hash_in_generic_form(name: str) -> None:
    """`t = #rise.scalar<f32>`, as the seeds write types, means the type."""
    text = f"%0 = rise.{name} {PATTERN_TEXTS[name]}"
    (op,) = read(text).body.block.ops
    attributes = zip(op.SPEC.parameters, PATTERN_TEXTS[name].split(" "), strict=True)  # type: ignore[attr-defined]
    properties = ", ".join(f"{parameter} = {value}" for parameter, value in attributes)
    generic = f'%0 = "rise.{name}"() <{{{properties}}}> : () -> {op.results[0].type}'
    assert printed(generic) == text


def test_a_wrong_type_behind_a_pattern_is_refused() -> None:
    assert_refused(
        "%0 = rise.fst #rise.scalar<f32> #rise.scalar<i32> : ¦!rise.scalar<f32>",
        "this type is !rise.scalar<f32>, but",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "%0 = rise.map ¦#rise.scalar<f32> #rise.scalar<f32>",
            "expected a size such as #rise.nat<4> for attribute n of rise.map, but found "
            "#rise.scalar",
        ),
        (
            "%0 = rise.map #rise.nat<4> ¦#rise.nat<4> #rise.scalar<f32>",
            "expected a data type such as #rise.scalar<f32> for attribute s of rise.map",
        ),
        (
            "%0 = rise.map #rise.nat<4> #rise.scalar<f32>\n¦%1 = rise.literal #rise.lit<0.0>",
            "expected a data type such as #rise.scalar<f32> for attribute t of rise.map",
        ),
        (
            "%0 = rise.map #rise.nat<4> #rise.fun¦<scalar<f32> -> scalar<f32>> #rise.scalar<f32>",
            "attribute s of rise.map must be a data type",
        ),
        ("%0 = rise.split #rise.nat<¦> #rise.nat<4> #rise.scalar<f32>", "this is not a size"),
        ("%0 = rise.fst #rise.scalar¦<i3> #rise.scalar<f32>", "i3 is not a scalar type"),
        ("%0 = rise.fst ¦#rise.unknown<i3> #rise.scalar<f32>", "but found #rise.unknown"),
    ],
)
def test_refused_while_parsing(text: str, message: str) -> None:
    assert_refused(text, message)


@pytest.mark.parametrize("name", VIEWS)
def test_a_pattern_without_a_loop_takes_no_loop_dialect(name: str) -> None:
    error = f"rise.{name} generates no loop, so it has no attribute 'to'"
    assert_refused(f'%0 = rise.{name} {{to = "affine"}} {PATTERN_TEXTS[name]}¦', error)


@pytest.mark.parametrize("name", LOOPS)
def test_unknown_loop_dialects_are_refused(name: str) -> None:
    text = f'¦%0 = rise.{name} {{to = "gpu"}} {PATTERN_TEXTS[name]}'
    assert_refused(text, 'expected the attribute \'to\' to be "affine" or "scf", but found "gpu"')


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_dialect_is_a_string(name: str) -> None:
    assert_refused(f"¦%0 = rise.{name} {{to = 4 : i32}} {PATTERN_TEXTS[name]}", f"'rise.{name}' op")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "¦%0 = rise.split #rise.nat<0> #rise.nat<4> #rise.scalar<f32>",
            "'rise.split' op m must be at least 1, but is 0",
        ),
        (
            "¦%0 = rise.slide #rise.nat<4> #rise.nat<0> #rise.nat<1> #rise.scalar<f32>",
            "'rise.slide' op sz must be at least 1, but is 0",
        ),
        (
            "¦%0 = rise.slide #rise.nat<4> #rise.nat<3> #rise.nat<0> #rise.scalar<f32>",
            "'rise.slide' op sp must be at least 1, but is 0",
        ),
        (
            "¦%0 = rise.pad #rise.nat<0> #rise.nat<1> #rise.nat<1> #rise.scalar<f32>",
            "'rise.pad' op n must be at least 1, but is 0",
        ),
        (
            "¦%0 = rise.pad #rise.nat<9> #rise.nat<-1> #rise.nat<1> #rise.scalar<f32>",
            "'rise.pad' op l is a length, which cannot be negative, but is -1",
        ),
        (
            '¦%0 = rise.fst #rise.var<"a"> #rise.scalar<f32>',
            "'rise.fst' op expected a closed type for attribute s",
        ),
    ],
)
def test_refused_by_the_verifier(text: str, message: str) -> None:
    assert_refused(text, message)


def test_a_negative_length_gives_a_located_error() -> None:
    """The type cannot be made, so the parser reports it."""
    assert_refused(
        "%0 = rise.map #rise.nat<-4> #rise.scalar<f32> #rise.scalar<f32>¦", "negative length -4"
    )


F32_TO_F32 = "!rise.fun<tuple<scalar<f32>, scalar<f32>> -> scalar<f32>>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '¦%0 = "rise.fst"() <{s = !rise.scalar<f32>, t = !rise.scalar<i32>}> '
            f": () -> {F32_TO_F32}",
            "expected a result of type "
            "!rise.fun<tuple<scalar<f32>, scalar<i32>> -> scalar<f32>>, but found",
        ),
        (f'¦%0 = "rise.fst"() <{{s = !rise.scalar<f32>}}> : () -> {F32_TO_F32}', "'rise.fst' op"),
        (
            f'¦%0 = "rise.fst"() <{{s = !rise.scalar<f32>, t = 4 : i32}}> : () -> {F32_TO_F32}',
            "'rise.fst' op",
        ),
        (
            f'¦%0 = "rise.fst"() <{{s = !rise.scalar<f32>, t = f32}}> : () -> {F32_TO_F32}',
            "'rise.fst' op",
        ),
        (
            f'¦%0 = "rise.fst"() <{{s = !rise.scalar<f32>, t = #rise.nat<4>}}> '
            f": () -> {F32_TO_F32}",
            "'rise.fst' op",
        ),
        (
            '¦%0 = "rise.fst"() <{s = !rise.scalar<f32>, t = !rise.scalar<f32>, '
            f'to = "affine"}}> : () -> {F32_TO_F32}',
            "'rise.fst' op",
        ),
        (
            '¦%0 = "rise.fst"() <{s = !rise.scalar<f32>, t = !rise.scalar<f32>}> '
            ": () -> !rise.scalar<f32>",
            "'rise.fst' op",
        ),
        (
            '¦%0 = "rise.split"() <{m = 4 : i64, n = #rise.nat<4>, t = !rise.scalar<f32>}> '
            ": () -> !rise.fun<array<16, scalar<f32>> -> array<4, array<4, scalar<f32>>>>",
            "'rise.split' op",
        ),
        (
            '¦%0 = "rise.split"() <{m = #rise.nat<4>, n = #rise.nat<3>, t = !rise.scalar<f32>}> '
            ": () -> !rise.fun<array<12, scalar<f32>> -> array<4, array<3, scalar<f32>>>>",
            "'rise.split' op expected a result of type",
        ),
        (
            '¦%0 = "rise.join"() <{n = #rise.nat<-4>, m = #rise.nat<-3>, t = !rise.scalar<f32>}> '
            ": () -> !rise.fun<array<12, scalar<f32>> -> array<4, array<3, scalar<f32>>>>",
            "'rise.join' op",
        ),
        (
            '¦%0 = "rise.mapSeq"() <{n = #rise.nat<4>, s = !rise.scalar<f32>, '
            't = !rise.scalar<f32>, to = "cuda"}> : () -> !rise.fun<fun<scalar<f32> -> '
            "scalar<f32>> -> fun<array<4, scalar<f32>> -> array<4, scalar<f32>>>>",
            'but found "cuda"',
        ),
        (
            '¦%0 = "rise.map"() <{n = #rise.nat<4>, s = '
            "!rise.fun<scalar<f32> -> scalar<f32>>, t = !rise.scalar<f32>}> "
            f": () -> {F32_TO_F32}",
            "'rise.map' op",
        ),
    ],
)
def test_generic_form_is_verified(text: str, message: str) -> None:
    assert_refused(text, message)


def test_let_is_no_op_of_the_dialect() -> None:
    assert "let" in PATTERNS
    assert "let" not in PATTERN_OPS

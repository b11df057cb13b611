"""Reading, verifying and printing whole modules."""

import math

import pytest
from dialect_text import assert_refused, assert_round_trip, read, refusal
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FileLineColLoc, ModuleOp

from riselang.dialects.module import (
    MAXIMUM_NESTING,
    location_of,
    make_context,
    module_text,
    parse_module,
    verify_module,
    walk,
)
from riselang.support.errors import RiseError, UserError

PROGRAM = """
func.func @scale(%out : memref<4xf32>, %in : memref<4xf32>) {
  rise.lowering_unit {
    %xs = rise.in %in : !rise.array<4, scalar<f32>>
    %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
      %y = rise.embed(%x) {
        %two = arith.constant 2.0 : f32
        %y = arith.mulf %x, %two : f32
        rise.return %y : f32
      } : !rise.scalar<f32>
      rise.return %y : !rise.scalar<f32>
    }
    %map = rise.mapSeq #rise.nat<4> #rise.scalar<f32> #rise.scalar<f32>
    %ys = rise.apply %map, %f, %xs
    rise.out %out <- %ys
    rise.return
  }
  func.return
}
"""


def test_every_op_knows_where_it_was_written() -> None:
    module = read(PROGRAM)
    places = {op.name: location_of(op) for op in walk(module)}
    lines = PROGRAM.splitlines()
    for name, place in places.items():
        if name == "builtin.module":
            continue
        assert place is not None, name
        assert place.file == "program.mlir"
        text = lines[place.line - 1]
        assert name in text
        assert len(text) - len(text.lstrip()) == place.column - 1


def test_written_locations_win() -> None:
    module = read('"test.op"() : () -> () loc("other.py":7:3)')
    (op,) = module.body.block.ops
    assert isinstance(op.location, FileLineColLoc)
    place = location_of(op)
    assert place is not None
    assert (place.file, place.line, place.column) == ("other.py", 7, 3)


def test_a_program_round_trips() -> None:
    assert_round_trip(PROGRAM)


def test_errors_show_the_line_and_a_caret() -> None:
    error = refusal("%0 = rise.literal #rise.lit<300, scalar<i8>>")
    head, line, caret = str(error).splitlines()[:3]
    assert head.startswith("program.mlir:1:29: error: 300 is not a literal of type i8")
    assert line == "  %0 = rise.literal #rise.lit<300, scalar<i8>>"
    assert caret.index("^") == line.index("300")


def test_the_first_wrong_op_is_reported() -> None:
    assert_refused(
        """
        ¦%0 = rise.split #rise.nat<0> #rise.nat<4> #rise.scalar<f32>
        %1 = rise.pad #rise.nat<0> #rise.nat<4> #rise.nat<4> #rise.scalar<f32>
        """,
        "'rise.split' op",
    )


def test_inner_ops_are_verified_too() -> None:
    assert_refused(
        """
        %f = rise.lambda (%x : !rise.scalar<f32>) -> !rise.scalar<f32> {
          ¦%0 = rise.split #rise.nat<0> #rise.nat<4> #rise.scalar<f32>
          rise.return %x : !rise.scalar<f32>
        }
        """,
        "'rise.split' op",
    )


@pytest.mark.parametrize(
    "text",
    [
        "rise.unknown",
        "%0 = rise.let",
        "%0 = unknown.op",
        '"rise.map"',
        "func.func @f(",
        "\x00",
        '"',
        "é",
        "%0 = rise.literal #rise.lit<0.0",
        "%0 = rise.literal #rise.lit<" + "9" * 400 + ", scalar<i64>>",
        "%0 = rise.apply %0, %0",
        "%0 = rise.map #rise.nat<" + "(" * 500 + "> #rise.scalar<f32> #rise.scalar<f32>",
        "func.func @f() { func.return } func.func @g() { func.return } }",
        "module { module {",
        "%0 = arith.constant 1.0 : i32",
        "%0 = rise.literal #rise.lit<0.0>\n%0 = rise.literal #rise.lit<0.0>",
    ],
)
def test_whatever_is_read_gives_a_located_error(text: str) -> None:
    error = refusal(text)
    assert error.location is not None
    assert error.location.file == "program.mlir"
    assert error.message


def test_regions_nest_up_to_a_limit() -> None:
    def nested(depth: int) -> str:
        return "module {" * depth + "}" * depth

    read(nested(MAXIMUM_NESTING - 10))
    with pytest.raises(RiseError) as caught:
        read(nested(MAXIMUM_NESTING + 10))
    assert "nest" in caught.value.message
    assert caught.value.location is not None


@pytest.mark.rotating(3)
def test_lambdas_nest_up_to_a_limit() -> None:
    depth = MAXIMUM_NESTING - 10
    type = "!rise.scalar<f32>"
    lines: list[str] = []
    for level in range(depth):
        lines.append(f"%f{level} = rise.lambda (%x{level} : {type}) -> {type} {{")
    for level in reversed(range(depth)):
        lines += [f"rise.return %x{level} : {type}", "}"]
    assert_round_trip("\n".join(lines))


def test_the_name_of_the_text_is_in_errors() -> None:
    with pytest.raises(UserError, match=r"^else\.mlir:1:\d+: error: "):
        parse_module("rise.unknown", "else.mlir")


def test_printing_ends_with_a_newline() -> None:
    assert module_text(read(PROGRAM)).endswith("}\n")


@pytest.mark.parametrize("text", ["", "\n", "// only a comment\n"])
def test_empty_text_is_an_empty_module(text: str) -> None:
    assert not list(read(text).ops)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "func.func @f(%x : f32) {\n  %y = arith.addf %y, %x : f32\n  return\n}",
            "2:3: error: 'arith.addf' op uses %y before it is defined",
        ),
        (
            "func.func @f(%x : f32) {\n  %z = arith.negf %y : f32\n  %y = arith.negf %x : f32\n"
            "  return\n}",
            "2:3: error: 'arith.negf' op uses %y before it is defined",
        ),
        (
            "%x = rise.literal #rise.lit<1.0>\n%e = rise.embed(%x) {\n"
            "  %r = arith.addf %r, %x : f32\n  rise.return %r : f32\n} : !rise.scalar<f32>",
            "3:3: error: 'arith.addf' op uses %r before it is defined",
        ),
        (
            "func.func @f() {\n  affine.for %i = 0 to 5 iter_args(%before = %y) -> (f32) {\n"
            "    %y = arith.constant 0.0 : f32\n    affine.yield %y : f32\n  }\n  return\n}",
            "2:46: error: 'affine.for' op uses %y, which is defined within it",
        ),
        (
            "func.func @f() {\n  affine.for %i = 0 to 5 iter_args(%before = %y) -> (f32) {\n"
            "    %y = arith.constant 0.0 : f32\n    affine.yield %y : f32\n  }\n  return\n}\n"
            "func.func @g(%x : f32) {\n  cf.br ^bb1\n^bb1:\n  %z = arith.negf %y : f32\n"
            "  %y = arith.negf %x : f32\n  return\n}",
            "2:46: error: 'affine.for' op uses %y, which is defined within it",
        ),
    ],
)
def test_a_value_stands_above_its_uses(text: str, message: str) -> None:
    with pytest.raises(UserError) as raised:
        verify_module(parse_module(text, "f.mlir"))
    assert str(raised.value).startswith(f"f.mlir:{message}")


def test_a_name_is_defined_once() -> None:
    text = "func.func @f() {\n  return\n}\nfunc.func @f() {\n  return\n}"
    with pytest.raises(UserError) as raised:
        verify_module(parse_module(text, "f.mlir"))
    assert str(raised.value).startswith(
        "f.mlir:4:1: error: 'func.func' op defines @f a second time"
    )


def test_an_unknown_op_whose_name_has_quotes_is_shown_where_it_stands() -> None:
    with pytest.raises(UserError, match="unknown op") as caught:
        parse_module('\n"no.such\\"op"() : () -> ()')
    assert caught.value.location is not None
    assert (caught.value.location.line, caught.value.location.column) == (2, 1)


def read_any(text: str) -> ModuleOp:
    """Read a module that may contain unregistered ops."""
    context = make_context()
    context.allow_unregistered = True
    return parse_module(text, context=context)


@pytest.mark.parametrize(
    ("type", "bits"),
    [("f64", 0x7FF0000000000000), ("f32", 0xFF800000), ("f16", 0x7C00), ("bf16", 0xFF80)],
)
def test_elements_of_arrays_may_be_the_bits_of_floats(type: str, bits: int) -> None:
    for elements in (f"[0x{bits:X}, 1.0]", f"0x{bits:X}"):
        text = f'"test.op"() {{value = dense<{elements}> : tensor<2x{type}>}} : () -> ()'
        module = read_any(text)
        (op,) = module.ops
        value = op.attributes["value"]
        assert isinstance(value, DenseIntOrFPElementsAttr)
        assert math.isinf(value.get_values()[0])
        assert module_text(read_any(module_text(module))) == (module_text(module))


def test_elements_of_integer_arrays_may_be_hexadecimal() -> None:
    text = '"test.op"() {value = dense<[0x10, -0x10]> : tensor<2xi32>} : () -> ()'
    (op,) = read_any(text).ops
    value = op.attributes["value"]
    assert isinstance(value, DenseIntOrFPElementsAttr)
    assert list(value.get_values()) == [16, -16]


@pytest.mark.parametrize("element", ["0x1FFFFFFFF", "-0x10"])
def test_elements_that_are_not_the_bits_of_a_float(element: str) -> None:
    text = f'"test.op"() {{value = dense<[{element}]> : tensor<1xf32>}} : () -> ()'
    with pytest.raises(UserError, match="expected the 32 bits of a float"):
        read_any(text)

"""Arrays of constants: captured arrays, notation and MLIR text, and what they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

import riselang as rl
from riselang.dialects.module import functions, parse_module
from riselang.dialects.rise.attributes import MAX_LITERAL_ELEMENTS, LiteralAttr, literal
from riselang.dialects.rise.types import bf16, f16, f32, i1, i32, u8
from riselang.notation.program import parse_term
from riselang.term.from_dialect import read_units
from riselang.term.nodes import Literal, subterms

X = np.arange(12, dtype=np.float32).reshape(3, 4)
WEIGHTS = np.array([[1, 0, -2, 0.5], [0, 1, 0, 0], [3, -0.0, 0, 1]], np.float32)


def added(table: Any) -> Any:
    return rl.jit(lambda x: x + rl.numpy.asarray(table))


def literals(program: Any, *arguments: Any) -> list[Literal]:
    term = program.trace(*arguments).term
    return [part for part in subterms(term) if isinstance(part, Literal) and part.attribute.shape]


def test_a_small_captured_array_is_a_literal() -> None:
    program = added(WEIGHTS)
    assert [each.attribute.shape for each in literals(program, X)] == [(3, 4)]
    text = program.trace(X).as_text()
    assert "[[1.0, 0.0, -2.0, 0.5], [0.0, 1.0, 0.0, 0.0], [3.0, -0.0, 0.0, 1.0]]" in text
    assert (program(X) == X + WEIGHTS).all()


@pytest.mark.parametrize("length", [MAX_LITERAL_ELEMENTS, MAX_LITERAL_ELEMENTS + 1])
def test_a_large_captured_array_is_passed(length: int) -> None:
    table, x = np.arange(length) * 2.5, np.ones(length)
    program = added(table)
    assert bool(literals(program, x)) == (length <= MAX_LITERAL_ELEMENTS)
    assert (program(x) == x + table).all()


TABLES: dict[str, NDArray[Any]] = {
    "bool": np.array([True, False, True]),
    "u8": np.array([255, 0, 128], np.uint8),
    "u64": np.array([2**64 - 1, 0, 2**63], np.uint64),
    "i64": np.array([-(2**63), 2**63 - 1, 0]),
    "f16": np.array([0.1, np.inf, -0.0], np.float16),
    "bf16": np.array([0.1, 3.0, -1e30]).astype(ml_dtypes.bfloat16),
    "f64": np.array([0.1, np.nan, -np.inf]),
    "complex64": np.array([1 + 2j, -0.5j, 3], np.complex64),
    "complex128": np.array([[1 + 2j, 0.1j]]),
    "nothing": np.zeros((0, 2), np.float32),
}


@pytest.mark.parametrize("backend", ["compile", "interpret"])
@pytest.mark.parametrize("name", TABLES)
def test_elements_keep_their_bits(name: str, backend: str) -> None:
    table = TABLES[name]

    @rl.jit(backend=backend)
    def program(i: rl.Array[2, rl.i32]) -> Any:
        return rl.numpy.asarray(table), rl.numpy.asarray(table[::-1])

    whole, reversed_ = program(np.zeros(2, np.int32))
    assert whole.dtype == table.dtype
    assert whole.tobytes() == table.tobytes()
    assert reversed_.tobytes() == table[::-1].tobytes()


def test_positions_need_no_checks() -> None:
    program = rl.jit(lambda x: x[[3, 0, 4]][[2, 1]])
    x = np.arange(5.0)
    assert program(x).tolist() == x[[3, 0, 4]][[2, 1]].tolist()
    assert "rise_index_error" not in program.lower(x).as_text("llvm")


def test_an_element_at_a_known_index_is_a_constant() -> None:
    program = rl.jit(lambda x: rl.numpy.asarray(WEIGHTS)[2, 0] * x[0, 1])
    loops = program.lower(X).as_text("affine")
    assert "arith.constant 3.000000e+00" in loops
    assert program(X) == 3 * X[0, 1]


def test_a_list_adapts_to_what_it_is_combined_with() -> None:
    program = rl.jit(lambda x: x[0] * [1, 2, 3, 4])
    assert program(X).dtype == np.float32
    assert "[1.0, 2.0, 3.0, 4.0]" in program.trace(X).as_text()
    with pytest.raises(rl.UserError, match="a list of numbers is used as an array of i32"):
        rl.jit(lambda x: rl.zip(x, [0.5, 1.5]) | rl.map(rl.mult))(np.arange(2, dtype=np.int32))


def test_a_captured_array_is_the_one_of_the_first_trace() -> None:
    table = np.ones(4, np.float32)
    program = rl.jit(lambda x: x + rl.numpy.asarray(table))
    assert program(X[0]).tolist() == (X[0] + 1).tolist()
    table[:] = 5
    assert program(X[0].astype(np.float64)).tolist() == (X[0] + 1).tolist()


def test_derivatives_and_vmap_know_literals() -> None:
    gradient = rl.jit(rl.grad(lambda x: (x * WEIGHTS * x).sum()))
    assert np.allclose(gradient(X), 2 * WEIGHTS * X)
    mapped = rl.jit(rl.vmap(lambda row: (row * WEIGHTS[0]).sum()))
    assert np.allclose(mapped(X), X @ WEIGHTS[0])


def test_a_compiled_program_is_saved_with_its_literals(tmp_path: Path) -> None:
    compiled = added(WEIGHTS).lower(X).compile()
    compiled.save(tmp_path / "added.kernel")
    loaded: Any = rl.load(tmp_path / "added.kernel")
    assert (loaded(X) == X + WEIGHTS).all()


@pytest.mark.parametrize(
    "text",
    [
        "[1.0, 2.5, -0.0, inf, nan]",
        "[[1, -2], [3, 4]]",
        "[1_u8, 255_u8]",
        "[[[true]], [[false]]]",
        "[0.5_f16]",
        "zip([1_i64, 2_i64], [true, false])",
    ],
)
def test_notation_is_read_back(text: str) -> None:
    assert repr(parse_term(text)) == text


def test_one_suffix_determines_the_type() -> None:
    assert repr(parse_term("[1, 2.5, 3_f64]")) == "[1.0_f64, 2.5_f64, 3.0_f64]"
    assert repr(parse_term("fun((x : 2.f16), zip(x, [1, 2]) |> map(add))")).count("_f16") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[1, 2], [3]]", "the elements of an array must have equal shapes"),
        ("[[1, 2], 3]", "the elements of an array must have equal shapes"),
        ("fun((x : f32), [1.0, x])", "the elements of an array in brackets are numbers; use "),
        ("[1_i32, 2_i64]", "an element of an array: expected i32, but found i64"),
        ("[]", "expected an expression, but found ']'"),
        ("[300_u8]", "it does not fit into an unsigned integer of 8 bits"),
        ("([1.5, 2] : 2.i32)", "1.5 cannot be a literal of type i32"),
        ("[1.0, 2.0](3)", "is not a function"),
    ],
)
def test_wrong_arrays_are_refused(text: str, message: str) -> None:
    with pytest.raises(rl.UserError) as raised:
        parse_term(text)
    assert message in str(raised.value)


def test_long_arrays_fill_lines() -> None:
    term = parse_term(f"[{', '.join(map(str, range(100, 160)))}]")
    lines = repr(term).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 90
    assert parse_term(repr(term)) == term


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        (literal((1.0, -0.0), f32), "#rise.lit<[1.000000e+00, -0.000000e+00]>"),
        (literal(((1, 2),), i32), "#rise.lit<[[1, 2]], scalar<i32>>"),
        (literal((255, 0), u8), "#rise.lit<[255, 0], scalar<ui8>>"),
        (literal((1, 0), i1), "#rise.lit<[-1, 0], scalar<i1>>"),
        (literal((float("nan"),), f16), "#rise.lit<[0x7e00], scalar<f16>>"),
        (literal((1.0,), bf16), "#rise.lit<[1.000000e+00], scalar<bf16>>"),
    ],
)
def test_the_attribute_is_read_back(attribute: LiteralAttr, text: str) -> None:
    assert str(attribute) == text
    module = f"""func.func @f(%out: memref<{_shape(attribute)}>) {{
      rise.lowering_unit {{
        %0 = rise.literal {text}
        rise.out %out <- %0
        rise.return
      }}
      func.return
    }}"""
    (unit,) = read_units(functions(parse_module(module))[0])
    assert unit[1].term == Literal(attribute)


def _shape(attribute: LiteralAttr) -> str:
    return "x".join(map(str, (*attribute.shape, attribute.scalar_type.storage)))

"""What the ops tell generic passes: effects, folds and laws."""

from __future__ import annotations

import numpy as np
import pytest
from dialect_text import read
from xdsl.ir import Operation
from xdsl.traits import (
    CallableOpInterface,
    ConstantLike,
    IsTerminator,
    MemoryEffect,
    MemoryEffectKind,
    Pure,
    get_effects,
    is_side_effect_free,
    is_speculatable,
)
from xdsl.transforms.canonicalize import CanonicalizePass

from riselang.dialects.module import make_context, verify_module, walk
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.canonicalization import LAWS
from riselang.dialects.rise.dialect import Rise
from riselang.dialects.rise.functional import ApplyOp, LambdaOp, LiteralOp, ReturnOp
from riselang.dialects.rise.pattern_ops import PATTERN_OPS
from riselang.dialects.rise.traits import RiseConstants
from riselang.dialects.rise.types import f32, i32
from riselang.interpreter.evaluate import run_term
from riselang.notation.program import parse_term
from riselang.term.to_dialect import program_module
from support.checking import term_in

OPS = list(Rise.operations)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_says_what_effects_it_has(op: type[Operation]) -> None:
    assert op.has_trait(MemoryEffect)


def test_functions_are_pure_and_applying_them_is_not_done_early() -> None:
    assert all(op.has_trait(Pure) for op in (*PATTERN_OPS.values(), LambdaOp, LiteralOp))
    assert not ApplyOp.has_trait(Pure)
    assert ReturnOp.has_trait(IsTerminator)
    assert LambdaOp.has_trait(CallableOpInterface)
    assert LiteralOp.has_trait(ConstantLike)


PROGRAM = """
func.func @f(%out : memref<f32>, %in : memref<f32>) {
  rise.lowering_unit {
    %x = rise.in %in : !rise.scalar<f32>
    %y = rise.embed(%x) {
      %r = arith.negf %x : f32
      rise.return %r : f32
    } : !rise.scalar<f32>
    rise.out %out <- %y
  }
  return
}
"""


def test_a_program_has_the_effects_of_what_it_stores() -> None:
    found = {op.name: op for op in walk(read(PROGRAM))}
    assert is_side_effect_free(found["rise.in"])
    assert is_side_effect_free(found["rise.embed"])
    assert is_speculatable(found["rise.embed"])
    out, unit = get_effects(found["rise.out"]), get_effects(found["rise.lowering_unit"])
    assert out is not None
    assert out == unit
    assert {effect.kind for effect in out} == {MemoryEffectKind.READ, MemoryEffectKind.WRITE}
    written = [effect.value for effect in out if effect.kind is MemoryEffectKind.WRITE]
    assert written == [found["rise.out"].operands[0]]


def test_a_constant_is_a_literal() -> None:
    one = literal(1, i32)
    made = RiseConstants().materialize_constant(one, i32)
    assert isinstance(made, LiteralOp)
    assert made.value == one
    assert RiseConstants().materialize_constant(one, f32) is None


MATRIX = "x : 4.6.i32"
SIMPLIFIED = {
    "transpose": (MATRIX, "x |> transpose |> transpose"),
    "reverse": (MATRIX, "x |> reverse |> reverse"),
    "join": (MATRIX, "x |> split(2) |> join"),
    "split": (MATRIX, "x |> join |> split(6)"),
    "asScalar": ("x : 8.i32", "x |> asVector(4) |> asScalar"),
    "asVector": ("x : 8.i32", "x |> asVector(4) |> asScalar |> asVector(4) |> asScalar"),
    "fst": (MATRIX, "fst(tuple(x, x |> reverse))"),
    "snd": (MATRIX, "snd(tuple(x |> reverse, x))"),
    "take": (MATRIX, "concat(x, x |> reverse) |> take(4)"),
    "drop": (MATRIX, "concat(x |> reverse, x) |> drop(4)"),
    "map": (MATRIX, "x |> map(fun(row, row))"),
}


def test_every_law_has_an_example() -> None:
    assert SIMPLIFIED.keys() == LAWS.keys()


@pytest.mark.parametrize("name", SIMPLIFIED)
def test_a_law_leaves_an_argument(name: str) -> None:
    parameter, expression = SIMPLIFIED[name]
    term = parse_term(f"fun(({parameter}), {expression})")
    module = program_module(term, "f")
    CanonicalizePass().apply(make_context(), module)
    verify_module(module)
    assert {op.name for op in walk(module)} <= {
        "builtin.module", "func.func", "func.return",
        "rise.lowering_unit", "rise.in", "rise.out", "rise.return",
    }  # fmt: skip
    shape = (8,) if "8." in parameter else (4, 6)
    values = np.arange(np.prod(shape)).reshape(shape).tolist()
    assert run_term(term_in(module), [values]) == run_term(term, [values]) == values

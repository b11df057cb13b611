"""The scalar operations as ops: all exist, and none is undefined on any operand."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16
from xdsl.dialects import test
from xdsl.dialects.builtin import ModuleOp, f32, i1

import riselang as rl
from riselang.compiler.compilation import Compilation
from riselang.dialects.module import module_text, verify_module
from riselang.dialects.rise.attributes import literal
from riselang.dialects.rise.pattern_registry import FST, MAP_SEQ, SND, ZIP
from riselang.dialects.rise.types import SCALAR_NAMES, ScalarType, array, pair
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.nat import Nat
from riselang.term.nodes import Apply, Bound, Lambda, Literal, Pattern, Scalar, Term, apply_all
from riselang.term.scalar_embedding import _op_class, create_scalar_op
from riselang.term.scalar_ops import CMPF_PREDICATES, SCALAR_OPS
from riselang.term.to_dialect import program_module

Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("name", SCALAR_OPS)
def test_every_scalar_operation_has_an_op(name: str) -> None:
    """Terms may name it, so the dialect must be able to print it."""
    op, _ = _op_class(name)
    assert op.name == name


def binary_program(op: str, type: ScalarType, length: int) -> Term:
    """`zip(xs, ys) |> mapSeq(op)` on arrays of `type`."""
    both = pair(type, type)
    n = Nat.const(length)
    element = Bound(0, both)
    operands = [
        Apply(Pattern(FST, (type, type)), element),
        Apply(Pattern(SND, (type, type)), element),
    ]
    function = Lambda("p", both, Scalar(op, operands, type))
    xs, ys = Bound(1, array(length, type)), Bound(0, array(length, type))
    pairs = apply_all(Pattern(ZIP, (n, type, type)), [xs, ys])
    body = apply_all(Pattern(MAP_SEQ, (n, both, type)), [function, pairs])
    return Lambda("xs", array(length, type), Lambda("ys", array(length, type), body))


def unary_program(op: str, source: ScalarType, target: ScalarType, length: int) -> Term:
    n = Nat.const(length)
    function = Lambda("x", source, Scalar(op, [Bound(0, source)], target))
    body = apply_all(
        Pattern(MAP_SEQ, (n, source, target)), [function, Bound(0, array(length, source))]
    )
    return Lambda("xs", array(length, source), body)


def both_ways(term: Term, inputs: Sequence[Array], result: ScalarType) -> tuple[Array, Array]:
    """What compiled code and interpreter give for a program on one-dimensional arrays."""
    length = len(inputs[0])
    module: ModuleOp = program_module(term, "program")
    verify_module(module)
    out = np.ones(length, numpy_dtype(result))
    Compilation(module).functions["program"](out, *inputs)
    values: list[Any] = []
    type = term.type
    for array_in in inputs:
        values.append(from_buffers(type.input, [array_in]))  # type: ignore[union-attr]
        type = type.output  # type: ignore[union-attr]
    (expected,) = to_buffers(type, run_term(term, values))
    return out, expected


INTEGER_OPS = [
    "arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi",
    "arith.ceildivsi", "arith.ceildivui", "arith.shli", "arith.shrsi", "arith.shrui",
    "arith.addi", "arith.subi", "arith.muli", "arith.maxui", "arith.minsi",
]  # fmt: skip


@pytest.mark.parametrize("type", [rl.i8, rl.i32, rl.i64], ids=lambda type: SCALAR_NAMES[type])
@pytest.mark.parametrize("op", INTEGER_OPS)
@pytest.mark.sampled(5)
def test_integer_operations_on_the_edges(op: str, type: ScalarType) -> None:
    limits = np.iinfo(numpy_dtype(type))
    edges = [limits.min, limits.min + 1, -7, -1, 0, 1, 2, 7, 8, limits.max - 1, limits.max]
    edges += [limits.bits - 1, limits.bits, limits.bits + 1]
    xs = np.repeat(np.array(edges, numpy_dtype(type)), len(edges))
    ys = np.tile(np.array(edges, numpy_dtype(type)), len(edges))
    found, expected = both_ways(binary_program(op, type, len(xs)), [xs, ys], type)
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(xs[i], ys[i], found[i], expected[i]) for i in wrong[:5]]


@pytest.mark.parametrize("type", [rl.i8, rl.i32], ids=lambda type: SCALAR_NAMES[type])
@pytest.mark.parametrize("op", ["arith.shli", "arith.shrsi", "arith.shrui"])
def test_a_shift_by_the_width_is_defined(op: str, type: ScalarType) -> None:
    """LLVM drops the store of an undefined value where it sees the amount."""
    width = np.iinfo(numpy_dtype(type)).bits
    x = Bound(0, type)
    shift = Lambda("x", type, Scalar(op, [x, Literal(literal(width, type))], type))
    source = array(4, type)
    body = apply_all(Pattern(MAP_SEQ, (Nat.const(4), type, type)), [shift, Bound(0, source)])
    xs = np.array([-3, -1, 1, 5], numpy_dtype(type))
    found, expected = both_ways(Lambda("xs", source, body), [xs], type)
    assert list(found) == list(expected)


def test_the_stated_results_of_partial_operations() -> None:
    xs = np.array([5, -5, -(2**31), 5, -5, -(2**31)], np.int32)
    ys = np.array([0, 0, -1, 0, 0, -1], np.int32)
    quotient, _ = both_ways(binary_program("arith.divsi", rl.i32, 6), [xs, ys], rl.i32)
    remainder, _ = both_ways(binary_program("arith.remsi", rl.i32, 6), [xs, ys], rl.i32)
    assert list(quotient[:3]) == [0, 0, -(2**31)]
    assert list(remainder[:3]) == [5, -5, 0]


@pytest.mark.parametrize("target", [rl.i1, rl.i8, rl.i32, rl.i64], ids=lambda t: SCALAR_NAMES[t])
@pytest.mark.parametrize("source", [rl.f16, rl.f32, rl.f64], ids=lambda t: SCALAR_NAMES[t])
@pytest.mark.parametrize("op", ["arith.fptosi", "arith.fptoui"])
@pytest.mark.sampled(8)
def test_floats_outside_the_range_become_the_nearest_integer(
    op: str, source: ScalarType, target: ScalarType
) -> None:
    numbers = [
        0.0, -0.0, 0.4, -0.4, 0.9, -0.9, 1.5, -1.5, 127.5, 128.0, -128.5, -129.0, 255.9, 256.0,
        2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300,
        np.inf, -np.inf, np.nan,
    ]  # fmt: skip
    with np.errstate(over="ignore"):
        xs = np.array(numbers).astype(numpy_dtype(source))
    found, expected = both_ways(unary_program(op, source, target, len(xs)), [xs], target)
    wrong = np.flatnonzero(found != expected)
    assert not wrong.size, [(xs[i], found[i], expected[i]) for i in wrong[:5]]


def test_scalar_operations_carry_no_fast_math() -> None:
    module = program_module(binary_program("arith.addf", rl.f32, 4), "program")
    assert "fastmath<none>" in module_text(module, generic=True)
    compilation = Compilation(module)
    for flag in ("reassoc", "contract", "nnan", "fast "):
        assert flag not in compilation.llvm_ir


def test_predicates_are_kept() -> None:
    x = test.TestOp(result_types=[f32]).results[0]
    op = create_scalar_op("arith.cmpf", [x, x], i1, "ueq")
    assert "ueq" in str(op)


@pytest.mark.parametrize("predicate", CMPF_PREDICATES)
def test_an_integer_as_a_float_compared_with_a_constant(predicate: str) -> None:
    """MLIR's canonicalize makes `!=` of the predicates `false` and `true` here."""
    number = Scalar("arith.sitofp", [Bound(0, rl.i32)], rl.f32)
    operands = [number, Literal(literal(2.0, rl.f32))]
    function = Lambda("v", rl.i32, Scalar("arith.cmpf", operands, rl.i1, predicate))
    body = apply_all(
        Pattern(MAP_SEQ, (Nat.const(4), rl.i32, rl.i1)), [function, Bound(0, array(4, rl.i32))]
    )
    term = Lambda("xs", array(4, rl.i32), body)
    found, expected = both_ways(term, [np.array([-1, 0, 2, 3], np.int32)], rl.i1)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("loops", ["affine", "scf"])
def test_bf16_is_rounded_in_every_step(loops: str) -> None:
    """A difference that is used at once was not: -157 - (-9 + 896) is -1048, not -1040."""
    text = "fun((x : 8.bf16, a : bf16, b : bf16), x |> scan(fun((acc, y), a - (b - acc)), a))"
    inputs = [np.zeros(8, bfloat16), np.array(-157, bfloat16), np.array(-9, bfloat16)]
    compiled: Any = rl.loads(text, name="b.rise", loops=loops)
    reference: Any = rl.loads(text, name="b.rise", backend="interpret")
    assert np.array_equal(compiled.main(*inputs), reference.main(*inputs))

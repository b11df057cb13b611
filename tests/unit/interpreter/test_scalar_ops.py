"""Every scalar operation on every type: compiled code and interpreter give the same bits.

The operands are the cases where implementations differ: zeros of both signs, infinities, NaN,
subnormals, the ends of integer ranges, shifts by the width, floats outside an integer's range.
Each operation on vectors gives, lane by lane, what it gives on scalars.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from riselang.compiler.compilation import Compilation
from riselang.dialects.module import verify_module
from riselang.dialects.rise.lane_types import Lanes
from riselang.dialects.rise.pattern_registry import FST, MAP, SND
from riselang.dialects.rise.types import (
    SCALAR_NAMES,
    SCALARS,
    RiseType,
    ScalarType,
    TupleType,
    array,
    i1,
    is_float,
    pair,
    uncurry,
    vector,
)
from riselang.interpreter.evaluate import from_buffers, run_term, to_buffers
from riselang.interpreter.scalar_semantics import numpy_dtype
from riselang.notation.program import parse_term
from riselang.support.config import Options
from riselang.term.conversion import bit_width
from riselang.term.nodes import Apply, Bound, Lambda, Pattern, Scalar, Term, apply_all
from riselang.term.scalar_ops import CMPF_PREDICATES, CMPI_PREDICATES, SCALAR_OPS
from riselang.term.to_dialect import program_module
from support.fuzzing import IS_NIGHTLY
from support.machines import unresolved

pytestmark = pytest.mark.rotating(4)

FLOATS = [SCALARS[name] for name in ("f16", "bf16", "f32", "f64")]
INTEGERS = [SCALARS[name] for name in ("i1", "i8", "i16", "i32", "i64", "u8", "u64")]
FLOAT_VALUES = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 3.0, 127.9, -128.9, 300.0, 1e5, -1e10,
    1e20, 1e-8, np.inf, -np.inf, np.nan, 2.0**31, -(2.0**31), 2.0**63,
]  # fmt: skip
INTEGER_VALUES = [0, 1, -1, 2, -2, 3, 7, 8, 63, 64, 100, -128, 127, 2**31 - 1, -(2**31), 2**63 - 1]

LANES = 4

TARGETS = ("x86-64", "aarch64", "AVX2", "AVX-512") if IS_NIGHTLY else ("x86-64",)
"""That of the fewest instructions, and at night also those of more."""

Case = tuple[str, tuple[ScalarType, ...], ScalarType, str | None]
Compiled = tuple[dict[Case, str], Compilation]
"""The function of each case, and what they are compiled by."""


def cases() -> Iterator[Case]:
    """Each op with the types of its operands and result, and its predicate."""
    for op in SCALAR_OPS.values():
        if op.name == "arith.cmpf":
            for type, predicate in itertools.product(FLOATS, CMPF_PREDICATES):
                yield op.name, (type, type), i1, predicate
        elif op.name == "arith.cmpi":
            for type, predicate in itertools.product(INTEGERS, CMPI_PREDICATES):
                yield op.name, (type, type), i1, predicate
        elif op.name == "arith.select":
            for type in (*FLOATS, *INTEGERS):
                yield op.name, (i1, type, type), type, None
        elif op.changes_type:
            for source, target in conversions(op.name):
                yield op.name, (source,), target, None
        else:
            on_floats = op.name.endswith("f") or op.name.startswith("math.")
            integer = op.name in ("math.absi", "math.ctpop", "math.ctlz") or not on_floats
            for type in INTEGERS if integer else FLOATS:
                yield op.name, (type,) * op.arity, type, None


def conversions(name: str) -> Iterator[tuple[ScalarType, ScalarType]]:
    index = SCALARS["index"]
    wide = [type for type in INTEGERS if type != i1]
    tables: dict[str, Any] = {
        "arith.extf": ((a, b) for a in FLOATS for b in FLOATS if bit_width(a) < bit_width(b)),
        "arith.truncf": ((a, b) for a in FLOATS for b in FLOATS if bit_width(a) > bit_width(b)),
        "arith.sitofp": itertools.product(INTEGERS, FLOATS),
        "arith.uitofp": itertools.product(INTEGERS, FLOATS),
        "arith.fptosi": itertools.product(FLOATS, wide),
        "arith.fptoui": itertools.product(FLOATS, wide),
        "arith.extsi": ((a, b) for a in INTEGERS for b in INTEGERS if bit_width(a) < bit_width(b)),
        "arith.extui": ((a, b) for a in INTEGERS for b in INTEGERS if bit_width(a) < bit_width(b)),
        "arith.trunci": ((a, b) for a in INTEGERS for b in INTEGERS if bit_width(a) > bit_width(b)),
        "arith.index_cast": [*((a, index) for a in wide), *((index, b) for b in wide)],
        "arith.bitcast": [
            (a, b)
            for a, b in itertools.permutations((*FLOATS, *wide), 2)
            if bit_width(a) == bit_width(b)
        ],
    }
    yield from tables[name]


def values(type: ScalarType) -> list[Any]:
    if is_float(type):
        return FLOAT_VALUES
    if type == i1:
        return [False, True]
    limit = bit_width(type)
    least = 0 if type.is_unsigned else -(2 ** (limit - 1))
    return sorted({((v - least) % 2**limit) + least for v in INTEGER_VALUES})


def operands(types: tuple[ScalarType, ...]) -> list[np.ndarray[Any, Any]]:
    """All combinations of the interesting values, one array for each operand."""
    rows = list(itertools.product(*(values(type) for type in types)))[:2000]
    with np.errstate(all="ignore"):
        return [
            np.array([row[i] for row in rows], _wide_dtype(type)).astype(numpy_dtype(type))
            for i, type in enumerate(types)
        ]


def _wide_dtype(type: ScalarType) -> Any:
    return np.uint64 if type.is_unsigned else None


def program(case: Case, length: int) -> Term:
    """`map(op)` over nested pairs of the operands, which are inputs of their own."""
    op, types, result, predicate = case
    return mapped(op, types, result, predicate, length)


def program_on_vectors(case: Case, length: int) -> Term:
    """The same on vectors of the operands."""
    op, types, result, predicate = case
    vectors = tuple(vector(LANES, type) for type in types)
    return mapped(op, vectors, vector(LANES, result), predicate, length // LANES)


def mapped(
    op: str, types: Sequence[Lanes], result: Lanes, predicate: str | None, length: int
) -> Term:
    element: RiseType = types[-1]
    for type in reversed(types[:-1]):
        element = pair(type, element)
    parts: list[Term] = []
    rest: Term = Bound(0, element)
    rest_type = element
    for type in types[:-1]:
        assert isinstance(rest_type, TupleType)
        second = rest_type.second
        parts.append(Apply(Pattern(FST, (type, second)), rest))
        rest, rest_type = Apply(Pattern(SND, (type, second)), rest), second
    body = Scalar(op, [*parts, rest], result, predicate)
    function = Lambda("x", element, body)
    source = Bound(0, array(length, element))
    pattern = Pattern(MAP, (array(length, element).length, element, result))
    return Lambda("xs", array(length, element), apply_all(pattern, [function, source]))


@pytest.fixture(scope="module", params=SCALAR_OPS)
def compiled(request: pytest.FixtureRequest) -> Compiled:
    return compiled_cases(request.param)


def compiled_cases(op: str) -> Compiled:
    """All cases of an op in one module, since starting the compiler costs more than a function."""
    chosen = [case for case in cases() if case[0] == op]
    return compilation({case: program(case, len(operands(case[1])[0])) for case in chosen})


def compiled_on_vectors(op: str) -> Compiled:
    """One case of an op and each predicate, since all types work alike."""
    chosen = {case[3]: case for case in cases() if case[0] == op}
    terms = {case: program_on_vectors(case, len(vectors(case)[0])) for case in chosen.values()}
    return compilation(terms)


def compilation(terms: dict[Case, Term]) -> Compiled:
    names: dict[Case, str] = {}
    functions: list[Any] = []
    for number, (case, term) in enumerate(terms.items()):
        names[case] = f"case{number}"
        module = program_module(term, names[case])
        verify_module(module)
        function = module.body.block.first_op
        assert function is not None
        function.detach()
        functions.append(function)
    return names, Compilation(ModuleOp(functions), Options("affine"))


def vectors(case: Case) -> list[np.ndarray[Any, Any]]:
    """The operands of a case, as many as fill vectors."""
    arrays = operands(case[1])
    return [array[: len(array) // LANES * LANES] for array in arrays]


def case_name(case: Case) -> str:
    op, types, result, predicate = case
    shown = ",".join(SCALAR_NAMES[type] for type in types)
    return f"{op}{'.' + predicate if predicate else ''}:{shown}->{SCALAR_NAMES[result]}"


def interpreted(term: Term, inputs: Sequence[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    (type,), result = uncurry(term.type)
    return to_buffers(result, run_term(term, [from_buffers(type, inputs)]))[0]


def assert_same(
    case: Case, inputs: Sequence[np.ndarray[Any, Any]], expected: Any, found: Any
) -> None:
    same = (found == expected) | ((found != found) & (expected != expected))
    zeros = np.signbit(found) == np.signbit(expected) if is_float(case[2]) else True
    wrong = ~(same & (zeros | (found != found)))
    shown = [(*(x[k] for x in inputs), expected[k], found[k]) for k in np.flatnonzero(wrong)]
    assert not shown, f"{case_name(case)}: (operands, expected, found) {shown[:5]}"


@pytest.mark.sampled(13)
def test_compiled_and_interpreted_agree(compiled: Compiled) -> None:
    names, compilation = compiled
    assert names
    for case in names:
        inputs = operands(case[1])
        expected = interpreted(program(case, len(inputs[0])), inputs)
        found = np.empty_like(expected)
        compilation.functions[names[case]](found, *inputs)
        assert_same(case, inputs, expected, found)


@pytest.mark.parametrize("op", SCALAR_OPS)
@pytest.mark.sampled(20)
def test_vectors_are_computed_lane_by_lane(op: str) -> None:
    names, compilation = compiled_on_vectors(op)
    assert names
    for case in names:
        inputs = vectors(case)
        expected = interpreted(program(case, len(inputs[0])), inputs)
        cut = [array.reshape(-1, LANES) for array in inputs]
        lanes = interpreted(program_on_vectors(case, len(inputs[0])), cut)
        assert_same(case, inputs, expected, lanes.reshape(-1))
        found = np.empty_like(lanes)
        compilation.functions[names[case]](found, *cut)
        assert_same(case, inputs, expected, found.reshape(-1))


@pytest.mark.sampled(10)
def test_no_object_calls_what_no_library_defines(compiled: Compiled) -> None:
    """Code generation adds calls of its own, such as conversions that a CPU lacks."""
    _, compilation = compiled
    for target in TARGETS:
        assert not unresolved(compilation.job.complete_ir, target), target


BYTES = (
    "arith.select", "arith.cmpi", "arith.cmpf", "arith.andi", "arith.maxsi", "arith.maximumf",
    "arith.extui", "arith.extsi", "arith.uitofp", "arith.sitofp", "arith.fptosi", "arith.truncf",
)  # fmt: skip


@pytest.mark.sampled(5)
@pytest.mark.parametrize("compiled", BYTES, indirect=True)
def test_any_bytes_are_numbers_of_every_type(compiled: Compiled) -> None:
    """Buffers of random bytes; of a bool every byte but 0 is true."""
    random = np.random.default_rng(7)
    names, compilation = compiled
    for case in names:
        inputs = [
            np.frombuffer(random.bytes(each.nbytes), each.dtype) for each in operands(case[1])
        ]
        expected = interpreted(program(case, len(inputs[0])), inputs)
        found = np.empty_like(expected)
        compilation.functions[names[case]](found, *inputs)
        assert_same(case, inputs, expected, found)


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_fma_with_an_infinity_has_no_infinite_product(infinity: float) -> None:
    """The product of numbers is a number, however large; only what is rounded overflows."""
    term = parse_term("fun((a : f32, b : f32, c : f32), fma(a, b, c))")
    large, opposite = np.float32(1e38), np.float32(-4 * np.sign(infinity))
    found = run_term(term, [large, opposite, np.float32(infinity)])
    assert found == infinity

"""Comparisons, select and conversions on vectors, which xDSL has on scalars only."""

from __future__ import annotations

import pytest
from dialect_text import assert_prints_as_written, assert_refused, read
from xdsl.dialects import arith
from xdsl.transforms.canonicalize import CanonicalizePass

from riselang.dialects.arith import Arith
from riselang.dialects.module import make_context, module_text, verify_module, walk

VALUES = """
%x = "test.op"() : () -> vector<4xf32>
%n = "test.op"() : () -> vector<4xi32>
%c = "test.op"() : () -> vector<4xi1>
%m = "test.op"() : () -> vector<2xi32>
%w = "test.op"() : () -> i1
%s = "test.op"() : () -> i32
"""
OPS = [
    "%0 = arith.cmpf olt, %x, %x : vector<4xf32>",
    "%0 = arith.cmpf olt, %x, %x fastmath<fast> : vector<4xf32>",
    "%0 = arith.cmpi ult, %n, %n : vector<4xi32>",
    "%0 = arith.cmpi ult, %s, %s : i32",
    "%0 = arith.select %c, %x, %x : vector<4xi1>, vector<4xf32>",
    "%0 = arith.select %w, %x, %x : vector<4xf32>",
    '%0 = arith.select %w, %s, %s {note = "kept"} : i32',
    "%0 = arith.sitofp %n : vector<4xi32> to vector<4xf64>",
    "%0 = arith.uitofp %n : vector<4xi32> to vector<4xf64>",
    "%0 = arith.fptosi %x : vector<4xf32> to vector<4xi8>",
    "%0 = arith.fptoui %x : vector<4xf32> to vector<4xi8>",
    "%0 = arith.extsi %n : vector<4xi32> to vector<4xi64>",
    "%0 = arith.extui %n : vector<4xi32> to vector<4xi64>",
    "%0 = arith.trunci %n : vector<4xi32> to vector<4xi1>",
    "%0 = arith.index_cast %n : vector<4xi32> to vector<4xindex>",
    "%0 = arith.index_cast %s : i32 to index",
]
REFUSED = [
    (
        "¦%0 = arith.sitofp %n : vector<4xi32> to vector<2xf32>",
        "expected vectors of the same shape",
    ),
    ("¦%0 = arith.sitofp %n : vector<4xi32> to f32", "expected vectors of the same shape"),
    ("¦%0 = arith.extsi %n : vector<4xi32> to vector<4xi8>", "bit-width must be larger"),
    ("¦%0 = arith.extsi %s : i32 to i8", "bit-width must be larger"),
    ("¦%0 = arith.fptosi %n : vector<4xi32> to vector<4xi8>", "i32"),
    (
        "¦%0 = arith.select %c, %m, %m : vector<4xi1>, vector<2xi32>",
        "expected vectors of the same shape",
    ),
    ("¦%0 = arith.select %n, %n, %n : vector<4xi32>, vector<4xi32>", "i32"),
    (
        '¦%0 = "arith.cmpi"(%n, %n) <{predicate = 2 : i64}> : (vector<4xi32>, vector<4xi32>) -> i1',
        "expected vectors of the same shape",
    ),
]


@pytest.mark.parametrize("op", OPS)
def test_ops_on_vectors_print_and_read_back(op: str) -> None:
    assert_prints_as_written(VALUES + op)


@pytest.mark.parametrize(("op", "message"), REFUSED)
def test_ops_are_refused_that_are_wrong_on_a_lane(op: str, message: str) -> None:
    assert_refused(VALUES + op + "\n", message)


def test_the_dialect_is_that_of_xdsl_otherwise() -> None:
    ours, theirs = list(Arith.operations), list(arith.Arith.operations)
    assert [op.name for op in ours] == [op.name for op in theirs]
    assert all(issubclass(our, their) for our, their in zip(ours, theirs, strict=True))


def test_a_vector_of_truths_does_not_become_one_of_them() -> None:
    text = '%0 = arith.cmpi eq, %n, %n : vector<4xi32>\n"test.op"(%0) : (vector<4xi1>) -> ()'
    module = read(VALUES + text)
    CanonicalizePass().apply(make_context(), module)
    verify_module(module)
    assert "arith.cmpi" in {op.name for op in walk(module)}, module_text(module)

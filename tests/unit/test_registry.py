"""Adding a pattern touches one place for each concern; a test names the one forgotten."""

from __future__ import annotations

import pytest
from xdsl.ir import Block
from xdsl.rewriter import InsertPoint

import riselang as rl
from riselang.dialects.rise.patterns import PATTERN_OPS
from riselang.dialects.rise.schemes import PATTERNS, PatternSpec
from riselang.dsl.functions import PatternFunction
from riselang.interpreter.patterns import MEANINGS
from riselang.lowering.imperative import _Translator, compiled_patterns
from riselang.lowering.loops import Emitter
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.scalars import OVERLOADS, SCALAR_OPS

TRANSLATOR = _Translator(Emitter(InsertPoint.at_end(Block())), "scf")
NOT_LOWERED_YET = {"mapBlock", "mapThread", "mapWarp", "mapLane"}
"""The interpreter runs these; the compiler refuses them by name."""
SPECS = pytest.mark.parametrize("spec", PATTERNS.values(), ids=PATTERNS.keys())


@SPECS
def test_the_interpreter_knows_it(spec: PatternSpec) -> None:
    assert spec.name in MEANINGS


@SPECS
def test_lowering_reads_it(spec: PatternSpec) -> None:
    assert (spec.name in compiled_patterns()) != (spec.name in NOT_LOWERED_YET)


@SPECS
def test_python_has_a_function_for_it(spec: PatternSpec) -> None:
    if spec.name == "let":
        return  # Python's own names are lets
    function = getattr(rl, spec.python_name)
    assert isinstance(function, PatternFunction)
    assert function.spec is spec


@SPECS
def test_the_dialect_has_an_op_for_it(spec: PatternSpec) -> None:
    assert (spec.name in PATTERN_OPS) == spec.in_dialect


@SPECS
def test_a_map_is_stored_without_a_copy(spec: PatternSpec) -> None:
    if spec.name.startswith("map") and spec.name not in NOT_LOWERED_YET:
        assert spec.name in TRANSLATOR.store_rules


def test_every_overload_is_an_operation_that_terms_know() -> None:
    for ops in OVERLOADS.values():
        for op in ops:
            assert op is None or op in SCALAR_OPS


def test_every_library_function_is_an_operation_that_terms_know() -> None:
    assert LIBRARY_FUNCTIONS.keys() <= SCALAR_OPS.keys()

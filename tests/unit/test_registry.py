"""Adding a pattern touches one place for each concern; a test names the one forgotten."""

from __future__ import annotations

from dataclasses import replace

import pytest

from riselang.dialects.rise.pattern_registry import MAP, PATTERNS, REVERSE
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.term.mathlib import LIBRARY_FUNCTIONS
from riselang.term.scalar_ops import OVERLOADS, SCALAR_OPS
from support.concerns import CONCERNS, forgotten


@pytest.mark.parametrize("spec", PATTERNS.values(), ids=PATTERNS.keys())
def test_nothing_is_forgotten(spec: PatternSpec) -> None:
    missing = forgotten(spec)
    assert not missing, "\n".join(missing)


def test_all_that_a_view_lacks_is_named_with_its_file() -> None:
    found = forgotten(replace(REVERSE, name="imaginaryView", view=None))
    others = ("a count of its applications", "a rule to store it")
    expected = [each for each in CONCERNS if each.name not in others]
    assert found == [f"imaginaryView lacks {c.name}: {c.path}" for c in expected]


def test_a_pattern_with_functions_needs_a_count_and_a_map_is_stored() -> None:
    found = forgotten(replace(MAP, name="mapImaginary", applications=None))
    registry = "src/riselang/dialects/rise/pattern_registry.py"
    assert f"mapImaginary lacks a count of its applications: {registry}" in found
    assert "mapImaginary lacks a rule to store it: src/riselang/lowering/rules" in found


def test_every_overload_is_an_operation_that_terms_know() -> None:
    for ops in OVERLOADS.values():
        for op in ops:
            assert op is None or op in SCALAR_OPS


def test_every_library_function_is_an_operation_that_terms_know() -> None:
    assert LIBRARY_FUNCTIONS.keys() <= SCALAR_OPS.keys()

"""What an editor asks of MLIR text: names that are numbers, several results, and inner scopes."""

from __future__ import annotations

import pytest

from riselang.editor.module_document import ModuleDocument

TEXT = """\
func.func @f(%0 : memref<4xf32>, %1 : index) -> f32 {
  %2, %3 = "test.op"() : () -> (i32, i64)
  %4:2, %5 = "test.op"() : () -> (f16, f16, bf16)
  %zero = arith.constant 0.0 : f32
  %6 = affine.for %7 = 0 to 4 iter_args(%8 = %zero) -> (f32) {
    %10 = affine.load %0[%7] : memref<4xf32>
    %11 = arith.addf %10, %8 : f32
    affine.yield %11 : f32
  }
  "test.op"(%5, %3) : (bf16, i64) -> ()
  cf.br ^bb1(%6 : f32)
^bb1(%12 : f32):
  func.return %12 : f32
}
"""


@pytest.fixture(scope="module")
def document() -> ModuleDocument:
    found = ModuleDocument.of(TEXT, "a.mlir")
    assert found.problems == []
    return found


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("%0[%7]", "%0 : memref<4xf32>"),
        ("%1 : index", "%1 : index"),
        ("%7] ", "%7 : index"),
        ("%8 : f32", "%8 : f32"),
        ("%3) :", "%3 : i64"),
        ("%5, %3)", "%5 : bf16"),
        ("%12 : f32\n", "%12 : f32"),
        ("%zero) ->", "%zero : f32"),
    ],
)
def test_a_name_is_known_by_its_type(document: ModuleDocument, place: str, shown: str) -> None:
    hover = document.hover(TEXT.index(place) + 1)
    assert hover is not None
    assert shown in hover.text


@pytest.mark.parametrize(
    ("use", "introduced"),
    [
        ("%0[%7]", "%0 : memref"),
        ("%7] ", "%7 = 0 to"),
        ("%8 : f32", "%8 = %zero"),
        ("%5, %3)", '%5 = "test.op"'),
        ("%12 : f32\n", "%12 : f32):"),
        ("%6 : f32)", "%6 = affine.for"),
    ],
)
def test_a_name_leads_to_where_it_is_introduced(
    document: ModuleDocument, use: str, introduced: str
) -> None:
    found = document.definition(TEXT.index(use) + 1)
    start = TEXT.index(introduced)
    assert found == (start, start + len(introduced.split()[0]))


def test_names_of_an_inner_region_are_offered_in_it_alone(document: ModuleDocument) -> None:
    inside = {each.label for each in document.completions(TEXT.index("%8 : f32") + 1)}
    outside = {each.label for each in document.completions(TEXT.index("%6 : f32)") + 1)}
    assert {"%0", "%7", "%8", "%10"} <= inside
    assert {"%0", "%6"} <= outside
    assert not {"%7", "%8", "%10"} & outside

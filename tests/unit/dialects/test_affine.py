"""`affine.parallel` in MLIR's own text."""

from __future__ import annotations

import pytest

from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.native.mlir.bindings import verify
from riselang.support.errors import UserError

LOOPS = """builtin.module {
  func.func @f(%x: memref<?x8xf32>, %n: index, %c: f32) {
    affine.parallel (%i, %j) = (0, 0) to (symbol(%n), 8) step (2, 1) {
      affine.store %c, %x[%i, %j] : memref<?x8xf32>
    }
    affine.parallel (%k) = (0) to (4) {
      affine.parallel (%m) = (max(((%k * 2) + -1), 0)) to (min((symbol(%n) floordiv 2), 8)) {
        affine.store %c, %x[%k, %m] : memref<?x8xf32>
      } {note = "here"}
    }
    func.return
  }
}
"""
SUM = """func.func @g(%c : f32) -> f32 {
  %r = affine.parallel (%i) = (0) to (4) reduce ("addf") -> (f32) {
    affine.yield %c : f32
  }
  func.return %r : f32
}"""


@pytest.mark.parametrize("text", [LOOPS, SUM])
def test_what_is_read_is_printed_and_known_to_mlir(text: str) -> None:
    module = parse_module(text)
    verify_module(module)
    printed = module_text(module)
    assert module_text(parse_module(printed)) == printed
    assert module_text(parse_module(module_text(module, generic=True))) == printed
    verify(printed)


def test_text_stays_as_it_is() -> None:
    assert module_text(parse_module(LOOPS)) == LOOPS


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("(symbol(%n), 8)", "(symbol(%n))", "expected upper bounds for 2 loops"),
        ("step (2, 1)", "step (2)", "expected 2 steps, but found 1"),
        ("(symbol(%n), 8)", "(symbol(%n) +, 8)", "expected integer literal"),
        ("(%k) = (0)", "(%k) = (%nowhere)", "%nowhere is used, but not defined"),
    ],
)
def test_what_is_wrong(old: str, new: str, message: str) -> None:
    with pytest.raises(UserError, match=message) as raised:
        verify_module(parse_module(LOOPS.replace(old, new)))
    assert raised.value.location is not None


def test_each_result_needs_a_reduction() -> None:
    with pytest.raises(UserError, match="expected a reduction for each result"):
        verify_module(parse_module(SUM.replace('("addf")', "()")))


def test_the_generic_form_needs_its_properties() -> None:
    text = '"affine.parallel"() ({\n^bb0(%i: index):\n  "affine.yield"() : () -> ()\n}) : () -> ()'
    with pytest.raises(UserError, match="property 'reductions' expected"):
        verify_module(parse_module(text))

"""`memref.prefetch`, which xDSL's dialect does not have."""

from __future__ import annotations

import pytest

from riselang.dialects.module import module_text, parse_module, verify_module
from riselang.support.errors import RiseError

FUNCTION = """func.func @f(%m : memref<4x8xf32>, %i : index) {{
  memref.prefetch %m[{indices}], {access}, locality<{locality}>, {cache} : memref<4x8xf32>
  func.return
}}
"""


@pytest.mark.parametrize(("access", "cache"), [("read", "data"), ("write", "instr")])
def test_it_is_read_and_printed(access: str, cache: str) -> None:
    text = FUNCTION.format(indices="%i, %i", access=access, locality=3, cache=cache)
    module = parse_module(text, "prefetch.mlir")
    verify_module(module)
    printed = module_text(module)
    assert f"memref.prefetch %m[%i, %i], {access}, locality<3>, {cache} : memref" in printed
    assert module_text(parse_module(printed, "prefetch.mlir")) == printed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": "%i"}, "expected 2 indices, but found 1"),
        ({"locality": 4}, "expected a locality from 0 to 3"),
        ({"access": "look"}, "read"),
    ],
)
def test_what_is_wrong_is_refused(changes: dict[str, object], message: str) -> None:
    given = {"indices": "%i, %i", "access": "read", "locality": 1, "cache": "data", **changes}
    with pytest.raises(RiseError, match=message):
        verify_module(parse_module(FUNCTION.format(**given), "prefetch.mlir"))

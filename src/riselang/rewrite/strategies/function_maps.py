"""Maps that call math functions, if their length is known only at run time.

LLVM vectorizes such a map, and computes the elements that do not fill a vector in a scalar loop.
Here, the last elements are computed in a vector with padding. The polynomials of a scalar loop
would take as long for each element as for a vector, and occupy registers with their constants.
"""

from __future__ import annotations

from riselang.dialects.rise.types import ArrayType, ScalarType
from riselang.rewrite.core import Setting, Strategy
from riselang.rewrite.strategies.matmul_shapes import bytes_of
from riselang.rewrite.strategies.stencils import calls_library, in_vectors
from riselang.rewrite.term_parts import pattern_arguments
from riselang.support.machine import this_machine
from riselang.term.nodes import Term


def recognize_function_map(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Describe a map whose math functions are computed in vectors; or return None."""
    type = term.type
    if (
        pattern_arguments(term, "map") is None
        or not isinstance(type, ArrayType)
        or not isinstance(type.element, ScalarType)
        or type.length.is_constant
        or calls_library(term, setting.float)
    ):
        return None
    lanes = this_machine().lanes(bytes_of(type.element))
    description = f"a map of {type.length} elements with math functions"
    return description, f"in vectors of {lanes}", in_vectors(lanes, 1)

"""Maps whose function is a sequential loop over scalars: several elements at a time, in lanes.

LLVM vectorizes only innermost loops. If each iteration depends on the previous one, as in an
iteration of a map or in a sum from left to right, the iterations for different elements are
independent, and are computed in the lanes of a vector.
"""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    ScalarType,
    TupleType,
    components,
    contains_array,
    element_of,
    i1,
    index,
)
from riselang.rewrite.combinators import try_
from riselang.rewrite.core import CONDITION, Failure, Result, Setting, Strategy
from riselang.rewrite.registry import require_positive, schedule
from riselang.rewrite.rules.algorithmic import peel_map
from riselang.rewrite.rules.lowering import store_elements
from riselang.rewrite.strategies.matmul_shapes import bytes_of, length_of
from riselang.rewrite.strategies.schedules import vectorize
from riselang.rewrite.term_parts import pattern_arguments
from riselang.rewrite.traversals import argument, function
from riselang.support.machine import this_machine
from riselang.term.lane_ops import LANE_TYPES, has_vector_form
from riselang.term.nodes import Lambda, Literal, Scalar, Term, has_pattern, scalar_type, subterms

ITERATIONS = ("iterate", "iterateSeq")
LOOPS = (*ITERATIONS, "reduce", "reduceSeq")
"""Sequential loops that vectors carry through."""
MAX_VECTORS, MAX_OPERATIONS = 4, 64
"""The maximum number of vectors that are computed at a time, so that their operations overlap, and
of the operations on all of them, so that their operands stay in registers."""
MAX_COMPONENTS = 4
"""The maximum length of an array that an iteration starts from, such as the parts of a complex
number: the elements of several arrays are gathered into vectors. LLVM unrolls shorter loops."""
MIN_GROUPS = 4
"""The minimum number of groups of vectors that the elements of a map must fill."""


@schedule
def loops_in_lanes(lanes: int) -> Strategy:
    """Computes `lanes` elements of a map at a time, each in one lane of a vector; the elements that
    are left are computed in shorter vectors."""
    require_positive("loops_in_lanes", lanes=lanes)
    return _LoopsInLanes(lanes)


@dataclass(frozen=True, repr=False)
class _LoopsInLanes(Strategy):
    lanes: int

    def run(self, term: Term, setting: Setting) -> Result:
        arguments = pattern_arguments(term, "map")
        length = None if arguments is None else length_of(arguments[1].type)
        if (
            arguments is None
            or length is None
            or not length.is_constant
            or length.constant < self.lanes
        ):
            reason = f"expected a map over {self.lanes} elements or more"
            return Failure(self, reason, term, closeness=CONDITION)
        strategy, remainder = vectorize(self.lanes), length.constant % self.lanes
        if contains_array(element_of(arguments[1].type)):
            # The elements of several arrays are gathered once, before the loop.
            strategy = strategy >> argument(store_elements)
        if remainder:
            strategy = peel_map(length.constant - remainder) >> function(argument(strategy))
        if remainder > 1:
            shorter = _LoopsInLanes(1 << (remainder.bit_length() - 1))
            strategy = strategy >> argument(try_(shorter))
        return strategy.run(term, setting)

    def __str__(self) -> str:
        return f"loops_in_lanes({self.lanes})"


def recognize_loops(term: Term, setting: Setting) -> tuple[str, str, Strategy] | None:
    """Recognize a map over scalars whose function is a loop that vectors can carry through."""
    arguments = pattern_arguments(term, "map")
    if arguments is None or not isinstance(arguments[0], Lambda):
        return None
    element_function, length = arguments[0], length_of(arguments[1].type)
    result = element_function.body.type
    if not isinstance(result, ScalarType) or not has_pattern(element_function.body, *LOOPS):
        return None
    if not _consists_of_scalars(element_function.parameter, _has_long_loop(element_function)):
        return None
    if not _has_vector_forms(element_function):
        return None
    operations = len(_scalars(element_function))
    vectors = max(1, min(MAX_VECTORS, MAX_OPERATIONS // max(1, operations)))
    vectors = 1 << (vectors.bit_length() - 1)
    lanes = vectors * this_machine().lanes(_widest(element_function))
    if not length.is_constant or length.constant < MIN_GROUPS * lanes:
        return None
    return (
        f"loops for {length} elements",
        f"{lanes} of them at a time, in lanes",
        loops_in_lanes(lanes),
    )


def _consists_of_scalars(type: RiseType, allows_arrays: bool) -> bool:
    """Whether a value is a scalar, a tuple of them, or a short array of them if that is allowed."""
    parts = [type]
    while parts:
        part = parts.pop()
        if isinstance(part, TupleType):
            parts += components(part)
        elif isinstance(part, ArrayType):
            if not allows_arrays or not _is_short(part):
                return False
            parts.append(part.element)
        elif part not in LANE_TYPES:
            return False
    return True


def _has_long_loop(element_function: Term) -> bool:
    """Whether a function iterates, or reduces an array that is not short."""
    if has_pattern(element_function, *ITERATIONS):
        return True
    reductions = (pattern_arguments(part, *LOOPS) for part in subterms(element_function))
    types = (each[2].type for each in reductions if each is not None)
    return not all(isinstance(type, ArrayType) and _is_short(type) for type in types)


def _is_short(type: ArrayType) -> bool:
    return type.length.is_constant and type.length.constant <= MAX_COMPONENTS


def _scalars(element_function: Term) -> list[Scalar | Literal]:
    """The arithmetic of a function, without the constants that index arrays."""
    return [
        part
        for part in subterms(element_function)
        if isinstance(part, Scalar) or (isinstance(part, Literal) and scalar_type(part) != index)
    ]


def _has_vector_forms(element_function: Term) -> bool:
    """Whether all arithmetic of a function has vector instructions."""
    return all(
        scalar_type(part) in (*LANE_TYPES, i1)
        and (isinstance(part, Literal) or _converts_index(part) or has_vector_form(part))
        for part in _scalars(element_function)
    )


def _converts_index(part: Scalar) -> bool:
    """Whether an operation converts an index: the counter of a loop, which all lanes share."""
    return all(operand.type == index for operand in part.children)


def _widest(element_function: Term) -> int:
    """The bytes of the widest scalars that a function computes with."""
    return max((bytes_of(scalar_type(part)) for part in _scalars(element_function)), default=4)

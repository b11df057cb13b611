"""Recognizes comparison functions that compare one number of each argument."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import LET
from riselang.dialects.rise.types import ScalarType
from riselang.term.nodes import Bound, Lambda, Pattern, Scalar, Term, spine
from riselang.term.substitution import drop_lambda, instantiate, mentions, swap_variables

DESCENDING = {"olt": False, "slt": False, "ult": False, "ogt": True, "sgt": True, "ugt": True}
"""The strict comparisons, and whether they sort in descending order."""
FLOAT_RELATIONS = {"olt", "ogt"}
UNSIGNED_RELATIONS = {"ult", "ugt"}


@dataclass(frozen=True)
class ComparisonKey:
    """The number of an element that a comparison function compares."""

    function: Lambda
    """From an element to the number."""
    type: ScalarType
    descending: bool
    unsigned: bool

    @property
    def is_identity(self) -> bool:
        return isinstance(self.function.body, Bound) and self.function.body.index == 0


def comparison_key(function: Term) -> ComparisonKey | None:
    """Return the key if the function is `fun((a, b), key(a) < key(b))`, or with `>`."""
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    comparison = _inline_lets(function.body.body)
    if not isinstance(comparison, Scalar) or comparison.op not in ("arith.cmpf", "arith.cmpi"):
        return None
    left, right = comparison.operands
    relation = comparison.predicate
    if relation not in DESCENDING or swap_variables(left) != right:
        return None
    if not isinstance(left.type, ScalarType):
        return None
    if (comparison.op == "arith.cmpf") != (relation in FLOAT_RELATIONS):
        return None
    # Of the variables 1 and 0, a number mentions one.
    own = next((number for number in (1, 0) if mentions(left, number)), None)
    if own is None or mentions(left, 1 - own):
        return None
    key = Lambda(function.name, function.parameter, drop_lambda(left, 1 - own))
    return ComparisonKey(
        key,
        left.type,
        DESCENDING[relation] != (own == 0),
        relation in UNSIGNED_RELATIONS,
    )


def _inline_lets(term: Term) -> Term:
    """Replace the variables of the lets around a scalar with their values."""
    head, arguments = spine(term)
    while isinstance(head, Pattern) and head.spec is LET and len(arguments) == 2:
        value, function = arguments
        if not isinstance(value.type, ScalarType) or not isinstance(function, Lambda):
            break
        term = instantiate(function.body, value)
        head, arguments = spine(term)
    return term

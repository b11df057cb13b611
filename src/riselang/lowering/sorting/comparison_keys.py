"""Recognizes comparison functions that compare one number of each argument."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from riselang.dialects.rise.pattern_registry import LET
from riselang.dialects.rise.types import ScalarType
from riselang.term.nodes import Bound, Lambda, Literal, Pattern, Scalar, Term, spine
from riselang.term.substitution import drop_lambda, instantiate, mentions, swap_variables

DESCENDING = {"olt": False, "slt": False, "ult": False, "ogt": True, "sgt": True, "ugt": True}
"""The strict comparisons, and whether they sort in descending order."""
FLOAT_RELATIONS = {"olt", "ogt"}
UNSIGNED_RELATIONS = {"ult", "ugt"}


COMPLEMENTS = {"oge": "olt", "ole": "ogt"}
"""The comparison of numbers that holds if another one does not."""


class NanPlace(Enum):
    """Where a comparison function sorts NaN."""

    UNORDERED = "unordered"
    FIRST = "first"
    LAST = "last"


@dataclass(frozen=True)
class Comparison:
    """A comparison of two numbers, and where it sorts NaN."""

    relation: str
    left: Term
    right: Term
    nan: NanPlace


@dataclass(frozen=True)
class ComparisonKey:
    """The number of an element that a comparison function compares."""

    function: Lambda
    """From an element to the number."""
    type: ScalarType
    descending: bool
    unsigned: bool
    nan: NanPlace

    @property
    def is_identity(self) -> bool:
        return isinstance(self.function.body, Bound) and self.function.body.index == 0


def comparison_key(function: Term) -> ComparisonKey | None:
    """Return the key if the function is `fun((a, b), key(a) < key(b))`, or with `>`.

    On floats, it may also be `~(key(a) >= key(b)) & (key(a) == key(a))`, which sorts NaN last, or
    with `key(b) == key(b)`, which sorts NaN first.
    """
    if not isinstance(function, Lambda) or not isinstance(function.body, Lambda):
        return None
    comparison = _comparison(_inline_lets(function.body.body))
    if comparison is None:
        return None
    left, relation = comparison.left, comparison.relation
    if swap_variables(left) != comparison.right or not isinstance(left.type, ScalarType):
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
        comparison.nan if own == 1 else MIRRORED[comparison.nan],
    )


MIRRORED = {
    NanPlace.UNORDERED: NanPlace.UNORDERED,
    NanPlace.FIRST: NanPlace.LAST,
    NanPlace.LAST: NanPlace.FIRST,
}
"""Where NaN is sorted if the arguments are compared in the opposite order."""


def _comparison(term: Term) -> Comparison | None:
    if not isinstance(term, Scalar):
        return None
    if term.op == "arith.andi":
        return _nan_comparison(term)
    left, right = term.operands[0], term.operands[-1]
    relation = term.predicate if term.op in ("arith.cmpf", "arith.cmpi") else None
    if relation not in DESCENDING or (term.op == "arith.cmpf") != (relation in FLOAT_RELATIONS):
        return None
    return Comparison(relation, left, right, NanPlace.UNORDERED)


def _nan_comparison(term: Scalar) -> Comparison | None:
    """Return the comparison of `~(a >= b) & (a == a)`, or of the same with `b == b`."""
    for negation, is_number in (term.operands, reversed(term.operands)):
        compared = _negated(negation)
        number = _compared_with_itself(is_number)
        if compared is None or number is None or compared.predicate not in COMPLEMENTS:
            continue
        left, right = compared.operands
        if number in (left, right):
            nan = NanPlace.LAST if number == left else NanPlace.FIRST
            return Comparison(COMPLEMENTS[compared.predicate], left, right, nan)
    return None


def _negated(term: Term) -> Scalar | None:
    """Return the comparison of floats that a term negates."""
    if not isinstance(term, Scalar) or term.op != "arith.xori":
        return None
    for each, true in (term.operands, reversed(term.operands)):
        is_true = isinstance(true, Literal) and bool(true.number)
        if is_true and isinstance(each, Scalar) and each.op == "arith.cmpf":
            return each
    return None


def _compared_with_itself(term: Term) -> Term | None:
    if not isinstance(term, Scalar) or (term.op, term.predicate) != ("arith.cmpf", "oeq"):
        return None
    return term.operands[0] if term.operands[0] == term.operands[1] else None


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

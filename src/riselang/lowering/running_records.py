"""Recognizes loops that carry values which only a new record changes: argmax, for example.

Every result of such a loop is `select(condition, new, carried)`, and the condition compares a
carried value with a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import affine, arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

LOADS = (affine.LoadOp, memref.LoadOp)
COMPARISONS = (arith.CmpfOp, arith.CmpiOp)


@dataclass(frozen=True)
class Change:
    """A carried value, the value that replaces it, and the condition for that."""

    carried: SSAValue
    new: SSAValue
    condition: SSAValue
    is_negated: bool
    """Whether the value is replaced if the condition does not hold."""


@dataclass(frozen=True)
class Record:
    """The order in which new values are compared with the carried one."""

    number: SSAValue
    """The new value."""
    prefers_greater: bool
    prefers_last: bool
    """Whether the last one of several equal values replaces the others."""
    prefers_nan: bool
    unsigned: bool


def rare_changes(loop: scf.ForOp | affine.ForOp) -> list[Change]:
    """Return when an iteration changes the carried values, if that is rare; empty otherwise."""
    block = loop.body.block
    *ops, end = block.ops
    if not all(map(_is_pure, ops)):
        return []
    changes: list[Change] = []
    for carried, result in zip(block.args[1:], end.operands, strict=True):
        change = _change(carried, result)
        if change is None and carried is not result:
            return []
        changes += [] if change is None else [change]
    return changes if any(map(_compares_carried, changes)) else []


def ops_for(values: Sequence[SSAValue], block: Block) -> list[Operation]:
    """Return the ops of a block that compute values, in order."""
    needed: set[Operation] = set()
    stack = [value.owner for value in values]
    while stack:
        op = stack.pop()
        if isinstance(op, Operation) and op.parent is block and op not in needed:
            needed.add(op)
            stack += [operand.owner for operand in op.operands]
    return [op for op in block.ops if op in needed]


def _is_pure(op: Operation) -> bool:
    is_arithmetic = op.name.startswith(("arith.", "math.")) or isinstance(op, affine.ApplyOp)
    return not op.regions and (is_arithmetic or isinstance(op, LOADS))


def _change(carried: SSAValue, result: SSAValue) -> Change | None:
    """Return when a carried value changes, if a `select` decides it."""
    select = result.owner
    if not isinstance(select, arith.SelectOp) or carried not in (select.lhs, select.rhs):
        return None
    is_negated = select.lhs is carried
    return Change(carried, select.rhs if is_negated else select.lhs, select.cond, is_negated)


def _compares_carried(change: Change) -> bool:
    """Whether the condition of a change compares the carried value with another one."""
    block = change.carried.owner
    assert isinstance(block, Block)
    return any(
        isinstance(op, COMPARISONS) and change.carried in op.operands
        for op in ops_for([change.condition], block)
    )


# Orders


def record_of(changes: Sequence[Change]) -> Record | None:
    """Return the order of a record if all values change together, independently of their past."""
    first, *others = changes
    is_shared = all(
        (each.condition, each.is_negated) == (first.condition, first.is_negated) for each in others
    )
    if not is_shared or any(map(_depends_on_carried, changes)):
        return None
    return next((record for each in changes if (record := _record(each)) is not None), None)


def _depends_on_carried(change: Change) -> bool:
    """Whether a new value depends on what the loop carries."""
    block = change.carried.owner
    assert isinstance(block, Block)
    operands = [each for op in ops_for([change.new], block) for each in op.operands]
    return any(each in block.args[1:] for each in (*operands, change.new))


INVERSE = {
    "slt": "sge", "sle": "sgt", "sgt": "sle", "sge": "slt",
    "ult": "uge", "ule": "ugt", "ugt": "ule", "uge": "ult",
}  # fmt: skip
"""The comparison of integers that holds if another one does not."""


def _record(change: Change) -> Record | None:
    relation = _nan_relation(change)
    if relation is not None:
        return Record(change.new, relation == "ole", False, True, False)
    comparison = change.condition.owner
    if not isinstance(comparison, COMPARISONS):
        return None
    relation = _relation(comparison, change.carried, change.new)
    is_float = isinstance(comparison, arith.CmpfOp)
    if change.is_negated:
        relation = None if is_float or relation is None else INVERSE.get(relation)
    if relation is None or relation[1:] not in ("lt", "le", "gt", "ge"):
        return None
    if is_float and relation[0] == "u":
        return None
    is_unsigned = relation[0] == "u"
    return Record(change.new, relation[1] == "g", relation.endswith("e"), False, is_unsigned)


def _nan_relation(change: Change) -> str | None:
    """Return `ole` if `new` replaces `carried` where it is greater, or is NaN and `carried` not.

    Return `oge` if it does so where it is less: `~(new >= carried) & (carried == carried)`.
    """
    conjunction = change.condition.owner
    if change.is_negated or not isinstance(conjunction, arith.AndIOp):
        return None
    for one, other in (conjunction.operands, reversed(conjunction.operands)):
        negation, is_number = one.owner, other.owner
        if not isinstance(negation, arith.XOrIOp) or not isinstance(is_number, arith.CmpfOp):
            continue
        if _relation(is_number, change.carried, change.carried) != "oeq":
            continue
        for compared, true in (negation.operands, reversed(negation.operands)):
            comparison = compared.owner
            if isinstance(comparison, arith.CmpfOp) and _is_true(true):
                relation = _relation(comparison, change.carried, change.new)
                return relation if relation in ("ole", "oge") else None
    return None


MIRRORED = {"l": "g", "g": "l"}


def _relation(
    comparison: arith.CmpfOp | arith.CmpiOp, carried: SSAValue, new: SSAValue
) -> str | None:
    """Return the predicate that compares `new` with `carried`, in this order."""
    is_float = isinstance(comparison, arith.CmpfOp)
    names = arith.CMPF_COMPARISON_OPERATIONS if is_float else arith.CMPI_COMPARISON_OPERATIONS
    name = names[comparison.predicate.value.data]
    if _are_equal(comparison.lhs, new) and comparison.rhs is carried:
        return name
    if _are_equal(comparison.rhs, new) and comparison.lhs is carried:
        return name[0] + MIRRORED.get(name[1], name[1]) + name[2:]
    return None


def _is_true(value: SSAValue) -> bool:
    op = value.owner
    return (
        isinstance(op, arith.ConstantOp)
        and isinstance(op.value, IntegerAttr)
        and op.value.value.data != 0
    )


def _are_equal(first: SSAValue, second: SSAValue) -> bool:
    """Whether two values are computed by the same ops from the same values."""
    pairs = [(first, second)]
    while pairs:
        left, right = pairs.pop()
        if left is right:
            continue
        if not isinstance(left, OpResult) or not isinstance(right, OpResult):
            return False
        if left.index != right.index or not _compute_the_same(left.op, right.op):
            return False
        pairs += zip(left.op.operands, right.op.operands, strict=True)
    return True


def _compute_the_same(one: Operation, other: Operation) -> bool:
    """Whether two ops with the same operands would have the same results."""
    return (
        one.name == other.name
        and one.parent is other.parent
        and 0 < len(one.operands) == len(other.operands)
        and one.properties == other.properties
        and one.attributes == other.attributes
    )

"""Turning a tree of scalar operations into one `rise.embed`, for printing and for lowering."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.builtin import i64 as builtin_i64
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.arith import Arith
from riselang.dialects.location_attributes import location_attribute
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lane_types import unwrap_type
from riselang.dialects.rise.types import is_unsigned
from riselang.support.errors import LimitationError
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import Bound, Literal, Scalar, Term, operation_type, scalar_type
from riselang.term.scalar_ops import ANY_ORDER, CMPF_PREDICATES, CMPI_PREDICATES, SCALAR_OPS

Value = TypeVar("Value")
NO_FASTMATH = arith.FastMathFlagsAttr("none")
REASSOCIATED = arith.FastMathFlagsAttr([FastMathFlag.REASSOC])


def scalar_leaves(term: Term, split: Callable[[Term], bool] | None = None) -> list[Term]:
    """The leaves of a tree of operations at `term`, from left to right.

    They are all scalars, or all vectors of the same length. The tree is maximal, except that the
    operands for which `split` is true are leaves.

    A variable is listed once, however often it is used. An application that occurs twice is listed
    twice: if it were shared, it would read back as a different term, with a let.
    """
    leaves: list[Term] = []
    stack = [term]
    while stack:
        current = stack.pop()
        is_leaf = current is not term and split is not None and split(current)
        if isinstance(current, Scalar) and not is_leaf:
            stack.extend(reversed(current.operands))
        elif is_leaf or not (
            isinstance(current, Literal) or (isinstance(current, Bound) and current in leaves)
        ):
            leaves.append(current)
    return leaves


def has_unsigned_source(term: Term) -> bool:
    """Whether a literal or a conversion has an unsigned type, which ops on its bits do not show.

    Outside of an embed, its value has the type `!rise.scalar<ui8>`; inside, the type is `i8`.
    """
    is_source = isinstance(term, Literal) or (
        isinstance(term, Scalar) and len(term.operands) == 1 and SCALAR_OPS[term.op].changes_type
    )
    return is_source and is_unsigned(scalar_type(term))


@recursive
def evaluate_tree(
    term: Term,
    leaves: Sequence[Term],
    values: Sequence[Value],
    combine: Callable[[Term, Sequence[Value]], Value],
) -> Value:
    """Compute the value of a tree from the values of its leaves; `combine` handles inner nodes."""
    pairs = list(zip(leaves, values, strict=True))
    variables: dict[Term, Value] = {leaf: value for leaf, value in pairs if isinstance(leaf, Bound)}
    other_values = iter([value for leaf, value in pairs if not isinstance(leaf, Bound)])
    split_nodes = {leaf for leaf in leaves if isinstance(leaf, Scalar | Literal)}
    root = term

    def evaluate(term: Term) -> Value:
        is_leaf = term is not root and term in split_nodes
        if isinstance(term, Scalar | Literal) and not is_leaf:
            operands: list[Value] = []
            for operand in term.children:
                operands.append(evaluate(operand))
            return combine(term, operands)
        return variables[term] if term in variables else next(other_values)

    return evaluate(term)


def embed_tree(term: Term, leaves: Sequence[Term], values: Sequence[SSAValue]) -> EmbedOp:
    """Create the embed that computes `term` from the values of its leaves."""
    block = Block(arg_types=[_builtin_type(leaf) for leaf in leaves])
    builder = Builder(InsertPoint.at_end(block))

    def combine(term: Term, operands: Sequence[SSAValue]) -> SSAValue:
        op = _create_operation(term, operands)
        op.location = location_attribute(term.location)
        return builder.insert(op).results[0]

    block.add_op(ReturnOp([evaluate_tree(term, leaves, block.args, combine)]))
    return EmbedOp(values, Region(block), operation_type(term))


def _create_operation(term: Term, operands: Sequence[SSAValue]) -> Operation:
    if isinstance(term, Literal):
        value = term.attribute.builtin_attribute
        return arith.ConstantOp.create(result_types=[value.get_type()], properties={"value": value})
    assert isinstance(term, Scalar)
    return create_scalar_op(term.op, operands, _builtin_type(term), term.predicate)


def _builtin_type(term: Term) -> Attribute:
    try:
        return unwrap_type(operation_type(term))
    except VerifyException as error:
        raise LimitationError(str(error), term.location) from None


def create_scalar_op(
    name: str, operands: Sequence[SSAValue], type: Attribute, predicate: str | None = None
) -> Operation:
    """Create the arith or math op with this name."""
    op_class, takes_flags = _op_class(name)
    properties: dict[str, Attribute] = {"fastmath": NO_FASTMATH} if takes_flags else {}
    if predicate == ANY_ORDER:
        properties["fastmath"] = REASSOCIATED
    elif predicate is not None:
        table = CMPF_PREDICATES if name == "arith.cmpf" else CMPI_PREDICATES
        properties["predicate"] = IntegerAttr(table.index(predicate), builtin_i64)
    return op_class.create(operands=operands, result_types=[type], properties=properties)


@cache
def _op_class(name: str) -> tuple[type[Operation], bool]:
    dialect = Arith if name.startswith("arith.") else math.Math
    for op in dialect.operations:
        if op.name == name:
            assert issubclass(op, IRDLOperation)
            return op, "fastmath" in op.get_irdl_definition().properties
    raise LimitationError(f"the op {name} is not known")

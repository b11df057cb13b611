"""A tree of scalar operations as one `rise.embed`, shared by printing and by lowering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerAttr
from xdsl.dialects.builtin import i64 as builtin_i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.rewriter import InsertPoint

from riselang.dialects.locations import location_attribute
from riselang.dialects.rise.borders import EmbedOp
from riselang.dialects.rise.functional import ReturnOp
from riselang.errors import LimitationError
from riselang.term.nodes import Bound, Literal, Scalar, Term, scalar_type
from riselang.term.scalars import CMPF_PREDICATES, CMPI_PREDICATES

NO_FASTMATH = arith.FastMathFlagsAttr("none")


def scalar_leaves(term: Term) -> list[Term]:
    """The operands of the largest tree of scalar operations at `term`, from left to right.

    A variable stands once however often it is used. What is applied twice in the term stays so:
    sharing it here would read back as another term, with a let.
    """
    found: list[Term] = []
    stack = [term]
    while stack:
        current = stack.pop()
        if isinstance(current, Scalar):
            stack.extend(reversed(current.operands))
        elif not isinstance(current, Literal) and not (
            isinstance(current, Bound) and current in found
        ):
            found.append(current)
    return found


def embed_tree(term: Term, leaves: Sequence[Term], values: Sequence[SSAValue]) -> EmbedOp:
    """The embed that computes `term`, given the values of its leaves."""
    block = Block(arg_types=[scalar_type(leaf).element for leaf in leaves])
    builder = Builder(InsertPoint.at_end(block))
    pairs = list(zip(leaves, block.args, strict=True))
    variables: dict[Term, SSAValue] = {
        leaf: argument for leaf, argument in pairs if isinstance(leaf, Bound)
    }
    others = iter([argument for leaf, argument in pairs if not isinstance(leaf, Bound)])

    def add(op: Operation, term: Term) -> SSAValue:
        op.location = location_attribute(term.location)
        return builder.insert(op).results[0]

    def value(term: Term) -> SSAValue:
        if isinstance(term, Scalar):
            operands: list[SSAValue] = []
            for operand in term.operands:
                operands.append(value(operand))
            element = scalar_type(term).element
            return add(scalar_operation(term.op, operands, element, term.predicate), term)
        if isinstance(term, Literal):
            return add(arith.ConstantOp(term.attribute.plain), term)
        return variables[term] if term in variables else next(others)

    block.add_op(ReturnOp([value(term)]))
    return EmbedOp(values, Region(block), scalar_type(term))


def scalar_operation(
    name: str, operands: Sequence[SSAValue], type: Attribute, predicate: str | None = None
) -> Operation:
    """The arith or math op that a scalar operation of a term names."""
    op_class, takes_flags = _op_class(name)
    properties: dict[str, Attribute] = {"fastmath": NO_FASTMATH} if takes_flags else {}
    if predicate is not None:
        table = CMPF_PREDICATES if name == "arith.cmpf" else CMPI_PREDICATES
        properties["predicate"] = IntegerAttr(table.index(predicate), builtin_i64)
    return op_class.create(operands=operands, result_types=[type], properties=properties)


@cache
def _op_class(name: str) -> tuple[type[Operation], bool]:
    dialect = arith.Arith if name.startswith("arith.") else math.Math
    for op in dialect.operations:
        if op.name == name:
            assert issubclass(op, IRDLOperation)
            return op, "fastmath" in op.get_irdl_definition().properties
    raise LimitationError(f"the op {name} is not known")

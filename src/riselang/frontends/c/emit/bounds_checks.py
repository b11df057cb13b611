"""What is checked while a region runs, for calls from Python.

A subscript that is affine is compared with the lengths of its array at the call (`footprints.py`).
All others are compared before each access: those that data decide, and those of which the proof at
the call fails, since a condition that data decide may keep the program from getting there. Nothing
outside of an array is touched then: a load gives 0, a store does nothing, and the first failure is
left in a buffer for the caller. The program goes on, since its loops cannot be left. Divisors of
integers are compared with zero, where some processors trap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.frontends.c.model.scop import ModelStatement, Scop
from riselang.frontends.c.parse.syntax import (
    Access,
    Binary,
    Expression,
    Literal,
    Variable,
    expressions_of,
    inside,
    statements_of,
)
from riselang.support.errors import OutOfRangeError, SourceLocation, UserError

FAILURE = MemRefType(i64, [4])
"""How many checks failed; the number of the first; its index; the length it has to be below."""
REPORT = "rise_c_report"
"""The function that a failed check calls."""
MOST_DIMENSIONS = 64
"""What the number of a check is multiplied with, to make room for that of the dimension."""

Checked = tuple[str, Access]
"""The name of a statement, and one of its accesses."""


@dataclass(frozen=True)
class Check:
    """Something that may fail, and where it was written; without an array it is a division."""

    place: SourceLocation
    array: Variable | None

    def error(self, dimension: int, index: int, bound: int) -> UserError:
        if self.array is None:
            return UserError("the divisor of this division is zero", self.place)
        rank = len(self.array.extents)
        where = f", dimension {dimension}" if rank > 1 else ""
        return OutOfRangeError(index, bound, self.place, f"array {self.array.name}{where}")


def checked(scop: Scop, unproven: AbstractSet[Checked] = frozenset()) -> Scop:
    """A region whose accesses are checked as it runs: those that data decide, and `unproven`."""
    statements = tuple(_checked(each, unproven) for each in scop.statements)
    return replace(scop, statements=statements, is_checked=True)


def _checked(statement: ModelStatement, unproven: AbstractSet[Checked]) -> ModelStatement:
    checks = frozenset(
        access
        for access, subscript in statement.subscripts.items()
        if access.indices and (not subscript.is_exact or (statement.name, access) in unproven)
    )
    return replace(statement, checks=checks, certain=statement.certain - checks)


def is_trapping(expression: Expression) -> bool:
    """Whether an expression is a division that processors may trap: by zero, or by -1."""
    if not isinstance(expression, Binary) or expression.operator not in ("/", "%"):
        return False
    divisor = expression.right
    is_constant = isinstance(divisor, Literal) and divisor.value not in (0, -1)
    return expression.type.is_integer and not is_constant


@lru_cache(maxsize=64)
def checks_of(scop: Scop) -> tuple[Check, ...]:
    """All checks of a region, by their numbers; they are the same for the same text."""
    return tuple(_check(node) for node in _checked_nodes(scop))


def numbers_of(scop: Scop) -> Mapping[int, int]:
    """The numbers of checks, by the identities of the expressions that they are for."""
    return {id(node): number for number, node in enumerate(_checked_nodes(scop))}


def _check(node: Expression) -> Check:
    return Check(node.place, node.variable if isinstance(node, Access) else None)


def _checked_nodes(scop: Scop) -> Iterator[Expression]:
    if not scop.is_checked:
        return
    for statement in scop.statements:
        for inner in statements_of(statement.body):
            for expression in expressions_of(inner):
                for part in inside(expression):
                    if part in statement.checks or is_trapping(part):
                        yield part
    for part in inside(scop.result) if scop.result is not None else ():
        if is_trapping(part):
            yield part


def open_arrays(scop: Scop) -> Sequence[Variable]:
    """Arrays whose lengths the declaration leaves open, so that the caller has to say them."""
    if not checks_of(scop):
        return ()
    views = {each: scop.views.get(each) for each in scop.inputs if each.is_array}
    return [
        variable for variable, view in views.items()
        if (view.extents if view is not None else variable.extents)[0] is None
    ]  # fmt: skip


def raise_failure(scop: Scop, failure: Sequence[int]) -> None:
    """Raises what the first check found that failed, if one did."""
    if not failure[0]:
        return
    number, dimension = divmod(int(failure[1]), MOST_DIMENSIONS)
    raise checks_of(scop)[number].error(dimension, int(failure[2]), int(failure[3]))


def report_function() -> func.FuncOp:
    """Counts a failure; the first one is kept. Regions run on one thread."""
    index = IndexType()
    types: list[Attribute] = [FAILURE, i64, index, index]
    block = Block(arg_types=types)
    failure, number, found, bound = block.args
    builder = Builder(InsertPoint.at_end(block))
    place = builder.insert(arith.ConstantOp.from_int_and_width(0, index)).results[0]
    earlier = builder.insert(memref.LoadOp.get(failure, [place])).results[0]
    one, none = (_integer(builder, value) for value in (1, 0))
    count = builder.insert(arith.AddiOp(earlier, one)).results[0]
    builder.insert(memref.StoreOp.get(count, failure, [place]))
    is_first = builder.insert(arith.CmpiOp(earlier, none, "eq")).results[0]
    body = Block()
    inner = Builder(InsertPoint.at_end(body))
    values = [number, *(inner.insert(arith.IndexCastOp(v, i64)).results[0] for v in (found, bound))]
    for position, value in enumerate(values, 1):
        at = inner.insert(arith.ConstantOp.from_int_and_width(position, index)).results[0]
        inner.insert(memref.StoreOp.get(value, failure, [at]))
    inner.insert(scf.YieldOp())
    builder.insert(scf.IfOp(is_first, [], Region(body)))
    builder.insert(func.ReturnOp())
    function_type = FunctionType.from_lists(types, [])
    return func.FuncOp(REPORT, function_type, Region(block), visibility=StringAttr("private"))


def _integer(builder: Builder, value: int) -> SSAValue:
    return builder.insert(arith.ConstantOp(IntegerAttr(value, i64))).results[0]

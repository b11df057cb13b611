"""Run-time checks in a region, for calls from Python.

An affine subscript is compared with the lengths of its array at the call (`footprints.py`). All
others are compared before each access: data-dependent ones, and those for which the proof at the
call fails, since a data-dependent condition may prevent the access. Nothing out of bounds is
accessed: a load gives 0, a store does nothing, and the first failure is stored in a buffer for the
caller. The program continues, since its loops cannot be left. Integer divisors are compared with
zero, for which some CPUs trap.
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
    direct_expressions,
    walk_expression,
    walk_statement,
)
from riselang.support.errors import OutOfRangeError, SourceLocation, UserError

FAILURE_RECORD_SIZE = MemRefType(i64, [4])
"""The number of failed checks, the number of the first one, its index, and the bound of that."""
REPORT_FUNCTION = "rise_c_report"
"""The function that a failed check calls."""
MAX_DIMENSIONS = 64
"""The factor of the check number in a code that also encodes the dimension."""

CheckedAccess = tuple[str, Access]
"""The name of a statement, and one of its accesses."""


@dataclass(frozen=True)
class RuntimeCheck:
    """A check, and its location in the source; without an array it is a division."""

    location: SourceLocation
    array: Variable | None

    def make_error(self, dimension: int, index: int, bound: int) -> UserError:
        if self.array is None:
            return UserError("the divisor of this division is zero", self.location)
        rank = len(self.array.extents)
        where = f", dimension {dimension}" if rank > 1 else ""
        return OutOfRangeError(index, bound, self.location, f"array {self.array.name}{where}")


def add_checks(scop: Scop, unproven: AbstractSet[CheckedAccess] = frozenset()) -> Scop:
    """Return a region whose accesses are checked at run time: data-dependent and `unproven`
    ones."""
    statements = tuple(_add_checks_to_statement(each, unproven) for each in scop.statements)
    return replace(scop, statements=statements, is_checked=True)


def _add_checks_to_statement(
    statement: ModelStatement, unproven: AbstractSet[CheckedAccess]
) -> ModelStatement:
    checks = frozenset(
        access
        for access, subscript in statement.access_relations.items()
        if access.indices and (not subscript.is_exact or (statement.name, access) in unproven)
    )
    return replace(
        statement, checked_accesses=checks, must_accesses=statement.must_accesses - checks
    )


def is_trapping(expression: Expression) -> bool:
    """Whether an expression is a division that CPUs may trap: by zero, or by -1."""
    if not isinstance(expression, Binary) or expression.operator not in ("/", "%"):
        return False
    divisor = expression.right
    is_constant = isinstance(divisor, Literal) and divisor.value not in (0, -1)
    return expression.type.is_integer and not is_constant


@lru_cache(maxsize=64)
def runtime_checks(scop: Scop) -> tuple[RuntimeCheck, ...]:
    """Return all checks of a region in order; equal texts have equal checks."""
    return tuple(_make_check(node) for node in _expressions_to_check(scop))


def check_numbers(scop: Scop) -> Mapping[int, int]:
    """Return the numbers of checks, by the identities of the expressions that they are for."""
    return {id(node): number for number, node in enumerate(_expressions_to_check(scop))}


def _make_check(node: Expression) -> RuntimeCheck:
    return RuntimeCheck(node.location, node.variable if isinstance(node, Access) else None)


def _expressions_to_check(scop: Scop) -> Iterator[Expression]:
    if not scop.is_checked:
        return
    for statement in scop.statements:
        for inner in walk_statement(statement.body):
            for expression in direct_expressions(inner):
                for part in walk_expression(expression):
                    if part in statement.checked_accesses or is_trapping(part):
                        yield part
    for part in walk_expression(scop.result) if scop.result is not None else ():
        if is_trapping(part):
            yield part


def arrays_of_unknown_length(scop: Scop) -> Sequence[Variable]:
    """Return the arrays whose lengths are not declared, so that the caller must pass them."""
    if not runtime_checks(scop):
        return ()
    views = {each: scop.views.get(each) for each in scop.inputs if each.is_array}
    return [
        variable for variable, view in views.items()
        if (view.extents if view is not None else variable.extents)[0] is None
    ]  # fmt: skip


def raise_failure(scop: Scop, failure: Sequence[int]) -> None:
    """Raise the error of the first check that failed, if any."""
    if not failure[0]:
        return
    number, dimension = divmod(int(failure[1]), MAX_DIMENSIONS)
    raise runtime_checks(scop)[number].make_error(dimension, int(failure[2]), int(failure[3]))


def report_function() -> func.FuncOp:
    """Build the function that counts failures and stores the first one. Regions run on one
    thread."""
    index = IndexType()
    types: list[Attribute] = [FAILURE_RECORD_SIZE, i64, index, index]
    block = Block(arg_types=types)
    failure, number, found, bound = block.args
    builder = Builder(InsertPoint.at_end(block))
    location = builder.insert(arith.ConstantOp.from_int_and_width(0, index)).results[0]
    earlier = builder.insert(memref.LoadOp.get(failure, [location])).results[0]
    one, none = (_i64_constant(builder, value) for value in (1, 0))
    count = builder.insert(arith.AddiOp(earlier, one)).results[0]
    builder.insert(memref.StoreOp.get(count, failure, [location]))
    is_first = builder.insert(arith.CmpiOp(earlier, none, "eq")).results[0]
    body = Block()
    inner = Builder(InsertPoint.at_end(body))
    values = [number, *(inner.insert(arith.IndexCastOp(v, i64)).results[0] for v in (found, bound))]
    for position, value in enumerate(values, 1):
        slot = inner.insert(arith.ConstantOp.from_int_and_width(position, index)).results[0]
        inner.insert(memref.StoreOp.get(value, failure, [slot]))
    inner.insert(scf.YieldOp())
    builder.insert(scf.IfOp(is_first, [], Region(body)))
    builder.insert(func.ReturnOp())
    function_type = FunctionType.from_lists(types, [])
    return func.FuncOp(
        REPORT_FUNCTION, function_type, Region(block), visibility=StringAttr("private")
    )


def _i64_constant(builder: Builder, value: int) -> SSAValue:
    return builder.insert(arith.ConstantOp(IntegerAttr(value, i64))).results[0]

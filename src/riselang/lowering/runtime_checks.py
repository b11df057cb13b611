"""Run-time checks: how a failure is recorded, and how functions pass it to their callers.

A function with a check in it, and every function that calls one, takes an additional buffer after
its parameters: four integers, initially 0. A failed check increments a counter there; the first
one also stores its number, the index and the bound. The program continues with index 0, so that
no access is out of bounds, and the caller reads the buffer at the end.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FileLineColLoc,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.constants import index_constant
from riselang.dialects.location_attributes import location_attribute
from riselang.dialects.module import walk
from riselang.support.errors import SourceLocation

CHECKS = "rise.checks"
"""The module attribute with the location of each check."""
FAILURE_ARGUMENT = "rise.failure"
"""The attribute of the function parameter that is the failure buffer."""
FAILURE_TYPE = MemRefType(i64, [4])
"""The number of failed checks; the first one's number, from 1, its index and its bound."""
REPORT_FUNCTION = "rise_index_error"
"""The function that a failed check calls."""
ATOMIC_ADDI = 1
"""`addi` among the kinds of `memref.atomic_rmw`."""


class CheckLocations:
    """The locations of a module's checks; a check is identified by its number in this list."""

    def __init__(self) -> None:
        self.locations: list[SourceLocation | None] = []

    def add_location(self, location: SourceLocation | None) -> int:
        self.locations.append(location)
        return len(self.locations)


class Checks:
    """The checks of one function, given its entry block."""

    def __init__(self, entry: Block, source_locations: CheckLocations):
        self.entry = entry
        self.source_locations = source_locations
        self.failure: SSAValue | None = None

    @property
    def are_used(self) -> bool:
        return self.failure is not None

    def failure_buffer(self) -> SSAValue:
        """Return the failure buffer, which becomes the last parameter of the function."""
        if self.failure is None:
            self.failure = self.entry.insert_arg(FAILURE_TYPE, len(self.entry.args))
            self.failure.name_hint = "failure"
        return self.failure

    def check_index(
        self, number: SSAValue, bound: SSAValue, location: SourceLocation | None, builder: Builder
    ) -> SSAValue:
        """Return the index `number` if it is below `bound`; else report a failure, and return 0."""
        is_outside = builder.insert(arith.CmpiOp(number, bound, "uge")).results[0]
        check = IntegerAttr(self.source_locations.add_location(location), i64)
        block = Block()
        inner = Builder(InsertPoint.at_end(block))
        position = inner.insert(arith.ConstantOp(check)).results[0]
        inner.insert(
            func.CallOp(REPORT_FUNCTION, [self.failure_buffer(), position, number, bound], [])
        )
        inner.insert(scf.YieldOp())
        builder.insert(scf.IfOp(is_outside, [], Region(block)))
        zero = _constant(0, builder)
        return builder.insert(arith.SelectOp(is_outside, zero, number)).results[0]

    def emit_all_passed(self, builder: Builder) -> SSAValue:
        """Emit whether all checks so far have passed, so that a while loop can end otherwise."""
        zero = _constant(0, builder)
        count = builder.insert(memref.LoadOp.get(self.failure_buffer(), [zero])).results[0]
        none = builder.insert(arith.ConstantOp(IntegerAttr(0, i64))).results[0]
        return builder.insert(arith.CmpiOp(count, none, "eq")).results[0]


def _constant(number: int, builder: Builder) -> SSAValue:
    return builder.insert(index_constant(number)).results[0]


def add_failure_parameters(
    module: ModuleOp, checks: Sequence[Checks], source_locations: CheckLocations
) -> None:
    """Add failure parameters to functions with checks and their callers, and the locations."""
    if not source_locations.locations:
        return
    failing = {check.entry: check for check in checks if check.are_used}
    _propagate_failures(module, failing, source_locations)
    for entry in failing:
        function = entry.parent_op()
        assert isinstance(function, func.FuncOp)
        outputs = list(function.function_type.outputs)
        types = FunctionType.from_lists([argument.type for argument in entry.args], outputs)
        function.properties["function_type"] = types
        mark_argument(function, len(entry.args) - 1, FAILURE_ARGUMENT)
    module.body.block.add_op(_report_function())
    module.attributes[CHECKS] = ArrayAttr(
        [location_attribute(location) for location in source_locations.locations]
    )


def _propagate_failures(
    module: ModuleOp, failing: dict[Block, Checks], source_locations: CheckLocations
) -> None:
    """Pass the failure buffer to calls of functions that can fail; the caller then can, too."""
    calls = [op for op in walk(module) if isinstance(op, func.CallOp)]
    processed: set[Operation] = set()
    while True:
        names = {_function_of(entry).sym_name.data for entry in failing}
        failing_calls = [call for call in calls if call not in processed and _callee(call) in names]
        if not failing_calls:
            return
        for call in failing_calls:
            processed.add(call)
            entry = _enclosing_entry(call)
            caller = failing.setdefault(entry, Checks(entry, source_locations))
            call.operands = [*call.operands, caller.failure_buffer()]


def remove_proven_checks(module: ModuleOp) -> None:
    """Remove the failure parameters if no check is left: all indices were proven to be in bounds.

    Calls of functions that cannot fail are faster.
    """
    if CHECKS not in module.attributes or any(is_failure_report(op) for op in walk(module)):
        return
    failing = {
        op.sym_name.data: op
        for op in module.ops
        if isinstance(op, func.FuncOp) and failure_parameter(op) is not None
    }
    calls: list[func.CallOp] = []
    for function in failing.values():
        for use in function.body.blocks[0].args[-1].uses:
            call = use.operation
            if not isinstance(call, func.CallOp) or _callee(call) not in failing:
                return
            calls.append(call)
    for call in calls:
        call.operands = call.operands[:-1]
    for function in failing.values():
        _remove_last_parameter(function)
    for op in list(module.ops):
        if isinstance(op, func.FuncOp) and op.sym_name.data == REPORT_FUNCTION:
            op.detach()
            op.erase()
    module.attributes.pop(CHECKS)


def _remove_last_parameter(function: func.FuncOp) -> None:
    entry = function.body.blocks[0]
    entry.erase_arg(entry.args[-1])
    outputs = list(function.function_type.outputs)
    types = FunctionType.from_lists([argument.type for argument in entry.args], outputs)
    function.properties["function_type"] = types
    assert function.arg_attrs is not None
    function.arg_attrs = ArrayAttr(function.arg_attrs.data[:-1])


def mark_argument(function: func.FuncOp, position: int, name: str) -> None:
    """Add an attribute to a parameter of a function."""
    count = len(function.function_type.inputs)
    attributes = [] if function.arg_attrs is None else [each.data for each in function.arg_attrs]
    attributes += [{}] * (count - len(attributes))
    attributes[position] = {**attributes[position], name: UnitAttr()}
    function.arg_attrs = ArrayAttr(DictionaryAttr(each) for each in attributes)


def failure_parameter(function: func.FuncOp) -> SSAValue | None:
    """Return the failure buffer that a function takes after its parameters, if it does."""
    marked = function.arg_attrs.data if function.arg_attrs is not None else ()
    if not marked or FAILURE_ARGUMENT not in marked[-1].data:
        return None
    return function.body.blocks[0].args[-1]


def is_failure_report(op: Operation) -> bool:
    """Whether the op reports a failed check."""
    return isinstance(op, func.CallOp) and _callee(op) == REPORT_FUNCTION


def _callee(call: func.CallOp) -> str:
    return call.callee.root_reference.data


def _function_of(entry: Block) -> func.FuncOp:
    function = entry.parent_op()
    assert isinstance(function, func.FuncOp)
    return function


def _enclosing_entry(op: Operation) -> Block:
    parent = op.parent_op()
    while not isinstance(parent, func.FuncOp):
        assert parent is not None
        parent = parent.parent_op()
    return parent.body.blocks[0]


def _report_function() -> func.FuncOp:
    """Build the function that counts a failure; of concurrent ones, exactly one is the first."""
    types: list[Attribute] = [FAILURE_TYPE, i64, IndexType(), IndexType()]
    block = Block(arg_types=types)
    failure, number, index, bound = block.args
    builder = Builder(InsertPoint.at_end(block))
    one = builder.insert(arith.ConstantOp(IntegerAttr(1, i64))).results[0]
    none = builder.insert(arith.ConstantOp(IntegerAttr(0, i64))).results[0]
    location = _constant(0, builder)
    count = memref.AtomicRMWOp(
        operands=[one, failure, [location]],
        properties={"kind": IntegerAttr(ATOMIC_ADDI, i64)},
        result_types=[i64],
    )
    earlier = builder.insert(count).results[0]
    is_first = builder.insert(arith.CmpiOp(earlier, none, "eq")).results[0]
    body = Block()
    inner = Builder(InsertPoint.at_end(body))
    values = [number, *(inner.insert(arith.IndexCastOp(v, i64)).results[0] for v in (index, bound))]
    for position, value in enumerate(values, 1):
        inner.insert(memref.StoreOp.get(value, failure, [_constant(position, inner)]))
    inner.insert(scf.YieldOp())
    builder.insert(scf.IfOp(is_first, [], Region(body)))
    builder.insert(func.ReturnOp())
    function_type = FunctionType.from_lists(types, [])
    return func.FuncOp(
        REPORT_FUNCTION, function_type, Region(block), visibility=StringAttr("private")
    )


def check_locations(module: ModuleOp) -> list[SourceLocation | None]:
    """Return the locations of the checks of a module after phase 1, in order of their numbers."""
    attribute = module.attributes.get(CHECKS)
    locations: list[SourceLocation | None] = []
    for location in attribute if isinstance(attribute, ArrayAttr) else ():
        if isinstance(location, FileLineColLoc):
            file, line, column = location.filename.data, location.line.data, location.column.data
            locations.append(SourceLocation(file, line, column))
        else:
            locations.append(None)
    return locations

"""Pass `raise-to-library-calls`: replaces loops with calls to BLAS routines.

See Lücke et al., CC 2021, section 4.3.

It works on affine loops, where every formulation of a matrix multiplication is the same nest. A
routine chooses the order of its additions, so the pass needs the relaxed float permission. The
calls, and the reasons why other loops did not become calls, are recorded as function attributes.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import affine, arith, func, math
from xdsl.dialects.builtin import (
    ArrayAttr,
    FileLineColLoc,
    Float32Type,
    Float64Type,
    FloatAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from riselang.dialects.module import functions
from riselang.lowering.affine_nests import Loop, Nest
from riselang.lowering.assignments import (
    Assignment,
    Factor,
    NotATensorContraction,
    Sum,
    assignment_of,
    is_pure,
    sum_of_reduction,
)
from riselang.lowering.library_calls import Call, NotALibraryCall, Scale, match_call, match_dot
from riselang.lowering.library_code import CallEmitter
from riselang.lowering.origins import builder_at
from riselang.lowering.passes.contract_rise_floats import FLOAT_PERMISSION
from riselang.support.recursion import with_deep_stack

CALLS_ATTRIBUTE = "rise.library_calls"
MISSED_ATTRIBUTE = "rise.near_library_calls"
MIN_DOT_LENGTH = 32
"""The minimum length of a dot product that becomes a call inside of a loop."""


@dataclass(frozen=True)
class RaiseToLibraryCallsPass(ModulePass):
    """Replaces loops with calls to BLAS routines."""

    name = "raise-to-library-calls"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        permission = op.attributes.get(FLOAT_PERMISSION, StringAttr("relaxed"))
        declared: dict[str, func.FuncOp] = {}
        for function in functions(op):
            if not function.is_declaration:
                raising = _Raiser(declared, permission == StringAttr("relaxed"))
                raising.raise_block(function.body.blocks[0], in_loop=False)
                raising.record(function)
        function_names = {each.sym_name.data for each in op.ops if isinstance(each, func.FuncOp)}
        for name, declaration in declared.items():
            if name not in function_names:
                op.body.block.add_op(declaration)


class _Raiser:
    """Raises the loops of a function, one after the other."""

    def __init__(self, declared: dict[str, func.FuncOp], is_permitted: bool):
        self.declared = declared
        self.is_permitted = is_permitted
        self.calls: list[str] = []
        self.missed: list[str] = []

    def record(self, function: func.FuncOp) -> None:
        for name, lines in ((CALLS_ATTRIBUTE, self.calls), (MISSED_ATTRIBUTE, self.missed)):
            if lines:
                function.attributes[name] = ArrayAttr(StringAttr(line) for line in lines)

    def raise_block(self, block: Block, *, in_loop: bool) -> None:
        for op in list(block.ops):
            if isinstance(op, affine.ForOp) and op.results:
                self.raise_reduction(op, in_loop)
            elif not isinstance(op, Loop) or op.results or not self.raise_nest(Nest(op)):
                for region in op.regions:
                    for inner in region.blocks:
                        self.raise_block(inner, in_loop=in_loop or isinstance(op, Loop))

    def raise_nest(self, nest: Nest) -> bool:
        """Raise a nest, or the loops in it; return False if it is not one assignment."""
        assignment = assignment_of(nest)
        if assignment is None:
            return False
        reasons: list[str] = []
        for attempt in (self.raise_assignment, self.raise_only_reduction):
            try:
                call = attempt(assignment)
                self.calls.append(f"{_location_prefix(nest.loop)}{call}")
                return True
            except (NotALibraryCall, NotATensorContraction) as reason:
                reasons.append(str(reason))
        if assignment.reductions():
            self.missed.append(f"{_location_prefix(nest.loop)}{reasons[-1]}")
        # Its inner loops are tried, too, but reasons are not recorded for them.
        near = list(self.missed)
        for region in nest.loop.regions:
            self.raise_block(region.block, in_loop=True)
        self.missed = near
        return True

    def check_permission(self, call: Call) -> Call:
        if not self.is_permitted:
            raise NotALibraryCall(f'{call} needs float="relaxed"')
        return call

    def raise_assignment(self, assignment: Assignment) -> Call:
        """Replace an assignment by a call."""
        call = self.check_permission(match_call(assignment, assignment.value))
        self.emit_call(call, assignment)
        assignment.root.detach()
        assignment.root.erase()
        return call

    def raise_only_reduction(self, assignment: Assignment) -> Call:
        """Replace the only reduction of an assignment by a call, and keep loops over its result."""
        reductions = assignment.reductions()
        if len(reductions) != 1 or len(reductions[0].results) != 1:
            raise NotALibraryCall(f"it has {len(reductions)} independent reductions")
        (reduction,) = reductions
        call = self.check_permission(
            match_call(assignment, assignment.tensor_contraction_of(reduction.results[0]))
        )
        store = assignment.store
        if call.routine not in ("gemm", "gemv") or _has_load_from(assignment, store.memref):
            raise NotALibraryCall(f"{call} is only a part of the computation of each element")
        self.emit_call(call, assignment)
        builder = builder_at(InsertPoint.before(reduction), reduction.location)
        load = affine.LoadOp(store.memref, list(store.indices), store.map)
        reduction.results[0].replace_all_uses_with(builder.insert(load).result)
        reduction.detach()
        reduction.erase()
        return call

    def emit_call(self, call: Call, assignment: Assignment) -> None:
        builder = builder_at(InsertPoint.before(assignment.root), assignment.root.location)
        if call.addend is not None:
            builder.insert(_initialization_loops(assignment, call.addend))
        elif call.routine == "ger" and call.beta == Scale(0.0):
            builder.insert(_initialization_loops(assignment, None))
        CallEmitter(call, builder, self.declared).emit()

    def raise_reduction(self, loop: affine.ForOp, in_loop: bool) -> None:
        """Replace the dot product of two vectors with a call to dot or nrm2."""
        try:
            if not is_pure(list(loop.body.block.ops)):
                raise NotALibraryCall("it has other effects than the reduction")
            call, addend = match_dot(sum_of_reduction(loop))
            if in_loop and call.lengths[0] < MIN_DOT_LENGTH:
                raise NotALibraryCall(f"{call} is too short to be called in a loop")
            self.check_permission(call)
        except (NotALibraryCall, NotATensorContraction) as reason:
            self.missed.append(f"{_location_prefix(loop)}{reason}")
            self.raise_block(loop.body.block, in_loop=True)
            return
        root = _only_sqrt_use(loop) if _is_square(call) and not _has_addend(addend) else None
        if root is not None:
            call = Call("nrm2", call.lengths, call.operands[:1], call.result, call.alpha,
                        call.beta, None, call.loop_indices)  # fmt: skip
        self.calls.append(f"{_location_prefix(loop)}{call}")
        self.replace_reduction(loop, call, root)

    def replace_reduction(self, loop: affine.ForOp, call: Call, root: Operation | None) -> None:
        builder = builder_at(InsertPoint.before(loop), loop.location)
        writer = CallEmitter(call, builder, self.declared)
        value = writer.emit_with_result()
        if root is not None:
            root.results[0].replace_all_uses_with(value)
            root.detach()
            root.erase()
        else:
            if not call.alpha.is_one:
                value = writer.add(arith.MulfOp(writer.emit_scale(call.alpha), value))
            value = writer.add(arith.AddfOp(value, loop.inits[0]))
            loop.results[0].replace_all_uses_with(value)
        loop.detach()
        loop.erase()


def _has_load_from(assignment: Assignment, buffer: SSAValue) -> bool:
    return any(
        isinstance(op, affine.LoadOp) and op.memref is buffer for op in assignment.root.walk()
    )


def _initialization_loops(assignment: Assignment, source: Factor | None) -> Operation:
    """Return copies of the loops of an assignment that initialize its target."""
    copy = assignment.root.clone()
    counterparts = dict(zip(assignment.root.walk(), copy.walk(), strict=True))
    store = counterparts[assignment.store]
    block = store.parent_block()
    assert isinstance(store, affine.StoreOp)
    assert block is not None
    if source is None:
        type = store.value.type
        assert isinstance(type, Float32Type | Float64Type)
        zero = arith.ConstantOp(FloatAttr(0.0, type))
        block.insert_op_before(zero, store)
        store.operands[0] = zero.result
    else:
        store.operands[0] = counterparts[source.load].results[0]
    for op in reversed(list(block.ops)):
        if op.results and not any(result.uses.get_length() for result in op.results):
            op.detach()
            op.erase()
    return copy


def _is_square(call: Call) -> bool:
    first, second = call.operands
    return first == second and call.alpha.is_one


def _has_addend(addend: Sum) -> bool:
    return any(not product.is_zero for product in addend)


def _only_sqrt_use(loop: affine.ForOp) -> Operation | None:
    """Return the square root of a result, if that is its only use."""
    uses = list(loop.results[0].uses)
    if len(uses) == 1 and isinstance(uses[0].operation, math.SqrtOp):
        return uses[0].operation
    return None


def _location_prefix(op: Operation) -> str:
    location = op.location
    if isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}: "
    return ""


def format_report(module: ModuleOp) -> str:
    """Describe the library calls in a module, and the loops that did not become calls."""
    lines: list[str] = []
    for function in functions(module):
        for attribute, verdict in (
            (CALLS_ATTRIBUTE, "calls"),
            (MISSED_ATTRIBUTE, "does not call a routine:"),
        ):
            attribute_value = function.attributes.get(attribute)
            if isinstance(attribute_value, ArrayAttr):
                lines += [_format_line(function, verdict, each) for each in attribute_value]
    return "".join(lines) or "no loop was found that a library routine could compute\n"


def _format_line(function: func.FuncOp, verdict: str, attribute: Attribute) -> str:
    assert isinstance(attribute, StringAttr)
    access, separator, text = attribute.data.rpartition(": ")
    return f"{access}{separator}{function.sym_name.data} {verdict} {text}\n"

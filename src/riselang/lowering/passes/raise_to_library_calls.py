"""Pass `raise-to-library-calls`: replaces loops by calls of BLAS routines (seed 000, 4.3).

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
from riselang.lowering.assignments import (
    Assignment,
    Factor,
    NoSumOfProducts,
    Sum,
    assignment_of,
    is_pure,
    sum_of_reduction,
)
from riselang.lowering.library_calls import Call, NoCall, Scale, call_of, dot_of
from riselang.lowering.library_code import CallWriter
from riselang.lowering.nests import Loop, Nest
from riselang.lowering.origins import builder_at
from riselang.lowering.passes.contract_rise_floats import FLOAT_PERMISSION
from riselang.support.recursion import deep

CALLS = "rise.library_calls"
NEAR = "rise.near_library_calls"
SHORTEST_DOT = 32
"""The minimum length of a dot product that becomes a call inside of a loop."""


@dataclass(frozen=True)
class RaiseToLibraryCallsPass(ModulePass):
    """Replaces loops by calls of BLAS routines."""

    name = "raise-to-library-calls"

    @deep
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        permission = op.attributes.get(FLOAT_PERMISSION, StringAttr("relaxed"))
        declared: dict[str, func.FuncOp] = {}
        for function in functions(op):
            if not function.is_declaration:
                raising = _Raising(declared, permission == StringAttr("relaxed"))
                raising.block(function.body.blocks[0], in_loop=False)
                raising.report(function)
        known = {each.sym_name.data for each in op.ops if isinstance(each, func.FuncOp)}
        for name, declaration in declared.items():
            if name not in known:
                op.body.block.add_op(declaration)


class _Raising:
    """Raises the loops of a function, one after the other."""

    def __init__(self, declared: dict[str, func.FuncOp], is_permitted: bool):
        self.declared = declared
        self.is_permitted = is_permitted
        self.found: list[str] = []
        self.near: list[str] = []

    def report(self, function: func.FuncOp) -> None:
        for name, lines in ((CALLS, self.found), (NEAR, self.near)):
            if lines:
                function.attributes[name] = ArrayAttr(StringAttr(line) for line in lines)

    def block(self, block: Block, *, in_loop: bool) -> None:
        for op in list(block.ops):
            if isinstance(op, affine.ForOp) and op.results:
                self.reduction(op, in_loop)
            elif not isinstance(op, Loop) or op.results or not self.nest(Nest(op)):
                for region in op.regions:
                    for inner in region.blocks:
                        self.block(inner, in_loop=in_loop or isinstance(op, Loop))

    def nest(self, nest: Nest) -> bool:
        """Raise a nest, or the loops in it; return False if it is not one assignment."""
        assignment = assignment_of(nest)
        if assignment is None:
            return False
        reasons: list[str] = []
        for attempt in (self.whole, self.sum_alone):
            try:
                call = attempt(assignment)
                self.found.append(f"{_place(nest.loop)}{call}")
                return True
            except (NoCall, NoSumOfProducts) as reason:
                reasons.append(str(reason))
        if assignment.reductions():
            self.near.append(f"{_place(nest.loop)}{reasons[-1]}")
        # Its inner loops are tried, too, but reasons are not recorded for them.
        near = list(self.near)
        for region in nest.loop.regions:
            self.block(region.block, in_loop=True)
        self.near = near
        return True

    def permitted(self, call: Call) -> Call:
        if not self.is_permitted:
            raise NoCall(f'{call} needs float="relaxed"')
        return call

    def whole(self, assignment: Assignment) -> Call:
        """Replace an assignment by a call."""
        call = self.permitted(call_of(assignment, assignment.value))
        self.write(call, assignment)
        assignment.root.detach()
        assignment.root.erase()
        return call

    def sum_alone(self, assignment: Assignment) -> Call:
        """Replace the only reduction of an assignment by a call, and keep loops over its result."""
        reductions = assignment.reductions()
        if len(reductions) != 1 or len(reductions[0].results) != 1:
            raise NoCall(f"it has {len(reductions)} independent reductions")
        (reduction,) = reductions
        call = self.permitted(call_of(assignment, assignment.products_of(reduction.results[0])))
        store = assignment.store
        if call.routine not in ("gemm", "gemv") or _reads(assignment, store.memref):
            raise NoCall(f"{call} is only a part of the computation of each element")
        self.write(call, assignment)
        builder = builder_at(InsertPoint.before(reduction), reduction.location)
        load = affine.LoadOp(store.memref, list(store.indices), store.map)
        reduction.results[0].replace_all_uses_with(builder.insert(load).result)
        reduction.detach()
        reduction.erase()
        return call

    def write(self, call: Call, assignment: Assignment) -> None:
        builder = builder_at(InsertPoint.before(assignment.root), assignment.root.location)
        if call.added is not None:
            builder.insert(_filled(assignment, call.added))
        elif call.routine == "ger" and call.beta == Scale(0.0):
            builder.insert(_filled(assignment, None))
        CallWriter(call, builder, self.declared).write()

    def reduction(self, loop: affine.ForOp, in_loop: bool) -> None:
        """Replace a contraction of two vectors by dot or nrm2."""
        try:
            if not is_pure(list(loop.body.block.ops)):
                raise NoCall("it has other effects than the reduction")
            call, rest = dot_of(sum_of_reduction(loop))
            if in_loop and call.lengths[0] < SHORTEST_DOT:
                raise NoCall(f"{call} is too short to be called in a loop")
            self.permitted(call)
        except (NoCall, NoSumOfProducts) as reason:
            self.near.append(f"{_place(loop)}{reason}")
            self.block(loop.body.block, in_loop=True)
            return
        root = _only_root(loop) if _is_square(call) and not _added(rest) else None
        if root is not None:
            call = Call("nrm2", call.lengths, call.operands[:1], call.result, call.alpha,
                        call.beta, None, call.inside)  # fmt: skip
        self.found.append(f"{_place(loop)}{call}")
        self.replace(loop, call, root)

    def replace(self, loop: affine.ForOp, call: Call, root: Operation | None) -> None:
        builder = builder_at(InsertPoint.before(loop), loop.location)
        writer = CallWriter(call, builder, self.declared)
        value = writer.result()
        if root is not None:
            root.results[0].replace_all_uses_with(value)
            root.detach()
            root.erase()
        else:
            if not call.alpha.is_one:
                value = writer.add(arith.MulfOp(writer.scale(call.alpha), value))
            value = writer.add(arith.AddfOp(value, loop.inits[0]))
            loop.results[0].replace_all_uses_with(value)
        loop.detach()
        loop.erase()


def _reads(assignment: Assignment, buffer: SSAValue) -> bool:
    return any(
        isinstance(op, affine.LoadOp) and op.memref is buffer for op in assignment.root.walk()
    )


def _filled(assignment: Assignment, source: Factor | None) -> Operation:
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


def _added(rest: Sum) -> bool:
    return any(not product.is_nothing for product in rest)


def _only_root(loop: affine.ForOp) -> Operation | None:
    """Return the square root of a result, if that is its only use."""
    uses = list(loop.results[0].uses)
    if len(uses) == 1 and isinstance(uses[0].operation, math.SqrtOp):
        return uses[0].operation
    return None


def _place(op: Operation) -> str:
    location = op.location
    if isinstance(location, NameLoc):
        location = location.location
    if isinstance(location, FileLineColLoc):
        return f"{location.filename.data}:{location.line.data}:{location.column.data}: "
    return ""


def report(module: ModuleOp) -> str:
    """Describe the library calls in a module, and the loops that did not become calls."""
    lines: list[str] = []
    for function in functions(module):
        for attribute, verdict in ((CALLS, "calls"), (NEAR, "does not call a routine:")):
            found = function.attributes.get(attribute)
            if isinstance(found, ArrayAttr):
                lines += [_line(function, verdict, each) for each in found]
    return "".join(lines) or "no loop was found that a library routine could compute\n"


def _line(function: func.FuncOp, verdict: str, found: Attribute) -> str:
    assert isinstance(found, StringAttr)
    place, separator, what = found.data.rpartition(": ")
    return f"{place}{separator}{function.sym_name.data} {verdict} {what}\n"

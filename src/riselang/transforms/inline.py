"""Pass `inline`: replaces calls by the bodies of their callees.

Interfaces define calls and callees: a callee is a function, referred to by its symbol, or a
function value, such as a lambda, referred to by the op that defines it. Callees are not removed;
`symbol-dce` and `dce` do that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import CallableOpInterface, ReturnLike, SymbolTable

from riselang.support.recursion import with_deep_stack
from riselang.transforms.interfaces import CallOpInterface, InlinerInterface


@dataclass(frozen=True)
class InlinePass(ModulePass):
    """Replaces each call with the body of its callee if that body is a single block."""

    name = "inline"

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inliner = _Inliner(ctx, set())
        for symbol in list(op.body.block.ops):
            inliner.visit(symbol, ())


@dataclass
class _Inliner:
    context: Context
    visited: set[Operation]

    def visit(self, root: Operation, active: tuple[Operation, ...]) -> None:
        """Inline the calls in `root`, callees first; `active` are the callers of `root`."""
        if root in self.visited:
            return
        self.visited.add(root)
        waiting = _calls_in([root])
        while waiting:
            call = waiting.pop()
            # It may have been inlined already, in the body of a lambda.
            target = _called_op(call) if call.parent is not None else None
            # Calls of recursive functions, direct or indirect, are not inlined.
            if target is None or target in (root, *active) or target.is_ancestor(call):
                continue
            self.visit(target, (*active, root))
            if self._is_legal(call, target):
                waiting.extend(_calls_in(_inline_call(call, target)))

    def _is_legal(self, call: Operation, target: Operation) -> bool:
        callable = target.get_trait(CallableOpInterface)
        assert callable is not None
        arguments = [argument.type for argument in _arguments(call)]
        if arguments != list(callable.get_argument_types(target)):
            return False
        if list(call.result_types) != list(callable.get_result_types(target)):
            return False
        body = callable.get_callable_region(target)
        if len(body.blocks) != 1 or not _has_return(body.block):
            return False
        return all(self._can_inline_op(op, target, call) for op in body.walk())

    def _can_inline_op(self, op: Operation, target: Operation, call: Operation) -> bool:
        dialect = self.context.get_optional_dialect(op.dialect_name())
        interface = dialect.get_interface(InlinerInterface) if dialect is not None else None
        return interface is None or interface.is_legal_to_inline(op, target, call)


def _calls_in(ops: Sequence[Operation]) -> list[Operation]:
    """Return the calls in `ops`, the last one first."""
    inner = [inner for op in ops for inner in op.walk() if _callee(inner) is not None]
    return inner[::-1]


def _callee(op: Operation) -> SymbolRefAttr | SSAValue | None:
    """Return the callee of a call; xDSL's own calls have no interface, but a `callee` symbol."""
    interface = op.get_trait(CallOpInterface)
    if interface is not None:
        return interface.get_callee(op)
    callee = op.get_attr_or_prop("callee")
    return callee if isinstance(callee, SymbolRefAttr) else None


def _arguments(call: Operation) -> Sequence[SSAValue]:
    interface = call.get_trait(CallOpInterface)
    return call.operands if interface is None else interface.get_arguments(call)


def _called_op(call: Operation) -> Operation | None:
    """Return the op that is called, if it is known."""
    callee = _callee(call)
    if isinstance(callee, SymbolRefAttr):
        target = SymbolTable.lookup_symbol(call, callee)
    else:
        target = callee.owner if callee is not None else None
    if isinstance(target, Operation) and target.has_trait(CallableOpInterface):
        return target
    return None


def _has_return(block: Block) -> bool:
    return block.last_op is not None and block.last_op.has_trait(ReturnLike)


def _inline_call(call: Operation, target: Operation) -> list[Operation]:
    """Replace `call` by a copy of the body of `target`, and return the ops of the copy."""
    interface = target.get_trait(CallableOpInterface)
    assert interface is not None
    block = interface.get_callable_region(target).block
    values: dict[SSAValue, SSAValue] = dict(zip(block.args, _arguments(call), strict=True))
    *body, end = block.ops
    copies = [op.clone(values) for op in body]
    Rewriter.insert_op(copies, InsertPoint.before(call))
    results = [values.get(operand, operand) for operand in end.operands]
    Rewriter.replace_op(call, [], results)
    return copies

"""The scopes of size and data type names, which determine where an op may be inlined.

Types mention sizes by name (`array<N, ...>`). A name is bound by the enclosing function, where a
buffer determines its value, or by a `rise.depLambda`. In another scope it may be another size.
"""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface

from riselang.dialects.rise.codegen import SizeOp
from riselang.dialects.rise.dependent import DepLambdaOp
from riselang.dialects.rise.free_names import op_names, visible_names
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.transforms.interfaces import InlinerInterface


class RiseInlining(InlinerInterface):
    """Allows inlining an op where its names have the same binders, but not into an embed."""

    def is_legal_to_inline(self, op: Operation, target: Operation, call: Operation) -> bool:
        if isinstance(call.parent_op(), EmbedOp):
            return False
        if isinstance(op, DepLambdaOp) and op.parameter.data in visible_names(call):
            return False
        names = {op.size.data} if isinstance(op, SizeOp) else op_names(op)
        for name in names:
            binder = binder_of(op, name)
            moves_along = binder is not target and target.is_ancestor(binder)
            if not moves_along and binder is not binder_of(call, name):
                return False
        return True


def binder_of(op: Operation, name: str) -> Operation:
    """The dependent lambda that binds a name at `op`, or else the enclosing function."""
    current = op
    while (parent := current.parent_op()) is not None:
        current = parent
        if isinstance(current, DepLambdaOp) and current.parameter.data == name:
            return current
        if current.has_trait(SymbolOpInterface):
            return current
    return current

"""Where the names of sizes and data types in an op are bound, and so where it may be copied to.

Types name sizes (`array<N, ...>`). The name belongs to the function around the op, where a buffer
gives it a value, or to the `rise.depLambda` that binds it. At another place it may be another size.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Attribute, Operation
from xdsl.traits import SymbolOpInterface

from riselang.dialects.rise.borders import EmbedOp
from riselang.dialects.rise.codegen import SizeOp
from riselang.dialects.rise.dependent import DepLambdaOp, names_in
from riselang.dialects.rise.types import NatAttr, RiseType
from riselang.transforms.interfaces import InlinerInterface


class RiseInlining(InlinerInterface):
    """An op may be copied where its names are bound as before, but not into an embed."""

    def is_legal_to_inline(self, op: Operation, target: Operation, call: Operation) -> bool:
        if isinstance(call.parent_op(), EmbedOp):
            return False
        for name in names_of(op):
            binder = binder_of(op, name)
            moves_along = binder is not target and target.is_ancestor(binder)
            if not moves_along and binder is not binder_of(call, name):
                return False
        return True


def binder_of(op: Operation, name: str) -> Operation:
    """The dependent lambda that binds a name at `op`, or else the function around it."""
    current = op
    while (parent := current.parent_op()) is not None:
        current = parent
        if isinstance(current, DepLambdaOp) and current.parameter.data == name:
            return current
        if current.has_trait(SymbolOpInterface):
            return current
    return current


def names_of(op: Operation) -> frozenset[str]:
    """The sizes and data types that the types and attributes of an op leave open."""
    names = frozenset(name for attribute in _attributes(op) for name in _names(attribute))
    return names | {op.size.data} if isinstance(op, SizeOp) else names


def _attributes(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    yield from op.properties.values()
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.args)


def _names(attribute: Attribute) -> frozenset[str]:
    if isinstance(attribute, NatAttr):
        return attribute.data.variables
    return names_in(attribute) if isinstance(attribute, RiseType) else frozenset()

"""The free size and data type names in types and ops."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, Operation

from riselang.dialects.rise.type_binding import nat_variables, type_variables
from riselang.dialects.rise.types import NatAttr, RiseType


def free_names(type: RiseType) -> frozenset[str]:
    """The free sizes and data types of a type."""
    return nat_variables(type) | frozenset(type_variables(type))


def op_names(op: Operation) -> frozenset[str]:
    """The free names in the types and attributes of an op, without the ops in its regions."""
    return frozenset(name for attribute in _attributes(op) for name in _attribute_names(attribute))


def visible_names(op: Operation) -> Iterator[str]:
    """The free names of the ops before and around `op`, whose values it could use."""
    current: Operation | None = op
    while current is not None:
        earlier = current.prev_op
        while earlier is not None:
            yield from op_names(earlier)
            earlier = earlier.prev_op
        current = current.parent_op()
        bound = None if current is None else current.properties.get("parameter")
        if isinstance(bound, StringAttr):
            yield bound.data


def _attributes(op: Operation) -> Iterator[Attribute]:
    yield from op.result_types
    yield from op.properties.values()
    for region in op.regions:
        for block in region.blocks:
            yield from (argument.type for argument in block.args)


def _attribute_names(attribute: Attribute) -> frozenset[str]:
    if isinstance(attribute, NatAttr):
        return attribute.data.variables
    return free_names(attribute) if isinstance(attribute, RiseType) else frozenset()

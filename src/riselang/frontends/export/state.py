"""The state of an export: the graph, and the maps around the current expression."""

from __future__ import annotations

from riselang.dialects.rise.types import (
    ArrayType,
    RiseType,
    TupleType,
    VectorType,
    components,
    element_of,
)
from riselang.frontends.export.batches import Batch, Data
from riselang.frontends.export.scalars import element_of_scalar
from riselang.frontends.onnx.primitives.graph import Graph
from riselang.nat import Nat
from riselang.support.errors import UserError


def size_of(size: Nat) -> int:
    if not size.is_constant:
        raise UserError(
            f"the size {size} has no value; pass arrays, array types or sizes by name (--size on "
            "the command line)"
        )
    return size.constant


class ExportState:
    """`lengths` are those of the maps around the current expression."""

    def __init__(self) -> None:
        self.graph = Graph()
        self.lengths: list[int] = []

    def zeros(self, type: RiseType, *outer: int) -> Data:
        if isinstance(type, TupleType):
            first, second = components(type)
            return self.zeros(first, *outer), self.zeros(second, *outer)
        if isinstance(type, ArrayType):
            return self.zeros(element_of(type), *outer, size_of(type.length))
        if isinstance(type, VectorType):
            return self.zeros(type.element, *outer, size_of(type.length))
        return Batch(self.graph.full(0, outer, element_of_scalar(type)))

    def scalar(self, number: complex, element: str) -> Batch:
        return Batch(self.graph.full(number, (), element))

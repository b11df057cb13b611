"""Values of a model during import, and the graph of the ops that compute them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from riselang.frontends.stablehlo.elements import ELEMENT_TYPES, ElementType
from riselang.native.mlir.element_dtypes import dtype_of
from riselang.native.mlir.stablehlo_graph import GraphBlock, GraphOp, GraphValue, TensorKind
from riselang.support.errors import LimitationError

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
Kind = tuple[Shape, str]
"""A shape and the name of an element type."""
NO_INPUTS: frozenset[str] = frozenset()
MAX_ELEMENTS = 1 << 40
"""Larger tensors do not fit into the memory of any machine."""
MAX_STORED_COPIES = 1 << 12
"""The number of equal elements up to which a constant is stored as an array."""


class UnknownValueError(Exception):
    """An op needs the value of a tensor to determine its program."""

    def __init__(self, inputs: frozenset[str]):
        super().__init__(", ".join(sorted(inputs)))
        self.inputs = inputs
        """The inputs of the model that the tensor depends on."""
        self.node = "a node"
        """The op, and the node, that needs it."""


def element_name(dtype: np.dtype[Any]) -> str:
    """Return the name of the element type of an array."""
    for name in ELEMENT_TYPES:
        if name != "bf16" and dtype_of(name) == dtype:
            return name
    if dtype.name == "bfloat16":
        return "bf16"
    raise LimitationError(f"elements {dtype} are not supported")


def check_size(shape: Sequence[int]) -> None:
    if prod(shape) > MAX_ELEMENTS:
        raise LimitationError(f"a tensor of the shape {tuple(shape)} is too large")


@dataclass(eq=False)
class Value:
    """A tensor: one that is known, or a value of the graph."""

    graph: Graph
    shape: Shape
    element: str
    array: Array | None = None
    """The tensor, if it is known during import."""
    node: GraphValue | None = None
    inputs: frozenset[str] = NO_INPUTS
    """The inputs of the model whose values determine this one."""
    small_type: str = ""
    """The ONNX type of a float or integer of less than a byte or of 8 bits that `element` holds."""
    dequantized: Dequantized | None = None
    """The integers that it was computed from."""

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def type(self) -> ElementType:
        return ELEMENT_TYPES[self.element]

    @property
    def dtype(self) -> np.dtype[Any]:
        return dtype_of(self.element)

    def known(self) -> Array:
        """Return the tensor; raises an error if it is computed."""
        if self.array is None:
            raise UnknownValueError(self.inputs)
        return self.array

    def integers(self) -> list[int]:
        """Return the known elements as Python integers."""
        return [int(each) for each in self.known().reshape(-1)]

    def in_graph(self) -> GraphValue:
        if self.node is None:
            assert self.array is not None
            self.node = self.graph.add_constant(self.array, (self.shape, self.element))
        return self.node

    def axis(self, number: int) -> int:
        """Return the number of a dimension, which may be counted from the end."""
        if not -self.rank <= number < max(self.rank, 1):
            raise LimitationError(f"the axis {number} of a tensor of rank {self.rank} is invalid")
        return number % max(self.rank, 1)


@dataclass(frozen=True, eq=False)
class Dequantized:
    """Integers that stand for floats: `scale * (values - zero)`."""

    values: Value
    zero: Value | None
    scale: Value
    axis: int | None
    """The dimension along which there are several scales and zero points; None for scalars."""


@dataclass
class _Frame:
    """The ops of a region under construction."""

    ops: list[GraphOp] = field(default_factory=list[GraphOp])
    inputs: set[str] = field(default_factory=set[str])
    made: dict[tuple[str, int], tuple[Value, Value]] = field(
        default_factory=dict[tuple[str, int], tuple["Value", "Value"]]
    )
    """Values that were made of other ones, with these, by name and identity."""


class Graph:
    """Collects ops; those of a region go to the innermost frame."""

    def __init__(self, float: str = "strict") -> None:
        self.float = float
        """The float permission of the program."""
        self._frames = [_Frame()]
        self.label = ""
        """The node of the model that is converted."""

    def constant(self, array: Any, element: str | None = None) -> Value:
        """Return a known tensor."""
        found: Array = np.asarray(array)
        if element is None:
            element = element_name(found.dtype)
        elif found.dtype != dtype_of(element):
            found = found.astype(dtype_of(element))
        return Value(self, found.shape, element, found)

    def full(self, number: complex, shape: Sequence[int], element: str) -> Value:
        check_size(shape)
        scalar = np.asarray(number).astype(dtype_of(element))
        return Value(self, tuple(shape), element, np.broadcast_to(scalar, tuple(shape)))

    def scalar(self, number: complex, like: Value) -> Value:
        return self.full(number, (), like.element)

    def add_constant(self, array: Array, kind: Kind) -> GraphValue:
        result = GraphValue(TensorKind(*kind))
        if array.size > MAX_STORED_COPIES and not any(array.strides):
            scalar = self.add_constant(np.asarray(array[(0,) * array.ndim]), ((), kind[1]))
            self._frames[0].ops.append(
                GraphOp(
                    "stablehlo.broadcast_in_dim", (scalar,), (result,),
                    {"broadcast_dimensions": ()}, (), None, self.label,
                )
            )  # fmt: skip
            return result
        op = GraphOp("stablehlo.constant", (), (result,), {"value": array}, (), None, self.label)
        self._frames[0].ops.append(op)
        return result

    def argument(self, name: str, kind: Kind, inputs: frozenset[str]) -> Value:
        return Value(self, *kind, node=GraphValue(TensorKind(*kind), name), inputs=inputs)

    def emit(
        self,
        name: str,
        operands: Sequence[Value],
        kinds: Sequence[Kind],
        attributes: Mapping[str, Any] | None = None,
        regions: Sequence[GraphBlock] = (),
        inputs: frozenset[str] = NO_INPUTS,
    ) -> list[Value]:
        """Add an op, and return its results."""
        for shape, _ in kinds:
            check_size(shape)
        inputs = inputs.union(*(each.inputs for each in operands))
        self._frames[-1].inputs |= inputs
        nodes = tuple(each.in_graph() for each in operands)
        results = [
            Value(self, shape, element, node=GraphValue(TensorKind(shape, element)), inputs=inputs)
            for shape, element in kinds
        ]
        made = tuple(each.in_graph() for each in results)
        self._frames[-1].ops.append(
            GraphOp(
                f"stablehlo.{name}" if "." not in name else name,
                nodes, made, dict(attributes or {}), tuple(regions), None, self.label,
            )
        )  # fmt: skip
        return results

    def once(self, name: str, source: Value, make: Callable[[], Value]) -> Value:
        """Return what is made of a value, which is made only once in a region."""
        made, key = self._frames[-1].made, (name, id(source))
        if key not in made:
            made[key] = source, make()
        return made[key][1]

    def emit_one(
        self, name: str, operands: Sequence[Value], kind: Kind, **attributes: Any
    ) -> Value:
        return self.emit(name, operands, [kind], attributes)[0]

    @contextmanager
    def _frame(self) -> Generator[_Frame]:
        frame = _Frame()
        self._frames.append(frame)
        try:
            yield frame
        finally:
            self._frames.pop()

    def region(
        self, kinds: Sequence[Kind], body: Callable[..., Sequence[Value]]
    ) -> tuple[GraphBlock, list[Value], frozenset[str]]:
        """Return a region, its results, and the inputs of the model that it depends on."""
        with self._frame() as frame:
            arguments = [self.argument("", kind, NO_INPUTS) for kind in kinds]
            results = list(body(*arguments))
            inputs = frozenset(frame.inputs).union(*(each.inputs for each in results))
            end = GraphOp(
                "stablehlo.return", tuple(each.in_graph() for each in results), (), {}, (), None
            )
            block = GraphBlock(tuple(each.in_graph() for each in arguments), (*frame.ops, end))
        return block, results, inputs

    def finish(self, arguments: Sequence[Value], results: Sequence[Value]) -> GraphBlock:
        """Return the whole graph."""
        nodes = tuple(each.in_graph() for each in results)
        end = GraphOp("func.return", nodes, (), {}, (), None)
        return GraphBlock(tuple(each.in_graph() for each in arguments), (*self._frames[0].ops, end))

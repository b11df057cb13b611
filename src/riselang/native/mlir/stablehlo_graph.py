"""Plain Python values for StableHLO programs: ops, types and attributes.

`stablehlo.py` creates them from a module of the MLIR wheel, so that front ends do not need it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from riselang.support.errors import SourceLocation


@dataclass(frozen=True)
class TensorKind:
    """The type of a tensor; a dynamic dimension is None."""

    shape: tuple[int | None, ...]
    element: str

    def __str__(self) -> str:
        lengths = ["?" if length is None else str(length) for length in self.shape]
        return f"tensor<{'x'.join([*lengths, self.element])}>"


@dataclass(frozen=True, eq=False)
class GraphValue:
    """A value of a program: the result of an op, or an argument of a block."""

    type: TensorKind | str
    """A tensor type, or the text of any other type."""
    name: str = ""
    """Its name in the source program, if known."""


@dataclass(frozen=True)
class OpaqueAttribute:
    """An attribute that is not interpreted, as text."""

    text: str


@dataclass(frozen=True, eq=False)
class GraphOp:
    """An op; attributes are numbers, strings, tuples, NumPy arrays, or mappings of them."""

    name: str
    operands: tuple[GraphValue, ...]
    results: tuple[GraphValue, ...]
    attributes: Mapping[str, Any]
    regions: tuple[GraphBlock, ...]
    location: SourceLocation | None
    label: str = ""
    """The name of its location in the source program, if known."""


@dataclass(frozen=True, eq=False)
class GraphBlock:
    """A region of one block; its last op returns the results."""

    arguments: tuple[GraphValue, ...]
    operations: tuple[GraphOp, ...]

    def walk(self) -> Iterator[GraphOp]:
        """Iterate over all ops, including those in regions, in order."""
        for op in self.operations:
            yield op
            for region in op.regions:
                yield from region.walk()


@dataclass(frozen=True, eq=False)
class GraphFunction:
    """A function without calls."""

    name: str
    body: GraphBlock
    results: tuple[str, ...]
    """The names of the results; empty strings if they are not known."""
    location: SourceLocation | None

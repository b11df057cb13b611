"""Programs of other systems as MLIR has them, as plain values: ops, types and attributes.

`mlir.py` walks a module of the wheel and gives these, so that who reads them needs no wheel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from riselang.support.errors import SourceLocation


@dataclass(frozen=True)
class TensorKind:
    """The type of a tensor; a length that is open is None."""

    shape: tuple[int | None, ...]
    element: str

    def __str__(self) -> str:
        lengths = ["?" if length is None else str(length) for length in self.shape]
        return f"tensor<{'x'.join([*lengths, self.element])}>"


@dataclass(frozen=True, eq=False)
class GraphValue:
    """A value of a program: the result of an op, or an argument of a block."""

    type: TensorKind | str
    """A tensor, or the text of any other type."""
    name: str = ""
    """What its author calls it, if that is known."""


@dataclass(frozen=True)
class OpaqueAttribute:
    """An attribute that nobody here reads, as text."""

    text: str


@dataclass(frozen=True, eq=False)
class GraphOp:
    """One op; attributes are numbers, texts, tuples, numpy arrays, or mappings of them."""

    name: str
    operands: tuple[GraphValue, ...]
    results: tuple[GraphValue, ...]
    attributes: Mapping[str, Any]
    regions: tuple[GraphBlock, ...]
    location: SourceLocation | None
    label: str = ""
    """What its author calls the place it comes from, if that is known."""


@dataclass(frozen=True, eq=False)
class GraphBlock:
    """A region of one block; its last op gives the results."""

    arguments: tuple[GraphValue, ...]
    operations: tuple[GraphOp, ...]

    def walk(self) -> Iterator[GraphOp]:
        """All ops, also those in regions, in order."""
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
    """What the results are called, where that is known; else empty texts."""
    location: SourceLocation | None

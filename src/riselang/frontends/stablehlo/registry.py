"""What each op becomes: registered by name, where it is defined.

`--supported`, the table in the documentation and the check before anything is compiled read these
registries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from riselang.frontends.building import Builder
from riselang.frontends.stablehlo.elements import Element, TensorType
from riselang.frontends.stablehlo.tensors import Tensor
from riselang.support.errors import LimitationError, SourceLocation
from riselang.term.build import Node

if TYPE_CHECKING:
    from riselang.native.mlir.stablehlo_graph import GraphBlock


@dataclass(frozen=True)
class Op:
    """An op with types that are known and supported."""

    name: str
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    attributes: Mapping[str, Any]
    regions: tuple[GraphBlock, ...]
    location: SourceLocation | None
    label: str = ""
    stream: int | None = None
    """Which of the `rng` ops of its program it is; None in a region. See Note [Numbers of rng]."""

    @property
    def result(self) -> TensorType:
        return self.results[0]

    def integers(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """A list of integers, or `default` where there is none."""
        value = self.attributes.get(name)
        if value is None:
            if default is None:
                raise self.refused(f"it lacks {name}")
            return tuple(default)
        return tuple(int(each) for each in value)

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.attributes.get(name, default)
        if value is None:
            raise self.refused(f"it lacks {name}")
        return int(value)

    def refused(self, reason: str, *notes: str) -> LimitationError:
        """What to raise where an op has a form that is not supported."""
        return LimitationError(
            f"{self.name} is not supported here: {reason}", self.location, *notes
        )


def place_notes(label: str) -> list[str]:
    """What to say of the place of an op in the program it was made of."""
    return [f"it comes from {label}"] if label else []


class Regions(Protocol):
    """What lowers the regions of an op."""

    builder: Builder

    def call(self, region: GraphBlock, arguments: Sequence[Tensor]) -> list[Tensor]:
        """The results of a region for these arguments, in the scope of the moment."""
        ...

    def bound_constant(self, value: np.ndarray[Any, Any], type: TensorType) -> Tensor:
        """A constant of many elements, which comes in as an argument."""
        ...


Scalar = Callable[[Builder, Op, Sequence[Node]], Node]
"""What an elementwise op computes of scalars."""
Whole = Callable[[Regions, Op, Sequence[Tensor]], "Tensor | list[Tensor]"]
"""What an op makes of tensors."""


@dataclass(frozen=True)
class Entry:
    """An op that is supported."""

    name: str
    summary: str
    """What it becomes."""


ELEMENTWISE: dict[str, Scalar] = {}
WHOLE: dict[str, Whole] = {}
ENTRIES: dict[str, Entry] = {}


def _register(name: str, summary: str) -> None:
    ENTRIES[name] = Entry(name, summary)


def elementwise(*names: str, summary: str = "") -> Callable[[Scalar], Scalar]:
    """Registers what elementwise ops compute of scalars."""

    def register(function: Scalar) -> Scalar:
        for name in names:
            ELEMENTWISE[name] = function
            _register(name, summary or "`map` over `zip`")
        return function

    return register


def lowers(*names: str, summary: str) -> Callable[[Whole], Whole]:
    """Registers what ops make of whole tensors."""

    def register(function: Whole) -> Whole:
        for name in names:
            WHOLE[name] = function
            _register(name, summary)
        return function

    return register


def supported() -> list[str]:
    """The names of all ops that are supported, in order."""
    return sorted({*ENTRIES, *STRUCTURAL})


STRUCTURAL: Mapping[str, str] = {
    "func.return": "the results of a program",
    "stablehlo.return": "the results of a region",
}
"""Ops that belong to others."""


def same_elements(op: Op) -> Element:
    return op.operands[0].element

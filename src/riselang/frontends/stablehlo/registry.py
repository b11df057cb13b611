"""The registry of supported ops, which register by name where they are defined.

`--supported`, the table in the documentation and the check before compilation read it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from riselang.frontends.stablehlo.elements import TensorType
from riselang.frontends.stablehlo.tensors import Tensor
from riselang.frontends.term_builder import Builder
from riselang.support.errors import InternalError, LimitationError, SourceLocation
from riselang.term.build import Node

if TYPE_CHECKING:
    from riselang.native.mlir.stablehlo_graph import GraphBlock


@dataclass(frozen=True)
class TypedOp:
    """An op with known, supported types."""

    name: str
    operands: tuple[TensorType, ...]
    results: tuple[TensorType, ...]
    attributes: Mapping[str, Any]
    regions: tuple[GraphBlock, ...]
    location: SourceLocation | None
    label: str = ""
    stream: int | None = None
    """The index of an `rng` op in its program; None in a region. See Note [Numbers of rng]."""

    @property
    def result(self) -> TensorType:
        return self.results[0]

    def integer_list(self, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
        """Return a list of integers, or `default` if the attribute is missing."""
        value = self.attributes.get(name)
        if value is None:
            if default is None:
                raise self.unsupported(f"it lacks {name}")
            return tuple(default)
        return tuple(int(each) for each in value)

    def integer(self, name: str, default: int | None = None) -> int:
        value = self.attributes.get(name, default)
        if value is None:
            raise self.unsupported(f"it lacks {name}")
        return int(value)

    def unsupported(self, reason: str, *notes: str) -> LimitationError:
        """Return the error for an op in an unsupported form."""
        return LimitationError(
            f"{self.name} is not supported here: {reason}", self.location, *notes
        )


def location_notes(label: str) -> list[str]:
    """Return notes about the location of an op in its source program."""
    return [f"it comes from {label}"] if label else []


class RegionLowering(Protocol):
    """Lowers the regions of an op."""

    builder: Builder

    def lower_region(self, region: GraphBlock, arguments: Sequence[Tensor]) -> list[Tensor]:
        """Return the results of a region for these arguments, in the current scope."""
        ...

    def add_constant(self, value: np.ndarray[Any, Any], type: TensorType) -> Tensor:
        """Return a large constant, which is passed as an argument."""
        ...


ScalarLowering = Callable[[Builder, TypedOp, Sequence[Node]], Node]
"""The scalar function of an elementwise op."""
TensorLowering = Callable[[RegionLowering, TypedOp, Sequence[Tensor]], "Tensor | list[Tensor]"]
"""The lowering of an op on tensors."""


@dataclass(frozen=True)
class SupportedOp:
    """A supported op."""

    name: str
    summary: str
    """The patterns that it becomes."""


ELEMENTWISE_LOWERINGS: dict[str, ScalarLowering] = {}
TENSOR_LOWERINGS: dict[str, TensorLowering] = {}
SUPPORTED_OPS: dict[str, SupportedOp] = {}
ORDER_KEEPING_OPS: set[str] = set()
"""Ops whose operands may have their dimensions in any order; those of others ascend."""


def _register(name: str, summary: str, function: Callable[..., Any]) -> None:
    known = TENSOR_LOWERINGS.get(name) or ELEMENTWISE_LOWERINGS.get(name)
    if known is not None:
        raise InternalError(
            f"{function.__module__}.{function.__name__} lowers {name}, but so does "
            f"{known.__module__}.{known.__name__}; an op has one lowering function: remove one"
        )
    SUPPORTED_OPS[name] = SupportedOp(name, summary)


def lowers_elementwise(
    *names: str, summary: str = ""
) -> Callable[[ScalarLowering], ScalarLowering]:
    """Register the scalar function of elementwise ops."""

    def register(function: ScalarLowering) -> ScalarLowering:
        for name in names:
            _register(name, summary or "an elementwise `map`", function)
            ELEMENTWISE_LOWERINGS[name] = function
        return function

    return register


def lowers_op(*names: str, summary: str) -> Callable[[TensorLowering], TensorLowering]:
    """Register the lowering of ops on whole tensors."""

    def register(function: TensorLowering) -> TensorLowering:
        for name in names:
            _register(name, summary, function)
            TENSOR_LOWERINGS[name] = function
        return function

    return register


def keeps_order(*names: str) -> Callable[[TensorLowering], TensorLowering]:
    """Mark lowerings of ops whose operands and results may be arrays with dimensions in any
    order."""

    def mark(function: TensorLowering) -> TensorLowering:
        ORDER_KEEPING_OPS.update(names)
        return function

    return mark


def supported_op_names() -> list[str]:
    """Return the sorted names of all supported ops."""
    return sorted({*SUPPORTED_OPS, *STRUCTURAL_OPS})


STRUCTURAL_OPS: Mapping[str, str] = {
    "func.return": "the results of a program",
    "stablehlo.return": "the results of a region",
}
"""Ops that belong to others."""

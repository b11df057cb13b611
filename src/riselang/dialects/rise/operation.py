"""What all ops of the dialect have in common: they are made quickly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from riselang.dialects.classes import PlainClass

T = TypeVar("T")


class RiseOperation(IRDLOperation, metaclass=PlainClass):
    """Made without xDSL's look at the form of each argument, which takes most of the time.

    None of our ops has several operands or results of varying number, so the lists say it all; the
    verifier sees what is wrong.
    """

    def __init__(
        self,
        *,
        operands: Sequence[SSAValue | Sequence[SSAValue]] = (),
        result_types: Sequence[Attribute | Sequence[Attribute]] = (),
        properties: Mapping[str, Attribute | None] | None = None,
        regions: Sequence[Region] = (),
    ):
        Operation.__init__(
            self,
            operands=_flat(operands),
            result_types=_flat(result_types),
            properties=_given(properties or {}),
            regions=regions,
        )


def _flat(parts: Sequence[T | Sequence[T]]) -> list[T]:
    found: list[T] = []
    for part in parts:
        if _is_sequence(part.__class__):
            found.extend(cast(Sequence[T], part))
        else:
            found.append(cast(T, part))
    return found


@cache
def _is_sequence(kind: type) -> bool:
    """Whether values of a class are sequences, which takes long to ask of each of them."""
    return issubclass(kind, Sequence)


def _given(properties: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in properties.items() if value is not None}

"""The base class of all ops of the dialect, with a fast constructor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar, cast

from xdsl.ir import Attribute, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation

from riselang.dialects.metaclasses import PlainClass

T = TypeVar("T")


class RiseOperation(IRDLOperation, metaclass=PlainClass):
    """An op whose constructor skips xDSL's checks of each argument, which take most of the time.

    None of our ops has more than one variadic operand or result, so the lists are unambiguous; the
    verifier finds errors.
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
            operands=_flatten(operands),
            result_types=_flatten(result_types),
            properties=_without_none(properties or {}),
            regions=regions,
        )


def _flatten(parts: Sequence[T | Sequence[T]]) -> list[T]:
    items: list[T] = []
    for part in parts:
        if _is_sequence(part.__class__):
            items.extend(cast(Sequence[T], part))
        else:
            items.append(cast(T, part))
    return items


@cache
def _is_sequence(kind: type) -> bool:
    """Whether a class is a sequence; cached, since the check is slow."""
    return issubclass(kind, Sequence)


def _without_none(properties: Mapping[str, Attribute | None]) -> dict[str, Attribute]:
    return {name: value for name, value in properties.items() if value is not None}

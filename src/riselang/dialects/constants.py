"""Constant indices, which no other op is created as often as."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr

INDEX = IndexType()


def index_constant(number: int) -> arith.ConstantOp:
    """Return a constant index; its attribute is cached."""
    attribute = _index_attribute(number)
    return arith.ConstantOp.create(result_types=[INDEX], properties={"value": attribute})


@lru_cache(maxsize=1 << 12)
def _index_attribute(number: int) -> IntegerAttr[IndexType]:
    return IntegerAttr(number, INDEX)

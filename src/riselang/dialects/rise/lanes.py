"""Lanes: what the operations of arith and math work on, a scalar or each scalar of a vector.

Inside `rise.embed` a scalar is unwrapped to `f32`, and a vector to the builtin `vector<4xf32>`.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.types import RiseType, ScalarType, VectorType, vector

Lanes = ScalarType | VectorType
"""The types of operands and results of operations."""


def lane_of(type: RiseType) -> RiseType:
    """What each lane of a vector holds; a type that is no vector is its own only lane."""
    return type.element if isinstance(type, VectorType) else type


def with_lane(type: RiseType, lane: RiseType) -> RiseType:
    """`lane`, or a vector of as many of it as the vector `type` has."""
    return vector(type.length, lane) if isinstance(type, VectorType) else lane


def unwrapped(type: Lanes) -> Attribute:
    """The type of other dialects that a scalar or a vector has inside an embed."""
    return type.element if isinstance(type, ScalarType) else builtin_vector(type)


@cache
def builtin_vector(type: VectorType) -> BuiltinVectorType[Attribute]:
    """The vector of other dialects."""
    lane, length = type.element, type.length
    if not isinstance(lane, ScalarType) or not length.is_constant or length.constant < 1:
        raise VerifyException(
            f"operations on {type} are not possible: a vector needs a number of lanes that is "
            "known, and at least one"
        )
    return BuiltinVectorType(lane.element, [length.constant])


def wrapped(type: Attribute) -> Lanes | None:
    """The scalar or vector that has this type inside an embed, if there is one."""
    try:
        if not isinstance(type, BuiltinVectorType):
            return ScalarType(type)
        if type.get_num_dims() != 1 or type.get_num_scalable_dims():
            return None
        return vector(type.get_shape()[0], ScalarType(type.element_type))
    except (VerifyException, TypeError):
        return None

"""Lanes: the operand types of arith and math ops, which work on a scalar or each lane of a vector.

Inside `rise.embed`, a scalar is unwrapped to `f32`, and a vector to the builtin `vector<4xf32>`.
These types are signless: the ops, such as `arith.divui`, determine the meaning of the bits.
"""

from __future__ import annotations

from functools import cache

from xdsl.dialects.builtin import VectorType as BuiltinVectorType
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.rise.types import RiseType, ScalarType, VectorType, vector

Lanes = ScalarType | VectorType
"""The types of the operands and results of scalar operations."""


def lane_type(type: RiseType) -> RiseType:
    """The type of a vector's lanes; any other type is its own single lane."""
    return type.element if isinstance(type, VectorType) else type


def with_lane_type(type: RiseType, lane: RiseType) -> RiseType:
    """`lane`, or a vector of it with the length of `type` if that is a vector."""
    return vector(type.length, lane) if isinstance(type, VectorType) else lane


def unwrap_type(type: Lanes) -> Attribute:
    """The builtin type that a scalar or a vector has inside an embed."""
    return type.storage if isinstance(type, ScalarType) else builtin_vector_type(type)


@cache
def builtin_vector_type(type: VectorType) -> BuiltinVectorType[Attribute]:
    """The builtin vector type."""
    lane, length = type.element, type.length
    if not isinstance(lane, ScalarType) or not length.is_constant or length.constant < 1:
        raise VerifyException(
            f"operations on {type} are not possible: the number of lanes of a vector must be a "
            "positive constant"
        )
    return BuiltinVectorType(lane.storage, [length.constant])


def wrap_type(type: Attribute) -> Lanes | None:
    """The scalar or vector that has this type inside an embed, if there is one."""
    try:
        if not isinstance(type, BuiltinVectorType):
            return ScalarType(type)
        if type.get_num_dims() != 1 or type.get_num_scalable_dims():
            return None
        return vector(type.get_shape()[0], ScalarType(type.element_type))
    except (VerifyException, TypeError):
        return None

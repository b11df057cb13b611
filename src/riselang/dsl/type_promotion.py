"""Type promotion: the common type of the operands of an operator.

The table is that of NumPy 2, which contains the table of the Python array API standard. Python
numbers adapt to the values that they are combined with: an integer to any type of numbers, a float
to any float or complex type, and a complex number to any complex type.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from riselang.dialects.rise.numpy_types import DTYPES
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TypeVariable,
    i1,
    i64,
    is_float,
)
from riselang.dialects.rise.types import index as index_type
from riselang.dsl.captures import dtype_by_name
from riselang.dsl.diagnostics import refuse
from riselang.dsl.tracing import current_trace
from riselang.dsl.user_locations import user_location
from riselang.term import build


@cache
def scalar_types() -> dict[np.dtype[Any], ScalarType]:
    """The scalar types by their NumPy types."""
    return {dtype_by_name(name): type for name, type in DTYPES.items()}


@cache
def _numpy_types() -> dict[ScalarType, np.dtype[Any]]:
    return {type: dtype for dtype, type in scalar_types().items()}


def common_type(dtypes: Sequence[Any]) -> ScalarType:
    """Return the type to which NumPy types and Python numbers are promoted."""
    try:
        return scalar_types()[np.result_type(*dtypes)]
    except (TypeError, KeyError):
        names = ", ".join(str(dtype) for dtype in dtypes)
        refuse(f"the types {names} have no common type; convert the arrays with .astype(...)")


def promoted_type(known: Sequence[ScalarType], classes: Sequence[type] = ()) -> ScalarType:
    """Return the common type of values of known types and of Python numbers of these classes."""
    common = known[0]
    if any(type != common for type in known):
        common = common_type([_numpy_type(type) for type in known])
    for number in classes:
        if not _can_represent(common, number):
            common = common_type([_numpy_type(common), number(1)])
    return common


def promote_nodes(nodes: Sequence[build.Node]) -> list[build.Node]:
    """Convert scalars of different types to their common type; vectors stay as they are."""
    trace = current_trace()
    types = [trace.inference.resolve(node.type) for node in nodes]
    known = [type for type in types if isinstance(type, ScalarType)]
    if not known or not all(isinstance(type, ScalarType | TypeVariable) for type in types):
        return list(nodes)
    classes = [_number_class(node, type) for node, type in zip(nodes, types, strict=True)]
    common = promoted_type(known, [each for each in classes if each is not None])
    return [
        node if type == common else _convert(node, type, common)
        for node, type in zip(nodes, types, strict=True)
    ]


def count_booleans(nodes: Sequence[build.Node]) -> list[build.Node]:
    """Return a Boolean that is combined with a number of a type that is still open as 1 or 0.

    The other operand is, for example, a loop's state that starts as a number of the program, whose
    type only its uses determine.
    """
    trace = current_trace()
    types = [trace.inference.resolve(node.type) for node in nodes]
    open_types = [
        type
        for node, type in zip(nodes, types, strict=True)
        if isinstance(type, TypeVariable) and _number_class(node, type) is None
    ]
    if len(open_types) != 1 or i1 not in types:
        return list(nodes)
    return [
        _as_number(node, open_types[0]) if type == i1 else node
        for node, type in zip(nodes, types, strict=True)
    ]


def _as_number(condition: build.Node, type: RiseType) -> build.Node:
    scope, location = current_trace().scope, user_location()
    numbers = [build.Constant(type, number, scope=scope, location=location) for number in (1, 0)]
    return build.Operation(
        type, "arith.select", [condition, *numbers], scope=scope, location=location
    )


def _convert(node: build.Node, type: RiseType, common: ScalarType) -> build.Node:
    trace = current_trace()
    if isinstance(type, TypeVariable):
        trace.unify(common, type, "a number")
        return node
    return build.Conversion(common, node, scope=trace.scope, location=user_location())


def _number_class(node: build.Node, type: RiseType) -> type | None:
    """Return the class of a Python number whose type is not known; None for other values."""
    if not isinstance(type, TypeVariable):
        return None
    if isinstance(node, build.Constant):
        return node.number.__class__
    return current_trace().number_class(type)


def _numpy_type(type: ScalarType) -> np.dtype[Any]:
    return _numpy_types()[i64 if type == index_type else type]


def _can_represent(type: ScalarType, number: type) -> bool:
    """Whether Python numbers of a class adapt to a type."""
    if number is complex:
        return type.is_complex
    if number is float:
        return is_float(type) or type.is_complex
    return type != i1

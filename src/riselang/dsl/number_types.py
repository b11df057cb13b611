"""Types for the Python numbers that are passed to a program or captured by it.

Such a number adapts to the values that it is combined with. If nothing determines its type, it has
the type that NumPy gives it, unlike a literal in the program, which is then an f32 or an i32.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TypeVariable,
    complex128,
    f64,
    i64,
)
from riselang.dsl.user_locations import user_location
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.inference import Inference, TypeMismatch

NUMBER_TYPES: Mapping[type, ScalarType] = {int: i64, float: f64, complex: complex128}
"""NumPy's types for the numbers of each Python class."""
_CLASSES = list(NUMBER_TYPES)

Numbers = Sequence[tuple[RiseType, type]]
"""The type of each Python number, which may be open, and the class of the number."""


def resolve_numbers(inference: Inference, numbers: Numbers, root: build.Node | None = None) -> None:
    """Choose NumPy's type for each number whose type nothing determines.

    If literals below `root` have the same type, it can represent all of them: 3 is a float where it
    is multiplied by 0.5.
    """
    if not any(isinstance(inference.resolve(type), TypeVariable) for type, _ in numbers):
        return
    nodes = () if root is None else build.count_uses(root).counts
    literals = [
        (node.type, node.number.__class__) for node in nodes if isinstance(node, build.Constant)
    ]
    classes: dict[RiseType, type] = {}
    for type, number in (*numbers, *literals):
        unknown = inference.resolve(type)
        if isinstance(unknown, TypeVariable) and number in NUMBER_TYPES:
            known = classes.get(unknown, int)
            classes[unknown] = max(known, number, key=_CLASSES.index)
    for type, number in numbers:
        unknown = inference.resolve(type)
        if isinstance(unknown, TypeVariable):
            _choose(inference, unknown, NUMBER_TYPES[classes.get(unknown, number)])


def widest_class(inference: Inference, numbers: Numbers, unknown: TypeVariable) -> type | None:
    """Return the widest class of the numbers that have this open type; None if there are none."""
    classes = [number for type, number in numbers if inference.resolve(type) == unknown]
    known = [number for number in classes if number in NUMBER_TYPES]
    return max(known, key=_CLASSES.index, default=None)


def _choose(inference: Inference, unknown: TypeVariable, type: ScalarType) -> None:
    try:
        inference.unify(unknown, type)
    except TypeMismatch as error:
        raise UserError(
            f"the type of a Python number cannot be inferred: {error}; pass a NumPy scalar or "
            "array of the right dtype",
            user_location(),
        ) from None

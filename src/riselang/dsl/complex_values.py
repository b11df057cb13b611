"""Complex numbers in traced functions: how they are made, and their parts."""

from __future__ import annotations

from riselang.dialects.rise.types import COMPLEX_TYPES, RiseType, ScalarType, TypeVariable
from riselang.dsl.diagnostics import refuse
from riselang.dsl.tracing import current_trace, type_text
from riselang.dsl.user_locations import user_location
from riselang.term import build


def is_complex(type: RiseType) -> bool:
    return isinstance(type, ScalarType) and type.is_complex


def complex_node(real: build.Node, imaginary: build.Node) -> build.Node:
    """A complex number from its parts; from two numbers without a type, a number without one."""
    trace = current_trace()
    trace.unify(real.type, imaginary.type, "parts of 'complex'")
    part = trace.inference.resolve(real.type)
    parts = [each.number for each in (real, imaginary) if isinstance(each, build.Constant)]
    numbers = [each for each in parts if isinstance(each, int | float)]
    if len(numbers) == 2 and isinstance(part, TypeVariable):
        number, type = complex(*numbers), trace.inference.fresh_type()
        return build.Constant(type, number, scope=trace.scope, location=user_location())
    if part not in COMPLEX_TYPES:
        refuse(f"'complex' takes two scalars of type f32 or f64, but these are {type_text(part)}")
    return _operation(COMPLEX_TYPES[part], "complex", [real, imaginary])


def part_node(name: str, operand: build.Node) -> build.Node:
    """The result of `real`, `imag`, `abs` or `conj` of a complex number."""
    type = current_trace().inference.resolve(operand.type)
    if not isinstance(type, ScalarType) or not type.is_complex:
        refuse(f"'{name}' works on complex numbers, but this is {type_text(type)}")
    return _operation(type if name == "conj" else type.part, name, [operand])


def _operation(type: ScalarType, name: str, operands: list[build.Node]) -> build.Node:
    scope = current_trace().scope
    return build.Operation(type, name, operands, scope=scope, location=user_location())

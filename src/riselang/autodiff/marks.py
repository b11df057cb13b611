"""Patterns that determine derivatives, and otherwise compute what their function computes.

They occur only in programs that are being differentiated: `instantiate` removes them from the
derivative, unless it is differentiated again.
"""

from __future__ import annotations

from riselang.dialects.rise.pattern_spec import PatternSpec, Role, accept_all
from riselang.dialects.rise.types import FunType, RiseType, fun, pair, variable

_s, _t, _r, _u, _v = (variable(name) for name in "struv")


def _mark(name: str, parameters: str, type: RiseType, summary: str) -> PatternSpec:
    assert isinstance(type, FunType)
    return PatternSpec(
        name, tuple(parameters.split()), (), type, Role.VALUE, summary, accept_all,
        in_dialect=False,
    )  # fmt: skip


STOP_GRADIENT = _mark("stopGradient", "t", fun(_t, _t), "a value that is constant for derivatives")
CUSTOM_VJP = _mark(
    "customVjp",
    "s t r",
    fun(fun(_s, _t), fun(_s, pair(_t, _r)), fun(_r, _t, _s), _s, _t),
    "applies the first function; the others compute its result with values for the reverse mode, "
    "and the cotangent of its argument",
)
CUSTOM_JVP = _mark(
    "customJvp",
    "s t u v",
    fun(fun(_s, _t), fun(_s, _u, pair(_t, _v)), _s, _t),
    "applies the first function; the second one computes its result and its tangent",
)
CHECKPOINT = _mark(
    "checkpoint",
    "s t",
    fun(fun(_s, _t), _s, _t),
    "applies the function; reverse mode applies it again instead of storing its values",
)
LINEAR = _mark(
    "linear",
    "s t",
    fun(fun(_s, _t), fun(_t, _s), _s, _t),
    "applies the first function, which is linear; the second one is its transpose",
)
MARKS = (STOP_GRADIENT, CUSTOM_VJP, CUSTOM_JVP, CHECKPOINT, LINEAR)

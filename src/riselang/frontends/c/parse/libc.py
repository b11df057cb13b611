"""C library functions that regions may call: they have no side effects."""

from __future__ import annotations

_UNARY_FUNCTIONS = (
    "acos", "asin", "atan", "cos", "sin", "tan", "acosh", "asinh", "atanh", "cosh", "sinh", "tanh",
    "exp", "exp2", "expm1", "log", "log10", "log1p", "log2", "logb", "cbrt", "fabs", "sqrt", "erf",
    "erfc", "lgamma", "tgamma", "ceil", "floor", "nearbyint", "rint", "round", "trunc",
)  # fmt: skip
_BINARY_FUNCTIONS = (
    "atan2", "pow", "hypot", "fmod", "remainder", "copysign", "nextafter", "fdim", "fmax", "fmin",
)  # fmt: skip
ARITY: dict[str, int] = {
    **{f"{name}{letter}": 1 for name in _UNARY_FUNCTIONS for letter in ("", "f")},
    **{f"{name}{letter}": 2 for name in _BINARY_FUNCTIONS for letter in ("", "f")},
    "fma": 3, "fmaf": 3, "abs": 1, "labs": 1, "llabs": 1,
}  # fmt: skip
"""The number of arguments of each function."""
EXACT_OPS = {
    "sqrt": "math.sqrt", "fabs": "math.absf", "ceil": "math.ceil", "floor": "math.floor",
    "trunc": "math.trunc", "fma": "math.fma", "abs": "math.absi", "labs": "math.absi",
    "llabs": "math.absi",
}  # fmt: skip
"""The functions for which the CPU has instructions with the same result as the library."""


def exact_op(name: str) -> str | None:
    """Return the MLIR op that is equivalent to a function."""
    return EXACT_OPS.get(name) or EXACT_OPS.get(name.removesuffix("f"))

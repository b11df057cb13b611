"""The C math library functions that ops of the math dialect correspond to."""

from __future__ import annotations

from collections.abc import Mapping

LIBRARY_NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "erf", "cbrt", "atan2",
)  # fmt: skip
"""The ops that have the same name as their library function."""

LIBRARY_FUNCTIONS: Mapping[str, str] = {
    "math.powf": "pow",
    **{f"math.{name}": name for name in LIBRARY_NAMES},
}


def is_library_name(name: str) -> bool:
    """Whether a name is that of a function in the math library."""
    names = LIBRARY_FUNCTIONS.values()
    return name in names or (name.endswith("f") and name[:-1] in names)


APPROXIMATED_OPS = frozenset({"math.exp", "math.log", "math.tanh", "math.erf"})
"""The ops that are computed inline for f32 and shorter floats if the float permission is
`relaxed`."""


def is_library_call(op: str, *, is_short: bool, permission: str) -> bool:
    """Whether an op becomes a call to the math library; `is_short` is whether it is on f32, f16 or
    bf16."""
    is_inlined = permission == "relaxed" and is_short and op in APPROXIMATED_OPS
    return op in LIBRARY_FUNCTIONS and not is_inlined

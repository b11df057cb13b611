"""Which function of the C math library each op of the math dialect means."""

from __future__ import annotations

from collections.abc import Mapping

LIBRARY_NAMES = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "erf", "cbrt", "atan2",
)  # fmt: skip
"""The ops that have the name of their library function."""

LIBRARY_FUNCTIONS: Mapping[str, str] = {
    "math.powf": "pow",
    **{f"math.{name}": name for name in LIBRARY_NAMES},
}

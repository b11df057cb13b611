"""The math functions by the name of their op."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from riselang.lowering.accurate_math import exponentials, trigonometry
from riselang.lowering.accurate_math.error_function import erf
from riselang.lowering.accurate_math.values import Double
from riselang.term.mathlib import LIBRARY_FUNCTIONS

MODULES = (exponentials, trigonometry)


def _find(name: str) -> Callable[..., Double]:
    name = name.removeprefix("math.")
    return next(getattr(each, name) for each in MODULES if hasattr(each, name))


FUNCTIONS: Mapping[str, Callable[..., Double]] = {
    "math.erf": erf,
    **{name: _find(name) for name in LIBRARY_FUNCTIONS if name != "math.erf"},
}

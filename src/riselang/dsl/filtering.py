"""`rl.filter` and `rl.compress`: arrays whose length depends on the data."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn

from riselang.dialects.rise.pattern_registry import (
    CLAMP_IDX,
    MAP,
    PAD,
    PAD_CONST,
    REDUCE,
    SCAN,
    SCATTER,
    SIZE_OF,
    TAKE,
    ZIP,
)
from riselang.dialects.rise.types import ArrayType, ScalarType, i64
from riselang.dsl.diagnostics import refuse
from riselang.dsl.pattern_application import apply_pattern
from riselang.dsl.pattern_functions import helper
from riselang.dsl.selection import select
from riselang.dsl.symbolic_values import Value, as_node, build_operation, convert
from riselang.dsl.tracing import type_text
from riselang.nat import Nat


class Filtered(NamedTuple):
    """The elements that were selected, in order, and their number.

    In a program, `values` is as long as the input, and only the first `count` elements are
    selected ones. A program that returns it returns an array of `count` elements.
    """

    values: Any
    count: Any

    def _refuse_operator(self, *_: Any) -> NoReturn:
        """A tuple would be concatenated, repeated or compared."""
        refuse(
            "this is a pair of selected elements and their number, (values, count), of which only "
            "the first `count` elements are valid; use values, count = rl.compress(...), or "
            "rl.where(mask, x, 0).sum() for a sum"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse_operator
    __truediv__ = __rtruediv__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = _refuse_operator

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        self._refuse_operator()

    @staticmethod
    def from_results(values: Any, count: Any) -> Any:
        """Return the selected elements of a result."""
        if isinstance(values, tuple):
            return tuple(part[: int(count)] for part in values)
        return values[: int(count)]


@helper(2)
def filter(predicate: Any, xs: Any) -> Filtered:
    """Select the elements for which a function returns true, in order."""
    selected: Any = compress(_apply(MAP, predicate, xs), xs)
    return selected


@helper(2)
def compress(mask: Any, xs: Any) -> Filtered:
    """Select the elements of an array where a mask, an array of Booleans, is true, in order."""
    array = xs if isinstance(xs, Value) else Value(as_node(xs))
    flags = Value(as_node(mask))
    type = array.type
    if not isinstance(type, ArrayType):
        refuse(f"compress: expected an array, but found {type_text(type)}")
    one, zero = Value(as_node(1, i64)), Value(as_node(0, i64))
    ones = _apply(MAP, lambda flag: select(flag, one, zero), flags)
    ends = _apply(SCAN, _add, zero, ones)
    length = convert(_apply(SIZE_OF, array), i64)
    bound = type.length + Nat.const(1)

    def target(flag: Any, end: Any) -> Value:
        """Return the position of a selected element; the others go to an additional one."""
        position = select(flag, end - 1, length)
        return Value(apply_pattern(CLAMP_IDX, {"n": bound, "t": i64}, [position], None))

    targets = _apply(MAP, target, _apply(ZIP, flags, ends))
    sides = {"l": Nat.const(0), "r": Nat.const(1)}
    start = (
        apply_pattern(PAD_CONST, sides, [0, array], None)
        if isinstance(type.element, ScalarType)
        else apply_pattern(PAD, sides, [array], None)
    )
    scattered = _apply(SCATTER, targets, Value(start), array)
    values = Value(apply_pattern(TAKE, {"k": type.length}, [scattered], None))
    return Filtered(values, _apply(REDUCE, _add, zero, ones))


def _add(left: Any, right: Any) -> Value:
    return build_operation("add", left, right)


def _apply(spec: Any, *arguments: Any) -> Value:
    return Value(apply_pattern(spec, {}, arguments, None))

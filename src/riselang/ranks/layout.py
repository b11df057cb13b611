"""Patterns that only change which elements of buffers an array has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from riselang.dialects.rise.pattern_registry import MAP
from riselang.dialects.rise.types import FunType
from riselang.ranks.plan import Pair, Value
from riselang.ranks.views import Indices, View
from riselang.term.nodes import Bound, Lambda, Literal, Pattern, Term, spine

Sizes = Mapping[str, int]


def map_views(value: Value, change: Callable[[View], View]) -> Value:
    if isinstance(value, View):
        return change(value)
    return Pair(map_views(value.first, change), map_views(value.second, change))


def combine_views(first: Value, second: Value, combine: Callable[[View, View], View]) -> Value:
    if isinstance(first, View):
        assert isinstance(second, View)
        return combine(first, second)
    assert isinstance(second, Pair)
    return Pair(
        combine_views(first.first, second.first, combine),
        combine_views(first.second, second.second, combine),
    )


def _positions(name: str, sizes: Sizes) -> Indices | None:
    """The positions of the elements that a view of one array takes; None for other patterns."""
    n, i = sizes.get("n", 0), np.arange
    left, right = sizes.get("l", 0), sizes.get("r", 0)
    match name:
        case "reverse":
            return i(n)[::-1]
        case "take":
            return i(sizes["k"])
        case "drop":
            return i(sizes["k"], sizes["k"] + n)
        case "pad":
            return np.clip(i(-left, n + right), 0, n - 1)
        case "padWrap":
            return i(-left, n + right) % max(1, n)
        case "padReflect":
            distance = np.abs(i(-left, n + right))
            return np.minimum(distance, 2 * (n - 1) - distance)
        case _:
            return None


def _concatenate(arguments: Sequence[Value], at: int) -> Value:
    first, second = arguments
    return combine_views(first, second, lambda one, other: one.concatenate(at, other))


def _pad_const(arguments: Sequence[Value], sizes: Sizes, at: int) -> Value:
    value, array = arguments
    for count, is_left in ((sizes["l"], True), (sizes["r"], False)):
        if count:
            padding = map_views(value, lambda view, count=count: view.insert(at, [count]))
            ordered = (padding, array) if is_left else (array, padding)
            array = _concatenate(ordered, at)
    return array


def apply_layout(pattern: Pattern, arguments: Sequence[Value], at: int) -> Value:
    """Apply a layout pattern to values; `at` is the number of dimensions of enclosing maps."""
    name = pattern.spec.name
    sizes = {key: value.constant for key, value in pattern.sizes.items()}
    (array, *_) = arguments
    positions = _positions(name, sizes)
    if positions is not None:
        return map_views(array, lambda view: view.select(at, positions))
    match name:
        case "zip" | "tuple":
            return Pair(*arguments)
        case "fst" | "snd":
            assert isinstance(array, Pair)
            return array.first if name == "fst" else array.second
        case "split":
            return map_views(array, lambda view: view.split(at, sizes["m"]))
        case "join":
            return map_views(array, lambda view: view.join(at))
        case "transpose":
            return map_views(array, lambda view: view.swap(at))
        case "slide":
            n, size, step = sizes["n"], sizes["sz"], sizes["sp"]
            return map_views(array, lambda view: view.slide(at, n, size, step))
        case "concat":
            return _concatenate(arguments, at)
        case "padConst":
            return _pad_const(arguments, sizes, at)
        case _:
            return array


LAYOUTS = frozenset((
    "reverse", "take", "drop", "pad", "padWrap", "padReflect", "zip", "unzip", "tuple", "fst",
    "snd", "split", "join", "transpose", "slide", "concat", "padConst", "prefetch", "nontemporal",
))  # fmt: skip
"""The patterns that `apply_layout` knows."""
RANK_LOOPS = ("mapRank", "reduceRank")
RANK_PATTERNS = (*RANK_LOOPS, "shard")


def computes_nothing(term: Term) -> bool:
    """Whether a value consists of elements of variables, and of literals."""
    stack = [term]
    while stack:
        current = stack.pop()
        head, arguments = spine(current)
        if isinstance(head, Bound | Literal) and not arguments:
            if isinstance(head.type, FunType):
                return False
            continue
        if not isinstance(head, Pattern) or len(arguments) != head.spec.arity:
            return False
        if head.spec is MAP or head.spec.name == "generate":
            function, *arguments = arguments
            stack.append(function_body(function))
        elif head.spec.name not in LAYOUTS and head.spec.name != "at":
            return False
        stack += arguments
    return True


def function_body(function: Term) -> Term:
    """Return the body of a function, whose parameter is `Bound(0)`."""
    from riselang.term.nodes import Apply
    from riselang.term.substitution import shift

    if isinstance(function, Lambda):
        return function.body
    assert isinstance(function.type, FunType)
    return Apply(shift(function, 1), Bound(0, function.type.input))

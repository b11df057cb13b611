"""What each pattern means on lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from riselang.nat import Nat
from riselang.term.nodes import Pattern

List = list[Any]
Function = Callable[[Any], Any]


def _size(pattern: Pattern, name: str) -> int:
    value = pattern.argument(name)
    assert isinstance(value, Nat)
    return value.constant


def _map(pattern: Pattern, function: Function, xs: List) -> List:
    results: List = []
    for x in xs:
        results.append(function(x))
    return results


def _reduce(pattern: Pattern, function: Function, init: Any, xs: List) -> Any:
    accumulator = init
    for x in xs:
        accumulator = function(x)(accumulator)
    return accumulator


def _zip(pattern: Pattern, xs: List, ys: List) -> List:
    return list(zip(xs, ys, strict=True))


def _unzip(pattern: Pattern, pairs: List) -> tuple[List, List]:
    return [first for first, _ in pairs], [second for _, second in pairs]


def _split(pattern: Pattern, xs: List) -> List:
    chunk = _size(pattern, "m")
    return [xs[start : start + chunk] for start in range(0, len(xs), chunk)]


def _join(pattern: Pattern, xss: List) -> List:
    return [x for xs in xss for x in xs]


def _transpose(pattern: Pattern, xss: List) -> List:
    return [[xs[column] for xs in xss] for column in range(_size(pattern, "m"))]


def _slide(pattern: Pattern, xs: List) -> List:
    size, step = _size(pattern, "sz"), _size(pattern, "sp")
    return [xs[i * step : i * step + size] for i in range(_size(pattern, "n"))]


def _pad(pattern: Pattern, xs: List) -> List:
    return [xs[0]] * _size(pattern, "l") + xs + [xs[-1]] * _size(pattern, "r")


def _let(pattern: Pattern, value: Any, body: Function) -> Any:
    return body(value)


MEANINGS: Mapping[str, Callable[..., Any]] = {
    "map": _map,
    "mapSeq": _map,
    "mapPar": _map,
    "reduce": _reduce,
    "reduceSeq": _reduce,
    "zip": _zip,
    "unzip": _unzip,
    "tuple": lambda pattern, first, second: (first, second),
    "fst": lambda pattern, pair: pair[0],
    "snd": lambda pattern, pair: pair[1],
    "split": _split,
    "join": _join,
    "transpose": _transpose,
    "slide": _slide,
    "pad": _pad,
    "let": _let,
}

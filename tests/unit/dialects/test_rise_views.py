"""The routes of views: they lead where the interpreter finds the elements, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import pytest
from dialect_text import assert_prints_as_written, read

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.codegen_views import READ_OPS, STORE_OPS, ViewOp
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import (
    ArrayType,
    NatAttr,
    RiseType,
    TupleType,
    VectorType,
    components,
    f32,
    i32,
    uncurry,
)
from riselang.dialects.rise.view_routes import Path, Side, View, make_route
from riselang.interpreter.pattern_semantics import MEANINGS
from riselang.nat import Nat
from riselang.term.nodes import Pattern

VIEWS = {name: spec for name, spec in PATTERNS.items() if spec.view is not None}
SIZES: tuple[Mapping[str, int], ...] = (
    {"n": 3, "m": 2, "k": 2, "l": 1, "r": 2, "sz": 3, "sp": 2, "d": 1},
    {"n": 4, "m": 3, "k": 3, "l": 3, "r": 0, "sz": 2, "sp": 3, "d": 5},
    {"n": 1, "m": 1, "k": 1, "l": 0, "r": 0, "sz": 1, "sp": 1, "d": 0},
)
CASES = pytest.mark.parametrize(
    ("name", "sizes"), [pytest.param(*case, id=case[0]) for case in product(VIEWS, SIZES)]
)
Place = tuple[int | Side, ...]


def given(spec: PatternSpec, sizes: Mapping[str, int]) -> Pattern:
    types: dict[str, Argument] = {"s": f32, "t": i32}
    return Pattern(
        spec, tuple(types.get(name) or Nat.const(sizes[name]) for name in spec.parameters)
    )


def types_of(pattern: Pattern) -> tuple[RiseType, RiseType]:
    (argument,), result = uncurry(pattern.type)
    return argument, result


def places(type: RiseType, before: Place = ()) -> Iterator[Place]:
    """The paths to the scalars of a type."""
    if isinstance(type, ArrayType | VectorType):
        for i in range(type.length.constant):
            yield from places(type.element, (*before, i))
    elif isinstance(type, TupleType):
        for side, part in zip(Side, components(type), strict=True):
            yield from places(part, (*before, side))
    else:
        yield before


def value_of(type: RiseType, before: Place = ()) -> Any:
    """A value whose scalars are the paths to them."""
    if isinstance(type, ArrayType | VectorType):
        return [value_of(type.element, (*before, i)) for i in range(type.length.constant)]
    if isinstance(type, TupleType):
        parts = zip(Side, components(type), strict=True)
        return tuple(value_of(part, (*before, side)) for side, part in parts)
    return before


def found(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part.value if isinstance(part, Side) else part]
    return value


def led(pattern: Pattern, function: Any, place: Place) -> Place:
    """Where a route leads to from a path."""
    path = make_route(pattern.spec.name, pattern.spec.parameters, function)
    parts: Path = tuple(part if isinstance(part, Side) else Nat.const(part) for part in place)
    sizes = [pattern.argument(name) for name in path.sizes]
    assert all(isinstance(size, Nat) for size in sizes)
    after = path([size for size in sizes if isinstance(size, Nat)], parts)
    return tuple(part if isinstance(part, Side) else part.constant for part in after)


def view_of(spec: PatternSpec) -> View:
    assert spec.view is not None
    return spec.view


@CASES
def test_what_is_read_is_what_the_interpreter_has(name: str, sizes: Mapping[str, int]) -> None:
    pattern = given(PATTERNS[name], sizes)
    argument, result = types_of(pattern)
    meant = MEANINGS[name](pattern, value_of(argument))
    for place in places(result):
        assert led(pattern, view_of(pattern.spec).read, place) == found(meant, place)


@CASES
def test_what_is_stored_is_read_back(name: str, sizes: Mapping[str, int]) -> None:
    pattern = given(PATTERNS[name], sizes)
    argument, result = types_of(pattern)
    view = view_of(pattern.spec)
    if view.store is None:
        return
    stored: list[Place] = []
    for place in places(argument):
        room = 0 if view.headroom is None else led(pattern, view.headroom, place)[0]
        assert isinstance(room, int)
        if room >= 0:
            stored.append(led(pattern, view.store, place))
            assert led(pattern, view.read, stored[-1]) == place
    assert sorted(stored, key=str) == sorted(places(result), key=str)


def steps(name: str, pattern: Pattern) -> Iterator[tuple[type[ViewOp], RiseType, RiseType]]:
    argument, result = types_of(pattern)
    yield READ_OPS[name], argument, result
    if name in STORE_OPS:
        yield STORE_OPS[name], result, argument


@pytest.mark.sampled(14)
@CASES
def test_a_step_prints_as_it_is_read_and_knows_its_sizes(
    name: str, sizes: Mapping[str, int]
) -> None:
    for step, before, after in steps(name, given(PATTERNS[name], sizes)):
        kept = step.VIEW.size_attribute
        text = "" if kept is None else f"{kept.keyword} <{sizes[kept.parameter]}> "
        source = f'%a = "test.op"() : () -> {before}'
        written = f"{source}\n%0 = {step.name} %a {text}: {before} -> {after}"
        assert_prints_as_written(written)
        (made,) = (op for op in read(written).walk() if isinstance(op, ViewOp))
        for size in made.ROUTE.sizes:
            assert made.size(size) == Nat.const(sizes[size])
        if kept is not None:
            assert made.properties[kept.attribute] == NatAttr(Nat.const(sizes[kept.parameter]))


def test_sizes_come_before_the_parts_of_a_path() -> None:
    with pytest.raises(
        AssertionError, match=r"reverse: .* takes \(i, n\), but sizes must come before"
    ):
        make_route("reverse", ("n", "t"), lambda i, n: n - i)


def test_a_misspelt_size_of_a_route_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        make_route("reverse", ("n", "t"), lambda m, i: m - 1 - i)
    assert str(caught.value) == (
        "reverse: the function of its view takes m, which is neither a parameter of the pattern "
        "(n, t) nor a part of a path (i, j, side)"
    )

"""The states of loops are passed to functions in the structure of the initial state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import riselang as rl

X = np.arange(4, dtype=np.float32)


@dataclass
class Body:
    position: Any
    velocity: Any


class Range(NamedTuple):
    low: Any
    high: Any


def run(function: Any) -> Any:
    return rl.jit(function, backend="interpret")(X)


def reduce_tuple(x: Any) -> Any:
    return x | rl.reduce(lambda s, a: (s[0] + a, rl.max(s[1], a), s[2] + 1.0), (0.0, 0.0, 0.0))


def reduce_spread(x: Any) -> Any:
    def step(total: Any, largest: Any, count: Any, a: Any) -> Any:
        return total + a, rl.max(largest, a), count + 1.0

    return x | rl.reduce(step, (0.0, 0.0, 0.0))


def reduce_pairs(x: Any) -> Any:
    """The state is one parameter, and the components of the element are two."""

    def step(s: Any, a: Any, b: Any) -> Any:
        return s[0] + a, rl.max(s[1], b), s[2] + 1.0

    return rl.zip(x, x) | rl.reduce(step, (0.0, 0.0, 0.0))


def iterate_tuple(x: Any) -> Any:
    return rl.iterate(3, lambda s: (s[1], s[2], s[0]), (x[0], x[1], x[2]))


def iterate_nested(x: Any) -> Any:
    def step(s: Any) -> Any:
        (a, b), rows, c = s
        return (b, a), [rows[1], rows[0]], c + rows[0]

    return rl.iterate(3, step, ((x[0], x[1]), [x[2], x[3]], x[1]))


def while_dictionary(x: Any) -> Any:
    def step(s: dict[str, Any]) -> dict[str, Any]:
        return {"total": s["total"] + s["step"], "step": s["step"] * 2.0}

    return rl.while_(lambda s: s["total"] < 10.0, step, {"total": 0.0, "step": x[1]})


def iterate_dataclass(x: Any) -> Any:
    return rl.iterate(3, lambda s: Body(s.position + s.velocity, s.velocity), Body(x, x[1]))


def scan_tuple(x: Any) -> Any:
    states = x | rl.scan(lambda s, a: (s[0] + a, s[2], s[1]), (0.0, 1.0, 2.0))
    return states | rl.map(lambda a, b, c: a + b * c)


def scan_named(x: Any) -> Any:
    def step(s: Any, a: Any) -> Any:
        return Range(rl.min(s.low, a), rl.max(s.high, a))

    return x | rl.scan(step, Range(1.0, 1.0))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (reduce_tuple, (6, 3, 4)),
        (reduce_spread, (6, 3, 4)),
        (reduce_pairs, (6, 3, 4)),
        (iterate_tuple, (0, 1, 2)),
        (iterate_nested, ((1, 0), [3, 2], 8)),
        (while_dictionary, {"total": 15, "step": 16}),
        (iterate_dataclass, Body([3, 4, 5, 6], 1)),
        (scan_tuple, [2, 3, 5, 8]),
        (scan_named, Range([0, 0, 0, 0], [1, 1, 2, 3])),
    ],
)
def test_functions_receive_the_structure_of_the_state(function: Any, expected: Any) -> None:
    assert as_lists(run(function)) == expected


def as_lists(value: Any) -> Any:
    """Convert the arrays in a result to lists."""
    match value:
        case Range(low, high):
            return Range(as_lists(low), as_lists(high))
        case tuple() | list():
            return type(value)(map(as_lists, value))
        case dict():
            return {name: as_lists(each) for name, each in value.items()}
        case Body(position, velocity):
            return Body(as_lists(position), as_lists(velocity))
        case _:
            return np.asarray(value).tolist()


def test_a_loop_with_a_structure_is_compiled() -> None:
    results = rl.jit(lambda x: (reduce_tuple(x)[1], while_dictionary(x)["total"]))(X)
    assert [float(each) for each in results] == [3, 15]


def test_another_structure_is_rejected() -> None:
    with pytest.raises(
        rl.UserError, match="iterate: a lambda must return a state like the initial one, but found"
    ):
        run(lambda x: rl.iterate(3, lambda s: (s[0], s[1]), (x[0], x[1], x[2])))


def test_the_index_of_a_longer_tuple_explains_how_to_unpack_it() -> None:
    with pytest.raises(rl.UserError, match="a, b, c = t assigns the components of a tuple of"):
        run(lambda x: rl.zip(x, x, x) | rl.map(lambda t: t[2]))


COUNTS: dict[str, Any] = {
    "reduce": lambda x: x | rl.reduce(lambda count, a: count + (a > 1), 0),
    "the Boolean first": lambda x: x | rl.reduce(lambda count, a: (a > 1) + count, 0),
    "a float": lambda x: x | rl.reduce(lambda count, a: count - (a > 1), 4.0),
    "a product": lambda x: x | rl.reduce(lambda product, a: product * (a > -1), 2),
    "iterate": lambda x: rl.iterate(2, lambda count: count + (x[0] < 1), 0),
}


@pytest.mark.parametrize("name", COUNTS)
def test_states_that_start_as_numbers_count_booleans(name: str) -> None:
    assert run(COUNTS[name]) == 2


@pytest.mark.parametrize("start", [1, 1.0])
def test_numbers_get_their_types_when_a_method_needs_them(start: float) -> None:
    def longest_run(x: Any) -> Any:
        lengths = rl.scan(lambda run, is_same: rl.if_(is_same, run + 1, 1), start, x[1:] >= x[:-1])
        return lengths.max()

    result = run(longest_run)
    assert result.dtype == (np.int32 if isinstance(start, int) else np.float32)
    assert result == 4

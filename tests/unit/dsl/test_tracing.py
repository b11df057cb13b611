"""Python functions as programs: what they trace to, and what mistakes say."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import riselang as rl


def notation(function: Callable[..., Any], **sizes: int) -> str:
    return rl.jit(function).trace(**sizes).as_text()


def test_patterns_take_their_last_argument_now_or_later() -> None:
    def now(x: rl.Array["N", rl.f32]):
        return rl.map(lambda a: a + 1.0, x)

    def later(x: rl.Array["N", rl.f32]):
        return rl.map(lambda a: a + 1.0)(x)

    def piped(x: rl.Array["N", rl.f32]):
        return x | rl.map(lambda a: a + 1.0)

    terms = [rl.jit(function).lower(N=3).term for function in (now, later, piped)]
    assert terms[0] == terms[1] == terms[2]


def test_point_free_composition_sees_the_types_of_its_argument() -> None:
    def twice(x: rl.Array["N", "M", rl.f32]):
        return x | rl.map(rl.map(lambda a: a * 2.0))

    assert "x |> map(map(fun(a, a * 2.0)))" in notation(twice, N=2, M=3)
    result = rl.jit(twice)(np.ones((2, 3), np.float32))
    assert np.array_equal(result, np.full((2, 3), 2, np.float32))


def point_free(x: rl.Array["N", "M", rl.f32], y: rl.Array["N", "M", rl.f32]):
    sums = rl.zip(x, y) | rl.map(rl.zip) | rl.map(rl.map(rl.add))
    return (
        sums | rl.map(rl.split(2)) | rl.map(rl.transpose) | rl.map(rl.map(rl.reduce(rl.add, 0.0)))
    )


def test_patterns_given_as_functions_stay_themselves() -> None:
    assert notation(point_free, N=2, M=4) == (
        "fun((x : 2.4.f32, y : 2.4.f32),\n"
        "  zip(x, y) |> map(zip) |> map(map(add)) |> map(split(2)) |> map(transpose)\n"
        "  |> map(map(reduce(add, 0.0))))"
    )
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    for backend in ("compile", "interpret"):
        result = rl.jit(point_free, backend=backend)(x, x)
        assert result.tolist() == [[4, 8], [20, 24]]


def test_what_a_partly_applied_pattern_is_given_is_computed_once() -> None:
    def padded(x: rl.Array["N", "M", rl.f32], y: rl.Array["N", rl.f32]):
        return x | rl.map(rl.pad_const(1, 1, y | rl.reduce(rl.add, 0.0)))

    assert "let shared = y |> reduce(add, 0.0);" in notation(padded, N=2, M=3)


def test_a_pattern_without_its_sizes_is_no_function() -> None:
    @rl.jit
    def chunks(x: rl.Array["N", "M", rl.f32]):
        return x | rl.map(rl.split)

    with pytest.raises(rl.UserError, match=r"split needs m first, as in rl\.split\(m\)"):
        chunks.trace()


def scaled_sum(s: Any, a: Any, b: Any) -> Any:
    return s * a + b


CURRIED: list[Callable[..., Any]] = [
    functools.partial(scaled_sum, 2.0),
    lambda a, b: scaled_sum(2.0, a, b),
    lambda a: lambda b: scaled_sum(2.0, a, b),
]


@pytest.mark.parametrize("function", CURRIED, ids=["partial", "of two", "giving a function"])
def test_a_function_is_uncurried_where_it_meets_pairs(function: Callable[..., Any]) -> None:
    def program(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
        return rl.zip(x, y) | rl.map(function)

    x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    assert rl.jit(program)(x, y).tolist() == [5, 8]


def test_a_function_that_gives_a_function_takes_two_arguments() -> None:
    @rl.jit
    def total(x: rl.Array["N", rl.f32]):
        return x | rl.reduce(lambda sum: lambda element: sum - element, 0.0)

    assert total(np.array([1, 2, 3], np.float32)) == -6


def test_a_function_of_two_arguments_destructures_pairs() -> None:
    def product(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.f32]):
        return rl.zip(x, y) | rl.map(lambda a, b: a * b)

    assert "map(mult)" in notation(product, N=3)


def test_reduce_takes_accumulator_then_element() -> None:
    @rl.jit
    def digits(x: rl.Array["N", rl.i32]):
        return x | rl.reduce(lambda accumulator, element: accumulator * 10 + element, 0)

    assert digits(np.array([1, 2, 3], np.int32)) == 123


def test_three_arguments_meet_a_pair_and_an_accumulator() -> None:
    @rl.jit
    def dot(x: rl.Array["N", rl.i64], y: rl.Array["N", rl.i64]):
        return rl.zip(x, y) | rl.reduce(lambda total, a, b: a * b + total, 0)

    assert dot(np.array([1, 2, 3]), np.array([4, 5, 6])) == 32


def test_numbers_take_the_type_of_their_use() -> None:
    def half(x: rl.Array["N", rl.f64]):
        return x | rl.map(lambda a: a * 0.5)

    assert "0.5_f64" in notation(half, N=2)


def test_a_computed_value_used_twice_is_named_and_a_view_is_not() -> None:
    def shared(x: rl.Array["N", rl.f32]):
        y = x | rl.map(lambda a: a * a)
        return rl.zip(y, y) | rl.map(rl.add)

    def viewed(x: rl.Array["N", "M", rl.f32]):
        y = x | rl.transpose
        return rl.zip(y, y) | rl.map(lambda a, b: rl.zip(a, b) | rl.map(rl.add))

    assert "let " in notation(shared, N=3)
    assert "let " not in notation(viewed, N=3, M=2)


def test_operators_build_scalar_operations() -> None:
    @rl.jit
    def mixed(x: rl.Array["N", rl.i32], y: rl.Array["N", rl.i32]):
        return rl.zip(x, y) | rl.map(
            lambda a, b: rl.where((a < b) & (a != 0), a // b + a % b - (-a) * abs(b), a ^ (b | a))
        )

    x = np.array([5, -7, 0, 3], np.int32)
    y = np.array([2, 9, 4, 0], np.int32)

    def expected(a: int, b: int) -> int:
        if a < b and a != 0:
            return a // b + a % b + a * abs(b)
        return a ^ (b | a)

    assert mixed(x, y).tolist() == [
        expected(a, b) for a, b in zip(x.tolist(), y.tolist(), strict=True)
    ]


def test_tuples_are_unpacked_and_packed() -> None:
    @rl.jit
    def swap(x: rl.Array["N", rl.f32], y: rl.Array["N", rl.i32]):
        def flip(pair: Any) -> Any:
            first, second = pair
            return second, first

        return rl.zip(x, y) | rl.map(flip) | rl.unzip

    i, f = swap(np.array([1.5, 2.5], np.float32), np.array([3, 4], np.int32))
    assert i.tolist() == [3, 4]
    assert f.tolist() == [1.5, 2.5]


def test_several_results() -> None:
    @rl.jit
    def statistics(x: rl.Array["N", rl.f64]):
        return x | rl.reduce(rl.add, 0.0), x | rl.reduce(rl.max, -np.inf)

    total, largest = statistics(np.array([1.0, 4.0, 2.0]))
    assert (total, largest) == (7.0, 4.0)


MISTAKES: dict[str, tuple[Callable[..., Any], str]] = {}


def mistake(message: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        MISTAKES[function.__name__] = (function, message)
        return function

    return register


@mistake("zip, argument 2: expected 3._, but found 4.f32; the lengths 3 and 4 differ")
def zip_of_different_lengths(x: rl.Array[3, rl.f32], y: rl.Array[4, rl.f32]):
    return rl.zip(x, y) | rl.map(rl.add)


@mistake("operands of 'add': expected f32, but found i32")
def adding_float_and_integer(x: rl.Array[3, rl.f32], y: rl.Array[3, rl.i32]):
    return rl.zip(x, y) | rl.map(rl.add)


@mistake("join, argument 1: expected 3._._, but found 3.f32")
def join_of_a_flat_array(x: rl.Array[3, rl.f32]):
    return x | rl.join


@mistake("split: m must be at least 1, but is 0")
def split_into_nothing(x: rl.Array[3, rl.f32]):
    return x | rl.split(0) | rl.join


@mistake("the lengths _ * 2 and 3 differ")
def split_that_does_not_divide(x: rl.Array[3, rl.f32]):
    return x | rl.split(2) | rl.join


@mistake("'+' cannot broadcast the shapes (3,) and (2,): the lengths 3 and 2 differ")
def adding_arrays(x: rl.Array[3, rl.f32]):
    return x + x[1:]


@mistake("the function passed to map takes 2 arguments, but map passes it 1, of type f32")
def a_function_with_too_many_parameters(x: rl.Array[3, rl.f32]):
    return x | rl.map(lambda a, b: a)


@mistake("Python's if, and, or, not cannot test it; use rl.where(condition, a, b)")
def branching_on_a_value(x: rl.Array[3, rl.f32]):
    return x | rl.map(lambda a: a if a > 0.0 else -a)


@mistake("map, argument 1: expected a function, but found 3")
def a_number_where_a_function_goes(x: rl.Array[3, rl.f32]):
    return x | rl.map(3)


@mistake("map takes 2 arguments, but got 3")
def too_many_arguments(x: rl.Array[3, rl.f32]):
    return rl.map(lambda a: a, x, x)


@mistake("'a' is used outside the function whose parameter it is")
def a_value_that_escapes(x: rl.Array[3, rl.f32]):
    kept: list[Any] = []
    y = x | rl.map(lambda a: kept.append(a) or a)
    return y | rl.map(lambda b: b + kept[0])


@mistake("'div' is not defined on i32")
def dividing_integers(x: rl.Array[3, rl.i32]):
    return x | rl.map(lambda a: rl.div(a, 2))


@mistake("300 cannot be a literal of type i8: it does not fit into 8 bits")
def a_literal_that_does_not_fit(x: rl.Array[3, rl.i8]):
    return x | rl.map(lambda a: a + 300)


@mistake("slide(sz, sp): 2.5 is not a size: it is not a number or a size expression")
def a_size_that_is_no_number(x: rl.Array[3, rl.f32]):
    return x | rl.slide(2.5, 1) | rl.join


@mistake("returns nothing; return the value it computes")
def a_function_without_result(x: rl.Array[3, rl.f32]):
    x | rl.map(lambda a: a)  # pyright: ignore[reportUnusedExpression]


@mistake("a_partial_application returns the function map, which lacks 1 argument;")
def a_partial_application(x: rl.Array[3, rl.f32]):
    return rl.map(lambda a: a)


@pytest.mark.parametrize("name", MISTAKES)
def test_common_errors_are_explained(name: str) -> None:
    function, message = MISTAKES[name]
    with pytest.raises(rl.UserError) as caught:
        rl.jit(function).lower()
    assert message in caught.value.message
    lines, first = inspect.getsourcelines(function)
    location = caught.value.location
    assert location is not None
    assert location.file == __file__
    assert first <= location.line < first + len(lines)
    assert "^" in str(caught.value)


def test_an_error_points_at_the_line_of_the_user() -> None:
    with pytest.raises(rl.UserError) as caught:
        rl.jit(zip_of_different_lengths).lower()
    location = caught.value.location
    assert location is not None
    assert location.file == __file__
    assert "rl.zip(x, y)" in (location.source_line or "")
    assert "^^^^" in str(caught.value)


def test_patterns_outside_a_traced_function_say_so() -> None:
    with pytest.raises(rl.UserError, match="decorate the function with"):
        rl.map(lambda a: a, np.ones(3, np.float32))


def test_sizes_and_types_that_nothing_else_tells() -> None:
    @rl.jit
    def counted(x: rl.f64):
        return rl.generate(lambda i: rl.from_idx(i), n=4), x + rl.literal(1, rl.f64)

    numbers, total = counted(2.0)
    assert numbers.tolist() == [0, 1, 2, 3]
    assert total == 3

    @rl.jit
    def wrong(x: rl.Array[4, rl.f32]):
        return x | rl.reverse(k=4)

    with pytest.raises(rl.UserError, match="reverse has no inferred size k; it has n"):
        wrong.lower()


def test_a_tuple_is_unpacked_into_as_many_components_as_there_are_variables() -> None:
    @rl.jit
    def unpacked(x: Any, y: Any, z: Any) -> Any:
        def combine(state: Any) -> Any:
            a, b, c = state
            first, (second, third) = state
            head, *tail = state
            assert len(tail) == 2
            return (a - b - c) + 10 * (first - second - third) + 100 * (head - tail[0] - tail[1])

        return rl.zip(x, y, z) | rl.map(lambda state: combine(state))

    result = unpacked(np.array([9.0]), np.array([3.0]), np.array([1.0]))
    assert result.tolist() == [555.0]

"""From nodes under construction to terms: lets, literals, operators and their errors."""

from collections.abc import Callable
from typing import Any

import pytest

import riselang as rl
from riselang.dialects.rise.types import RiseType, array, f32, f64, fun, i1, i8, i32
from riselang.dsl.symbolic_values import Value
from riselang.dsl.tracing import trace_function
from riselang.support.errors import UserError
from riselang.term import build
from riselang.term.finish import finish
from riselang.term.nodes import Apply, Lambda, Literal, Pattern, Scalar, Term


def term_of(function: Callable[..., Any], *types: RiseType) -> Term:
    names = [f"p{position}" for position in range(len(types))]
    root, trace, _ = trace_function(function, names, types)
    return finish(root, trace.inference)


def subterms(term: Term) -> list[Term]:
    found: list[Term] = []
    stack = [term]
    while stack:
        found.append(stack.pop())
        stack.extend(found[-1].children)
    return found


def lets_in(term: Term) -> int:
    return sum(isinstance(t, Pattern) and t.spec.name == "let" for t in subterms(term))


XS = array("N", f32)


def test_a_computed_value_used_twice_becomes_a_let() -> None:
    def program(xs: Value) -> Any:
        squares = xs | rl.map(lambda x: x * x)
        return rl.zip(squares, squares)

    term = term_of(program, XS)
    assert lets_in(term) == 1
    assert sum(isinstance(t, Scalar) for t in subterms(term)) == 1


def test_a_value_used_once_does_not() -> None:
    def program(xs: Value) -> Any:
        squares = xs | rl.map(lambda x: x * x)
        return squares | rl.reduce(rl.add, 0.0)

    assert lets_in(term_of(program, XS)) == 0


def test_views_are_not_shared() -> None:
    def program(xs: Value) -> Any:
        windows = xs | rl.pad(1, 1) | rl.slide(3, 1)
        return rl.zip(windows, windows)

    assert lets_in(term_of(program, XS)) == 0


def test_parameters_and_literals_are_not_shared() -> None:
    assert lets_in(term_of(lambda x: x * x + x, f32)) == 0


def test_a_shared_scalar_is_bound_in_the_function_where_it_was_made() -> None:
    def element(x: Value) -> Any:
        shifted = x + 1.0
        return shifted * shifted

    term = term_of(lambda xs: xs | rl.map(element), XS)
    assert lets_in(term) == 1
    assert isinstance(term, Lambda)
    assert isinstance(term.body, Apply), "the let stands inside the function of the map"


def test_lets_nest_in_the_order_they_were_made() -> None:
    def program(xs: Value) -> Any:
        one = xs | rl.map(lambda x: x + 1.0)
        two = rl.zip(one, one) | rl.map(lambda x, y: x * y)
        return rl.zip(two, two)

    term = term_of(program, XS)
    assert lets_in(term) == 2
    assert term == term_of(program, XS)


def test_a_variable_that_escapes_its_function_is_refused() -> None:
    kept: list[Value] = []

    def program(xs: Value) -> Any:
        xs | rl.map(lambda x: kept.append(x) or x)  # type: ignore[func-returns-value]
        return kept[0] + 1.0

    with pytest.raises(UserError, match="'x' is used outside the function whose parameter it is"):
        term_of(program, XS)


def test_names_of_parameters_are_kept() -> None:
    term = term_of(lambda xs: xs | rl.map(lambda element: element + 1.0), XS)
    names = [t.name for t in subterms(term) if isinstance(t, Lambda)]
    assert names == ["p0", "element"]


def literals_of(term: Term) -> list[tuple[object, RiseType]]:
    return [(t.number, t.type) for t in subterms(term) if isinstance(t, Literal)]


@pytest.mark.parametrize(
    ("program", "type", "expected"),
    [
        (lambda x: x + 1, f32, [(1.0, f32)]),
        (lambda x: x + 1, f64, [(1.0, f64)]),
        (lambda x: x + 1, i8, [(1, i8)]),
        (lambda x: 1 - x, i32, [(1, i32)]),
        (lambda x: rl.where(x, 1, 2), i1, [(2, i32), (1, i32)]),
        (lambda x: rl.where(x, 1.0, 2.0), i1, [(2.0, f32), (1.0, f32)]),
    ],
)
def test_numbers_take_the_type_of_their_use(
    program: Callable[..., Any], type: RiseType, expected: list[tuple[object, RiseType]]
) -> None:
    assert sorted(map(str, literals_of(term_of(program, type)))) == sorted(map(str, expected))


@pytest.mark.parametrize(
    ("program", "type", "ops"),
    [
        (lambda x: x + x, f32, ["arith.addf"]),
        (lambda x: x + x, i32, ["arith.addi"]),
        (lambda x: -x, f32, ["arith.negf"]),
        (lambda x: -x, i32, ["arith.subi"]),
        (lambda x: x // x, i32, ["arith.floordivsi"]),
        (lambda x: rl.max(x, x), f32, ["arith.maximumf"]),
        (lambda x: rl.max(x, x), i8, ["arith.maxsi"]),
        (lambda x: x < x, f32, ["arith.cmpf"]),
        (lambda x: x < x, i32, ["arith.cmpi"]),
        (lambda x: x ^ x, i1, ["arith.xori"]),
        (lambda x: rl.cast(x, rl.f64), f32, ["arith.extf"]),
        (lambda x: rl.cast(x, rl.f32), f32, []),
        (lambda x: rl.cast(x, rl.bf16), rl.f16, ["arith.truncf", "arith.extf"]),
        (lambda x: rl.cast(x, rl.i32), f32, ["arith.fptosi"]),
        (lambda x: rl.cast(x, rl.index), f32, ["arith.index_cast", "arith.fptosi"]),
    ],
)
def test_overloads_become_ops(program: Callable[..., Any], type: RiseType, ops: list[str]) -> None:
    assert [t.op for t in subterms(term_of(program, type)) if isinstance(t, Scalar)] == ops


@pytest.mark.parametrize(
    ("program", "types", "message"),
    [
        (lambda x: x + x, [i1], "'+' is not defined on i1; use |"),
        (lambda x: x + 300, [i8], "300 cannot be a literal of type i8"),
    ],
)
def test_operators_without_a_meaning_are_refused(
    program: Callable[..., Any], types: list[RiseType], message: str
) -> None:
    with pytest.raises(UserError) as caught:
        term_of(program, *types)
    assert message in caught.value.message
    assert caught.value.location is not None
    assert caught.value.location.file == __file__


def test_a_type_that_nothing_decides_is_refused() -> None:
    unknown = build.Variable(array("?1", f32), "x")
    scope = build.Scope()
    root = build.Function(fun(unknown.type, unknown.type), [unknown], unknown, scope)
    with pytest.raises(UserError, match="is not determined"):
        finish(root)


@pytest.mark.rotating(3)
def test_a_shared_node_in_a_deep_chain_needs_no_stack() -> None:
    def program(x: Value) -> Any:
        for _ in range(3_000):
            x = x + 1.0
        return x

    term = term_of(program, f32)
    assert term.depth > 3_000

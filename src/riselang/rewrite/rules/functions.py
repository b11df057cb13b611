"""Laws of functions and names: application, abstraction, and what is computed where."""

from __future__ import annotations

from collections.abc import Callable

from riselang.dialects.rise.schemes import LET, MAP, REDUCE, Role
from riselang.dialects.rise.types import DepFunType, FunType
from riselang.rewrite.conditions import relaxed
from riselang.rewrite.eta import eta_expanded, eta_reduced, mentions, without
from riselang.rewrite.laws import Form
from riselang.rewrite.matching import NoMatch
from riselang.rewrite.rule import Found, Permission, Unmet, law, rule
from riselang.rewrite.terms import applied, generalised, outside, rewrapped, swapped, under
from riselang.term.fusion import beta as named_beta
from riselang.term.nodes import Apply, Bound, Lambda, Literal, Pattern, Term, apply_all, spine
from riselang.term.substitution import instantiate, shift
from riselang.term.views import is_view


@rule("f : s -> t, a : s", form=Form.WRITTEN)
def beta(term: Term) -> Term:
    """fun(x, f(x))(a) ~> f(a)

    What is computed and used often is named, not repeated."""
    if not isinstance(term, Apply) or not isinstance(term.function, Lambda):
        raise NoMatch("expected a function that is applied")
    return named_beta(term.function, term.argument)


@rule("f : s -> t, x : n.s", form=Form.WRITTEN)
def eta_expansion(term: Term) -> Term:
    """x |> map(f) ~> x |> map(fun(e, f(e)))

    Functions that are passed to patterns name their parameters."""
    return _with_functions(term, eta_expanded)


@rule("f : s -> t, x : n.s", form=Form.WRITTEN)
def eta_reduction(term: Term) -> Term:
    """x |> map(fun(e, f(e))) ~> x |> map(f)"""
    return _with_functions(term, eta_reduced)


# Names


@rule("f : s -> t, a : s")
def inline_let(term: Term) -> Term:
    """let y = a; f(y) ~> f(a)"""
    value, function = _let(term)
    return instantiate(function.body, value)


@rule("f : s -> t, a : s", condition="a is a view, or y is used once and not in a loop")
def inline_free_let(term: Term) -> Term:
    """let y = a; f(y) ~> f(a)

    Where that repeats no work."""
    value, function = _let(term)
    inlined = named_beta(function, value)
    if inlined == term:
        raise Unmet("the value is computed, and used often")
    return inlined


@rule("c : s, h : t -> s -> u, x : n.t", condition="c is computed, and in all rounds the same")
def hoist_from_map(term: Term) -> Found:
    """x |> map(fun(e, h(e, c))) ~> let y = c; x |> map(fun(e, h(e, y)))

    What is the same in all rounds is computed before the loop."""
    (function,), xs = _loop(term, MAP.name)
    value, rest = _invariant(function, 1)
    return {"c": value, "h": rest, "x": xs}


@rule(
    "c : s, h : t -> u -> s -> u, a : u, x : n.t",
    condition="c is computed, and in all rounds the same",
)
def hoist_from_reduce(term: Term) -> Found:
    """x |> reduce(fun((e, acc), h(e, acc, c)), a)
    ~> let y = c; x |> reduce(fun((e, acc), h(e, acc, y)), a)"""
    (function, start), xs = _loop(term, REDUCE.name)
    value, rest = _invariant(function, 2)
    return {"c": value, "h": rest, "a": start, "x": xs}


@law("a : u, b : u -> s, f : s -> t")
def let_of_let() -> None:
    """let y = (let z = a; b(z)); f(y) ~> let z = a; let y = b(z); f(y)"""


# Parts of functions


@rule("f : t -> u, g : s -> t, x : n.s")
def map_fission(term: Term) -> Found:
    """x |> map(fun(e, f(g(e)))) ~> x |> map(g) |> map(f)

    The first map computes what the outermost operation is applied to."""
    (function,), xs = _loop(term, MAP.name)
    rest, part = _fission(function)
    return {"f": rest, "g": part, "x": xs}


@rule("g : s -> t, f : t -> u -> u, a : u, x : n.s")
def reduce_map_fission(term: Term) -> Found:
    """x |> reduce(fun((e, acc), f(g(e), acc)), a) ~> x |> map(g) |> reduce(f, a)

    The map computes all that does not depend on the accumulator."""
    (function, start), xs = _loop(term, REDUCE.name)
    rest, part = _fission_of_fold(function)
    return {"f": rest, "g": part, "a": start, "x": xs}


# Numbers


@law("a : f32, b : f32, c : f32", relaxed(), permission=Permission.RELAXED)
def fma_as_sum() -> None:
    """fma(a, b, c) ~> a * b + c"""


@law("a : f64, b : f64, c : f64", relaxed(), permission=Permission.RELAXED)
def fma_as_sum_f64() -> None:
    """fma(a, b, c) ~> a * b + c"""


def _with_functions(term: Term, change: Callable[[Term], Term]) -> Term:
    """A pattern with the functions that it is given written in another way."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments:
        raise NoMatch("expected a pattern that is applied")
    changed = [
        change(argument) if isinstance(argument.type, FunType) else argument
        for argument in arguments
    ]
    if changed == arguments:
        raise NoMatch("no function is written that way")
    return apply_all(head, changed)


def _let(term: Term) -> tuple[Term, Lambda]:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        raise NoMatch("expected a let")
    value, function = arguments
    if not isinstance(function, Lambda):
        raise NoMatch("expected a let with its body")
    return value, function


def _loop(term: Term, name: str) -> tuple[list[Term], Term]:
    """The functions and values that a pattern is given, and its array."""
    found = applied(term, name)
    if found is None:
        raise NoMatch(f"expected {name}")
    return [eta_expanded(found[0]), *found[1:-1]], found[-1]


def _invariant(function: Term, parameters: int) -> tuple[Term, Term]:
    """The largest computed part of a function that is the same in all rounds; and the rest."""
    layers, body = under(function, parameters)
    stack: list[tuple[Term, int]] = [(body, parameters)]
    while stack:
        part, inside = stack.pop()
        value = outside(part, inside) if _is_computed(part) else None
        if value is not None:
            rest = generalised(body, shift(value, parameters))
            return value, rewrapped(layers, Lambda("y", value.type, rest))
        inner = inside + 1 if isinstance(part, Lambda) else inside
        stack.extend((child, inner) for child in reversed(part.children))
    raise Unmet("nothing that is computed is the same in all rounds")


def _is_computed(term: Term) -> bool:
    head, arguments = spine(term)
    if isinstance(term.type, FunType | DepFunType) or isinstance(term, Literal | Bound):
        return False
    if isinstance(head, Pattern) and len(arguments) < head.spec.arity:
        return False
    return not is_view(term) and not _generates_number(term)


def _generates_number(term: Term) -> bool:
    """A view whose elements are numbers costs nothing to read either."""
    stack = [term]
    while stack:
        head, arguments = spine(stack.pop())
        if isinstance(head, Literal | Bound) and not arguments:
            continue
        if isinstance(head, Pattern) and head.spec.name == "generate":
            if not isinstance(arguments[0], Lambda) or not isinstance(arguments[0].body, Literal):
                return False
        elif isinstance(head, Pattern) and head.spec.role is Role.VIEW:
            stack.extend(arguments)
        else:
            return False
    return True


def _fission(function: Term) -> tuple[Term, Term]:
    """A function as another one after the part that its outermost operation is applied to."""
    (layer,), body = under(function, 1)
    used = [child for child in body.children if mentions(child, 0)]
    if len(used) != 1 or isinstance(used[0], Bound | Lambda) or isinstance(body, Lambda):
        raise NoMatch("the outermost operation is not applied to one part that is computed")
    (part,) = used
    if isinstance(part.type, FunType):
        raise NoMatch("what would be stored is a function")
    return Lambda("v", part.type, _rest(body, part, 0)), rewrapped([layer], part)


def _fission_of_fold(function: Term) -> tuple[Term, Term]:
    """The function of a fold as one after the part that does not depend on the accumulator."""
    (layer, accumulator), body = under(function, 2)
    part = _of_element_alone(body)
    rest = rewrapped([accumulator], swapped(_rest(body, part, 1)))
    return Lambda("v", part.type, rest), rewrapped([layer], without(part, 0))


def _rest(body: Term, part: Term, element: int) -> Term:
    """What is done with a part, under a lambda for it and without that for the element."""
    rest = generalised(body, part)
    if mentions(rest, element + 1):
        raise NoMatch("the element is used elsewhere, too")
    return without(rest, element + 1)


def _of_element_alone(body: Term) -> Term:
    """The largest part of a fold's function that is computed of the element alone."""
    stack = [body]
    while stack:
        part = stack.pop()
        if mentions(part, 1) and not mentions(part, 0) and _is_computed(part):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("nothing is computed of the element alone")

"""Laws of functions and names: application, abstraction, and what is computed where."""

from __future__ import annotations

from collections.abc import Callable

from riselang.dialects.rise.pattern_registry import (
    FST,
    LET,
    MAP,
    REDUCE,
    SLIDE,
    SND,
    TO_MEM,
    TRANSPOSE,
    ZIP,
    PatternSpec,
)
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, TupleType, components
from riselang.rewrite.conditions import EXACT, RELAXED, relaxed
from riselang.rewrite.eta import eta_expanded, eta_reduced, mentions, without
from riselang.rewrite.laws import Form
from riselang.rewrite.matching import NoMatch
from riselang.rewrite.rule import Found, Permission, Unmet, law, rule
from riselang.rewrite.terms import (
    applied,
    costs_something,
    generalised,
    outside,
    rewrapped,
    under,
    viewed,
)
from riselang.term.fusion import beta as named_beta
from riselang.term.nodes import (
    Apply,
    Bound,
    Lambda,
    Pattern,
    Scalar,
    Term,
    apply_all,
    has_pattern,
    operation_type,
    spine,
)
from riselang.term.substitution import instantiate, shift


@rule("f : s -> t, a : s", form=Form.WRITTEN, head="")
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
    (function,), xs = loop_parts(term, MAP.name)
    value, rest = _invariant(function, 1)
    return {"c": value, "h": rest, "x": xs}


@rule(
    "c : s, h : u -> t -> s -> u, a : u, x : n.t",
    condition="c is computed, and in all rounds the same",
)
def hoist_from_reduce(term: Term) -> Found:
    """x |> reduce(fun((acc, e), h(acc, e, c)), a)
    ~> let y = c; x |> reduce(fun((acc, e), h(acc, e, y)), a)"""
    (function, start), xs = loop_parts(term, REDUCE.name)
    value, rest = _invariant(function, 2)
    return {"c": value, "h": rest, "a": start, "x": xs}


@rule("f : s -> t, a : s")
def name_stored(term: Term) -> Found:
    """f(a |> toMem(heap)) ~> let y = a |> toMem(heap); f(y)

    What is stored on the way to a value stands before it; the innermost comes first."""
    if isinstance(term.type, FunType | DepFunType):
        raise NoMatch("expected data")
    stored, value = _stored_part(term)
    return {"a": value, "f": Lambda("y", stored.type, generalised(term, stored))}


@law("a : u, b : u -> s, f : s -> t")
def let_of_let() -> None:
    """let y = (let z = a; b(z)); f(y) ~> let z = a; let y = b(z); f(y)"""


# Parts of functions


@rule("f : t -> u, g : s -> t, x : n.s")
def map_fission(term: Term) -> Found:
    """x |> map(fun(e, f(g(e)))) ~> x |> map(g) |> map(f)

    The first map computes what the outermost operation is applied to."""
    (function,), xs = loop_parts(term, MAP.name)
    rest, part = _fission(function)
    return {"f": rest, "g": part, "x": xs}


@rule("f : t -> u, g : s -> t, x : n.s")
def folds_first(term: Term) -> Found:
    """x |> map(fun(e, f(g(e)))) ~> x |> map(g) |> map(f)

    The first map computes the folds of each element, the second all that is done with them."""
    (function,), xs = loop_parts(term, MAP.name)
    (layer,), body = under(function, 1)
    part = folds_in(body)
    rest = Lambda("v", part.type, _rest(body, part, 0))
    return {"f": rest, "g": rewrapped([layer], part), "x": xs}


@rule("f : t -> v -> u, g : s -> t, h : s -> v, x : n.s")
def folds_first_with(term: Term) -> Found:
    """x |> map(fun(e, f(g(e), h(e))))
    ~> zip(x |> map(g), x |> map(h)) |> map(fun(p, f(fst(p), snd(p))))

    The same where the second map takes more of the element: a component, or all of it."""
    (function,), xs = loop_parts(term, MAP.name)
    (layer,), body = under(function, 1)
    part = folds_in(body)
    other, rest = _other_part(generalised(body, part), layer.parameter)
    made = Lambda("v", part.type, Lambda("w", other.type, rest))
    return {"f": made, "g": rewrapped([layer], part), "h": rewrapped([layer], other), "x": xs}


@rule("g : s -> t, f : u -> t -> u, a : u, x : n.s")
def reduce_map_fission(term: Term) -> Found:
    """x |> reduce(fun((acc, e), f(acc, g(e))), a) ~> x |> map(g) |> reduce(f, a)

    The map computes all that does not depend on the accumulator."""
    (function, start), xs = loop_parts(term, REDUCE.name)
    rest, part = _fission_of_fold(function)
    return {"f": rest, "g": part, "a": start, "x": xs}


@rule("f : s -> u, x : n.s, y : n.t")
def map_of_firsts(term: Term) -> Found:
    """zip(x, y) |> map(fun(p, f(fst(p)))) ~> x |> map(f)

    What is paired and not looked at is left out."""
    function, xs, ys = _of_component(term, FST)
    return {"f": function, "x": xs, "y": ys}


@rule("f : t -> u, x : n.s, y : n.t")
def map_of_seconds(term: Term) -> Found:
    """zip(x, y) |> map(fun(p, f(snd(p)))) ~> y |> map(f)"""
    function, xs, ys = _of_component(term, SND)
    return {"f": function, "x": xs, "y": ys}


@rule("h : sz.s -> t, g : sz.t -> u, x : (n + sz - 1).(m + sz - 1).s")
def share_rows(term: Term) -> Found:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(fun(window, g(window |> map(h))))))
    ~> x |> map(fun(row, row |> slide(sz, 1) |> map(h))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(g)))

    What a window computes of each of its rows is computed once, and not by every window with that
    row."""
    return _shared(term, lambda xs: xs)


@rule("h : sz.s -> t, g : sz.t -> u, x : (n + sz - 1).(m + sz - 1).s")
def share_columns(term: Term) -> Found:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(fun(window, g(window |> transpose |> map(h))))))
    ~> x |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(h) |> slide(sz, 1) |> map(g)))

    The same for columns: the windows of a line share what is computed of theirs."""

    def columns(xs: Term) -> Term | None:
        found = applied(xs, TRANSPOSE.name)
        return None if found is None else found[0]

    return _shared(term, columns)


# Numbers


@rule("a : f32, b : f32", condition="the operation is commutative")
def swap_operands(term: Term) -> Term:
    """a + b ~> b + a"""
    if not isinstance(term, Scalar) or term.op not in EXACT | RELAXED:
        raise NoMatch("expected an operation that is commutative")
    return Scalar(term.op, term.operands[::-1], operation_type(term), None, term.location)


@law("a : f32, b : f32, c : f32", relaxed(), permission=Permission.RELAXED)
def fma_as_sum() -> None:
    """fma(a, b, c) ~> a * b + c"""


@law("a : f64, b : f64, c : f64", relaxed(), permission=Permission.RELAXED)
def fma_as_sum_f64() -> None:
    """fma(a, b, c) ~> a * b + c"""


sum_as_fma = fma_as_sum.reversed("sum_as_fma")
sum_as_fma_f64 = fma_as_sum_f64.reversed("sum_as_fma_f64")


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


def _of_component(term: Term, spec: PatternSpec) -> tuple[Term, Term, Term]:
    """A function of pairs as one of a component; and the arrays that are zipped."""
    found = applied(term, MAP.name)
    pair = None if found is None else applied(found[1], ZIP.name)
    if found is None or pair is None:
        raise NoMatch("expected a map over pairs")
    (layer,), body = under(eta_expanded(found[0]), 1)
    if mentions(body, 0) and not has_pattern(body, spec.name):
        raise NoMatch("the element is used elsewhere, too")
    part = Apply(Pattern(spec, components(layer.parameter)), Bound(0, layer.parameter))
    return Lambda(layer.name, part.type, _rest(body, part, 0)), pair[0], pair[1]


def _windows_2d(term: Term) -> tuple[Term, Term]:
    """The function and the grid of a map over all windows of a grid."""
    lines = applied(term, MAP.name)
    slide = applied(lines[1], SLIDE.name) if lines is not None else None
    rows = applied(slide[0], MAP.name) if slide is not None else None
    if lines is None or rows is None:
        raise NoMatch("expected a map over the windows of a grid")
    windows = applied(under(eta_expanded(lines[0]), 1)[1], MAP.name)
    if windows is None:
        raise NoMatch("expected a map over the windows of a grid")
    function = eta_expanded(windows[0])
    if mentions(function, 0):
        raise NoMatch("the function of a window takes more than the window")
    return without(function, 0), rows[1]


def _shared(term: Term, before: Callable[[Term], Term | None]) -> Found:
    """What windows compute of each of their rows, or of what is a view of the window."""
    grid = _windows_2d(term)
    _, body = under(grid[0], 1)
    part = _map_of_rows(body, before)
    rest = Lambda("v", part.type, _rest(body, part, 0))
    found = applied(part, MAP.name)
    assert found is not None
    (row,) = (without(eta_expanded(each), 0) for each in found[:1])
    return {"h": row, "g": rest, "x": grid[1]}


def _map_of_rows(body: Term, before: Callable[[Term], Term | None]) -> Term:
    """The first map over a window, or over a view of it, in the body of a function of it."""
    stack = [body]
    while stack:
        part = stack.pop()
        found = applied(part, MAP.name)
        window = None if found is None else before(found[1])
        is_window = window is not None and window == Bound(0, window.type)
        if found is not None and is_window and not mentions(found[0], 0):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("nothing is computed of each row or column of a window")


def _let(term: Term) -> tuple[Term, Lambda]:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        raise NoMatch("expected a let")
    value, function = arguments
    if not isinstance(function, Lambda):
        raise NoMatch("expected a let with its body")
    return value, function


def loop_parts(term: Term, name: str) -> tuple[list[Term], Term]:
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


def _stored_part(term: Term) -> tuple[Term, Term]:
    """The innermost part that is stored, outside of functions, and what it stores.

    What a let stores has a name already."""
    named = applied(term, LET.name)
    whole = term if named is None else named[0]
    stack, found = [whole], None
    while stack:
        part = stack.pop()
        if not has_pattern(part, TO_MEM.name):
            continue
        value = None if part is whole else _on_heap(part)
        if value is not None:
            # What else is there stands beside it; only what is inside comes before it.
            found, stack = (part, value), []
        if not isinstance(part, Lambda):
            stack.extend(part.children)
    if found is None:
        raise NoMatch("nothing is stored on the way to it")
    return found


def _on_heap(term: Term) -> Term | None:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not TO_MEM or not arguments:
        return None
    return arguments[0] if head.argument("space") == "heap" else None


def _is_computed(term: Term) -> bool:
    """Whether a term is data that is computed, and not a view of such."""
    if not costs_something(term) or isinstance(term.type, FunType | DepFunType):
        return False
    if term.head is not None and term.given < term.head.arity:
        return False
    return viewed(term) is None


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


def folds_in(body: Term) -> Term:
    """A fold, or maps to one, that something else is done with."""
    stack = [child for child in body.children if not isinstance(child, Lambda)]
    while stack:
        part = stack.pop()
        if is_nest_of_fold(part) and mentions(part, 0):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("there is no fold that something is done with")


def is_nest_of_fold(term: Term) -> bool:
    """Whether a term is a fold, or a map to such."""
    while (found := applied(term, MAP.name)) is not None and isinstance(found[0], Lambda):
        term = found[0].body
    return applied(term, REDUCE.name) is not None


def _other_part(body: Term, type: RiseType) -> tuple[Term, Term]:
    """What a body, under a lambda for a part of the element, takes of that else, and the rest.

    The smallest component that is enough; the rest is under a lambda for it, too.
    """
    if not mentions(body, 1):
        raise NoMatch("nothing else is taken of the element")
    candidates: list[Term] = [Bound(0, type)]
    for each in candidates:
        if isinstance(each.type, TupleType):
            parts = components(each.type)
            candidates += [apply_all(Pattern(spec, parts), [each]) for spec in (FST, SND)]
    for each in reversed(candidates):
        rest = generalised(body, shift(each, 1))
        if not mentions(rest, 2):
            return each, without(rest, 2)
    raise NoMatch("nothing else is taken of the element")


def _fission_of_fold(function: Term) -> tuple[Term, Term]:
    """The function of a fold as one after the part that does not depend on the accumulator."""
    (accumulator, layer), body = under(function, 2)
    part = _of_element_alone(body)
    rest = Lambda("v", part.type, _rest(body, part, 0))
    return rewrapped([accumulator], rest), rewrapped([layer], without(part, 1))


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
        if mentions(part, 0) and not mentions(part, 1) and _is_computed(part):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("nothing is computed of the element alone")

"""Laws of functions and names: application, abstraction, and where values are computed."""

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
)
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, TupleType, components
from riselang.rewrite.eta import drop_lambda, eta_expand, eta_reduce, mentions
from riselang.rewrite.law_matching import NoMatch
from riselang.rewrite.laws import Form
from riselang.rewrite.rule import Bindings, Permission, Unmet, law, rule
from riselang.rewrite.side_conditions import EXACT, RELAXED, relaxed, reorderable
from riselang.rewrite.term_parts import (
    abstract_over,
    has_cost,
    mentions_outside,
    move_outside,
    pattern_arguments,
    split_lambdas,
    view_source,
    wrap_in_lambdas,
)
from riselang.term.fusion import beta_reduce as named_beta
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

    A computed argument that is used several times is named, not repeated."""
    if not isinstance(term, Apply) or not isinstance(term.function, Lambda):
        raise NoMatch("expected an application of a lambda")
    return named_beta(term.function, term.argument)


@rule("f : s -> t, x : n.s", form=Form.WRITTEN)
def eta_expansion(term: Term) -> Term:
    """x |> map(f) ~> x |> map(fun(e, f(e)))

    The function arguments of patterns become lambdas."""
    return _rewrite_functions(term, eta_expand)


@rule("f : s -> t, x : n.s", form=Form.WRITTEN)
def eta_reduction(term: Term) -> Term:
    """x |> map(fun(e, f(e))) ~> x |> map(f)"""
    return _rewrite_functions(term, eta_reduce)


# Names


@rule("f : s -> t, a : s")
def inline_let(term: Term) -> Term:
    """let y = a; f(y) ~> f(a)"""
    value, function = _let_arguments(term)
    return instantiate(function.body, value)


@rule("f : s -> t, a : s", condition="a is a view, or y is used once outside of loops")
def inline_free_let(term: Term) -> Term:
    """let y = a; f(y) ~> f(a)

    Inlining repeats no computation."""
    value, function = _let_arguments(term)
    result = named_beta(function, value)
    if result == term:
        raise Unmet("the value is computed, and used several times")
    return result


@rule("c : s, h : t -> s -> u, x : n.t", condition="c is computed, and the same in all iterations")
def hoist_from_map(term: Term) -> Bindings:
    """x |> map(fun(e, h(e, c))) ~> let y = c; x |> map(fun(e, h(e, y)))

    Computes a loop-invariant value before the loop."""
    (function,), xs = loop_parts(term, MAP.name)
    value, remainder = _find_invariant(function, 1)
    return {"c": value, "h": remainder, "x": xs}


@rule(
    "c : s, h : u -> t -> s -> u, a : u, x : n.t",
    condition="c is computed, and the same in all iterations",
)
def hoist_from_reduce(term: Term) -> Bindings:
    """x |> reduce(fun((acc, e), h(acc, e, c)), a)
    ~> let y = c; x |> reduce(fun((acc, e), h(acc, e, y)), a)"""
    (function, initial_value), xs = loop_parts(term, REDUCE.name)
    value, remainder = _find_invariant(function, 2)
    return {"c": value, "h": remainder, "a": initial_value, "x": xs}


@rule("f : s -> t, a : s")
def name_stored(term: Term) -> Bindings:
    """f(a |> toMem(heap)) ~> let y = a |> toMem(heap); f(y)

    Binds a stored intermediate value to a name, the innermost value first."""
    if not has_pattern(term, TO_MEM.name):
        raise NoMatch("its computation stores no value")
    if isinstance(term.type, FunType | DepFunType):
        raise NoMatch("expected data")
    stored_term, value = _find_stored(term)
    return {"a": value, "f": Lambda("y", stored_term.type, abstract_over(term, stored_term))}


@law("a : u, b : u -> s, f : s -> t")
def let_of_let() -> None:
    """let y = (let z = a; b(z)); f(y) ~> let z = a; let y = b(z); f(y)"""


@law("a : s, b : s -> n.m.t")
def let_before_join() -> None:
    """(let z = a; b(z)) |> join ~> let z = a; b(z) |> join"""


@law("a : s, b : s -> n.m.t")
def let_before_transpose() -> None:
    """(let z = a; b(z)) |> transpose ~> let z = a; b(z) |> transpose"""


@law("a : u, b : u -> t")
def let_before_store() -> None:
    """(let z = a; b(z)) |> toMem(heap) ~> let z = a; b(z) |> toMem(heap)"""


# Parts of functions


@rule("f : t -> u, g : s -> t, x : n.s")
def map_fission(term: Term) -> Bindings:
    """x |> map(fun(e, f(g(e)))) ~> x |> map(g) |> map(f)

    The first map computes the operand of the outermost operation."""
    (function,), xs = loop_parts(term, MAP.name)
    consumer, producer = _split_function(function)
    return {"f": consumer, "g": producer, "x": xs}


@rule("f : t -> u, g : s -> t, x : n.s")
def reductions_first(term: Term) -> Bindings:
    """x |> map(fun(e, f(g(e)))) ~> x |> map(g) |> map(f)

    The first map computes the reductions of each element, the second everything else."""
    (function,), xs = loop_parts(term, MAP.name)
    (layer,), body = split_lambdas(function, 1)
    part = find_reductions(body)
    consumer = Lambda("v", part.type, abstract_over_part(body, part, 0))
    return {"f": consumer, "g": wrap_in_lambdas([layer], part), "x": xs}


@rule("f : t -> v -> u, g : s -> t, h : s -> v, x : n.s")
def reductions_first_with(term: Term) -> Bindings:
    """x |> map(fun(e, f(g(e), h(e))))
    ~> zip(x |> map(g), x |> map(h)) |> map(fun(p, f(fst(p), snd(p))))

    The same if the second map also needs the element, or a component of it."""
    (function,), xs = loop_parts(term, MAP.name)
    (layer,), body = split_lambdas(function, 1)
    part = find_reductions(body)
    operand, remainder = _find_other_component(abstract_over(body, part), layer.parameter)
    consumer = Lambda("v", part.type, Lambda("w", operand.type, remainder))
    return {
        "f": consumer,
        "g": wrap_in_lambdas([layer], part),
        "h": wrap_in_lambdas([layer], operand),
        "x": xs,
    }


@rule("g : s -> t, f : u -> t -> u, a : u, x : n.s")
def reduce_map_fission(term: Term) -> Bindings:
    """x |> reduce(fun((acc, e), f(acc, g(e))), a) ~> x |> map(g) |> reduce(f, a)

    The map computes everything that does not depend on the accumulator."""
    (function, initial_value), xs = loop_parts(term, REDUCE.name)
    consumer, producer = _split_reduction_function(function)
    return {"f": consumer, "g": producer, "a": initial_value, "x": xs}


@rule("f : s -> u, x : n.s, y : n.t")
def map_of_firsts(term: Term) -> Bindings:
    """zip(x, y) |> map(fun(p, f(fst(p)))) ~> x |> map(f)

    Removes a zip whose second component is not used."""
    function, xs, ys = _function_of_component(term, FST)
    return {"f": function, "x": xs, "y": ys}


@rule("f : t -> u, x : n.s, y : n.t")
def map_of_seconds(term: Term) -> Bindings:
    """zip(x, y) |> map(fun(p, f(snd(p)))) ~> y |> map(f)"""
    function, xs, ys = _function_of_component(term, SND)
    return {"f": function, "x": xs, "y": ys}


@rule("h : sz.s -> t, g : sz.t -> u, x : (n + sz - 1).(m + sz - 1).s")
def share_rows(term: Term) -> Bindings:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(fun(window, g(window |> map(h))))))
    ~> x |> map(fun(row, row |> slide(sz, 1) |> map(h))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(g)))

    Results for a row are computed once, instead of in every window that contains the row."""
    return _share_results(term, lambda xs: xs)


@rule("h : sz.s -> t, g : sz.t -> u, x : (n + sz - 1).(m + sz - 1).s")
def share_columns(term: Term) -> Bindings:
    """x |> map(fun(row, row |> slide(sz, 1))) |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(fun(window, g(window |> transpose |> map(h))))))
    ~> x |> slide(sz, 1)
      |> map(fun(rows, rows |> transpose |> map(h) |> slide(sz, 1) |> map(g)))

    The same for columns: the windows of a line share the results for their columns."""

    def columns(xs: Term) -> Term | None:
        arguments = pattern_arguments(xs, TRANSPOSE.name)
        return None if arguments is None else arguments[0]

    return _share_results(term, columns)


# Scalars


@rule("a : f32, b : f32", condition="the operation is commutative")
def swap_operands(term: Term) -> Term:
    """a + b ~> b + a"""
    if not isinstance(term, Scalar) or term.op not in EXACT | RELAXED:
        raise NoMatch("expected a commutative operation")
    type = operation_type(term)
    return Scalar(term.op, term.operands[::-1], type, term.predicate, term.location)


@law("a : f32, b : f32, c : f32", relaxed(), permission=Permission.RELAXED)
def fma_as_sum() -> None:
    """fma(a, b, c) ~> a * b + c"""


@law("a : f64, b : f64, c : f64", relaxed(), permission=Permission.RELAXED)
def fma_as_sum_f64() -> None:
    """fma(a, b, c) ~> a * b + c"""


sum_as_fma = fma_as_sum.reversed("sum_as_fma")
sum_as_fma_f64 = fma_as_sum_f64.reversed("sum_as_fma_f64")


@law("a : f32, b : f32, c : f32", reorderable(), permission=Permission.RELAXED)
def fma_as_sum_in_any_order() -> None:
    """fma[any](a, b, c) ~> add[any](a * b, c)

    For reductions with order="any" in programs that are not relaxed."""


@law("a : f64, b : f64, c : f64", reorderable(), permission=Permission.RELAXED)
def fma_as_sum_in_any_order_f64() -> None:
    """fma[any](a, b, c) ~> add[any](a * b, c)"""


sum_as_fma_in_any_order = fma_as_sum_in_any_order.reversed("sum_as_fma_in_any_order")
sum_as_fma_in_any_order_f64 = fma_as_sum_in_any_order_f64.reversed("sum_as_fma_in_any_order_f64")


def _rewrite_functions(term: Term, change: Callable[[Term], Term]) -> Term:
    """Rewrite the function arguments of a pattern."""
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or not arguments:
        raise NoMatch("expected an application of a pattern")
    rewritten_arguments = [
        change(argument) if isinstance(argument.type, FunType) else argument
        for argument in arguments
    ]
    if rewritten_arguments == arguments:
        raise NoMatch("no function argument has this form")
    return apply_all(head, rewritten_arguments)


def _function_of_component(term: Term, spec: PatternSpec) -> tuple[Term, Term, Term]:
    """Convert a function on pairs to one on a component; also return the zipped arrays."""
    arguments = pattern_arguments(term, MAP.name)
    pair = None if arguments is None else pattern_arguments(arguments[1], ZIP.name)
    if arguments is None or pair is None:
        raise NoMatch("expected a map over pairs")
    return abstract_over_component(arguments[0], spec), pair[0], pair[1]


def abstract_over_component(function: Term, spec: PatternSpec) -> Lambda:
    """Convert a function on pairs that uses one component to a function on the component."""
    (layer,), body = split_lambdas(eta_expand(function), 1)
    if not isinstance(layer.parameter, TupleType):
        raise NoMatch("expected a map over pairs")
    if mentions(body, 0) and not has_pattern(body, spec.name):
        raise NoMatch("the element is also used elsewhere")
    part = Apply(Pattern(spec, components(layer.parameter)), Bound(0, layer.parameter))
    return Lambda(layer.name, part.type, abstract_over_part(body, part, 0))


def _windows_2d(term: Term) -> tuple[Term, Term]:
    """Return the function and the grid of a map over all windows of a grid."""
    lines = pattern_arguments(term, MAP.name)
    slide = pattern_arguments(lines[1], SLIDE.name) if lines is not None else None
    rows = pattern_arguments(slide[0], MAP.name) if slide is not None else None
    if lines is None or rows is None:
        raise NoMatch("expected a map over the windows of a grid")
    windows = pattern_arguments(split_lambdas(eta_expand(lines[0]), 1)[1], MAP.name)
    if windows is None:
        raise NoMatch("expected a map over the windows of a grid")
    function = eta_expand(windows[0])
    if mentions(function, 0):
        raise NoMatch("the function of a window uses more than the window")
    return drop_lambda(function, 0), rows[1]


def _share_results(term: Term, source_of: Callable[[Term], Term | None]) -> Bindings:
    """Abstract over the results for each row of a window, or for each row of a view of it."""
    grid = _windows_2d(term)
    _, body = split_lambdas(grid[0], 1)
    part = _map_of_rows(body, source_of)
    consumer = Lambda("v", part.type, abstract_over_part(body, part, 0))
    arguments = pattern_arguments(part, MAP.name)
    assert arguments is not None
    (row,) = (drop_lambda(eta_expand(each), 0) for each in arguments[:1])
    return {"h": row, "g": consumer, "x": grid[1]}


def _map_of_rows(body: Term, source_of: Callable[[Term], Term | None]) -> Term:
    """Return the first map over a window, or over a view of it, in a function body."""
    stack = [body]
    while stack:
        part = stack.pop()
        arguments = pattern_arguments(part, MAP.name)
        window = None if arguments is None else source_of(arguments[1])
        is_window = window is not None and window == Bound(0, window.type)
        if arguments is not None and is_window and not mentions(arguments[0], 0):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("no value is computed from each row or column of a window")


def _let_arguments(term: Term) -> tuple[Term, Lambda]:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not LET or len(arguments) != 2:
        raise NoMatch("expected a let")
    value, function = arguments
    if not isinstance(function, Lambda):
        raise NoMatch("expected a let with its body")
    return value, function


def loop_parts(term: Term, name: str) -> tuple[list[Term], Term]:
    """Return the functions and values that are arguments of a pattern, and its array."""
    arguments = pattern_arguments(term, name)
    if arguments is None:
        raise NoMatch(f"expected {name}")
    return [eta_expand(arguments[0]), *arguments[1:-1]], arguments[-1]


def _find_invariant(function: Term, parameters: int) -> tuple[Term, Term]:
    """Find the largest computed subterm of a function that is loop-invariant; abstract over it."""
    layers, body = split_lambdas(function, parameters)
    stack: list[tuple[Term, int]] = [(body, parameters)]
    while stack:
        part, depth = stack.pop()
        value = move_outside(part, depth) if _is_computed(part) else None
        if value is not None:
            remainder = abstract_over(body, shift(value, parameters))
            return value, wrap_in_lambdas(layers, Lambda("y", value.type, remainder))
        inner = depth + 1 if isinstance(part, Lambda) else depth
        stack.extend((child, inner) for child in reversed(part.children))
    raise Unmet("no computed value is the same in all iterations")


def _find_stored(term: Term) -> tuple[Term, Term]:
    """Return the innermost stored subterm outside of functions, and the value that it stores.

    The value of a `let` already has a name."""
    let = pattern_arguments(term, LET.name)
    root = term if let is None else let[0]
    stack, match = [root], None
    while stack:
        part = stack.pop()
        if not has_pattern(part, TO_MEM.name):
            continue
        value = None if part is root else _heap_value(part)
        if value is not None:
            # Other stored subterms are independent of this one; only those inside it come first.
            match, stack = (part, value), []
        if not isinstance(part, Lambda):
            stack.extend(part.children)
    if match is None:
        raise NoMatch("its computation stores no value")
    return match


def _heap_value(term: Term) -> Term | None:
    head, arguments = spine(term)
    if not isinstance(head, Pattern) or head.spec is not TO_MEM or not arguments:
        return None
    return arguments[0] if head.argument("space") == "heap" else None


def _is_computed(term: Term) -> bool:
    """Whether a term is computed data, and not a view."""
    if not has_cost(term) or isinstance(term.type, FunType | DepFunType):
        return False
    if term.head is not None and term.argument_count < term.head.arity:
        return False
    return view_source(term) is None


def _split_function(function: Term) -> tuple[Term, Term]:
    """Split a function at the operand of its outermost operation; return both functions."""
    (layer,), body = split_lambdas(function, 1)
    operands = [child for child in body.children if mentions(child, 0)]
    if len(operands) != 1 or isinstance(operands[0], Bound | Lambda) or isinstance(body, Lambda):
        raise NoMatch("the outermost operation does not have exactly one computed operand")
    (part,) = operands
    if isinstance(part.type, FunType):
        raise NoMatch("the value between the maps would be a function")
    return Lambda("v", part.type, abstract_over_part(body, part, 0)), wrap_in_lambdas([layer], part)


def find_reductions(body: Term) -> Term:
    """Find an operand that is a reduction, or nested maps whose elements are reductions."""
    stack = [child for child in body.children if not isinstance(child, Lambda)]
    while stack:
        part = stack.pop()
        if is_reduction_nest(part) and mentions(part, 0):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("there is no reduction whose result is used")


def is_reduction_nest(term: Term) -> bool:
    """Whether a term is a reduction, or nested maps whose elements are reductions."""
    while (arguments := pattern_arguments(term, MAP.name)) is not None and isinstance(
        arguments[0], Lambda
    ):
        term = arguments[0].body
    return pattern_arguments(term, REDUCE.name) is not None


def _find_other_component(body: Term, type: RiseType) -> tuple[Term, Term]:
    """Find the component of the element that a body uses, apart from an already abstracted part.

    Returns the smallest sufficient component, and the body under a lambda for it as well.
    """
    if not mentions(body, 1):
        raise NoMatch("nothing else of the element is used")
    candidates: list[Term] = [Bound(0, type)]
    for candidate in candidates:
        if isinstance(candidate.type, TupleType):
            parts = components(candidate.type)
            candidates += [apply_all(Pattern(spec, parts), [candidate]) for spec in (FST, SND)]
    for candidate in reversed(candidates):
        remainder = abstract_over(body, shift(candidate, 1))
        if not mentions(remainder, 2):
            return candidate, drop_lambda(remainder, 2)
    raise NoMatch("nothing else of the element is used")


def _split_reduction_function(function: Term) -> tuple[Term, Term]:
    """Split the function of a reduction at the part that does not depend on the accumulator."""
    (accumulator, layer), body = split_lambdas(function, 2)
    part = _find_element_part(body)
    consumer = Lambda("v", part.type, abstract_over_part(body, part, 0))
    return wrap_in_lambdas([accumulator], consumer), wrap_in_lambdas([layer], drop_lambda(part, 1))


def abstract_over_part(body: Term, part: Term, element: int) -> Term:
    """Abstract a body over a part, and remove the variable of the element."""
    if mentions_outside(body, part, element):
        raise NoMatch("the element is also used elsewhere")
    return drop_lambda(abstract_over(body, part), element + 1)


def _find_element_part(body: Term) -> Term:
    """Find the largest part of a reduction's function that depends only on the element."""
    stack = [body]
    while stack:
        part = stack.pop()
        if mentions(part, 0) and not mentions(part, 1) and _is_computed(part):
            return part
        if not isinstance(part, Lambda):
            stack.extend(reversed(part.children))
    raise NoMatch("no value is computed from the element alone")

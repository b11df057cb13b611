"""Anti-unification: the common structure of several terms, as a function of their differences.

The common form of `f(x |> drop(1))` and `f(y |> take(2))` is `f(p)`, with the arguments
`x |> drop(1)` and `y |> take(2)` for the parameter `p`. Terms may differ in the variables that they
mention, in views of variables, and in literals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from riselang.dialects.rise.pattern_registry import MAP
from riselang.dialects.rise.pattern_spec import Role
from riselang.dialects.rise.types import ArrayType, FunType, RiseType, ScalarType, is_float, leaves
from riselang.term.nodes import (
    VARIABLES,
    Apply,
    Bound,
    Free,
    Lambda,
    Literal,
    Pattern,
    Term,
    spine,
    subterms_with,
)
from riselang.term.substitution import map_children

MAX_COPIED_ELEMENTS = 256
"""The maximum number of elements that a call may copy: the copy must cost less than it saves."""


def is_view_of_variable(term: Term) -> bool:
    """Whether the term is a variable or a view of one, with constants as the other arguments."""
    if term.open or not term.patterns & VARIABLES:
        return False
    while not isinstance(term, Free):
        function, argument = _applied_view(term)
        if argument is None or function.patterns & VARIABLES:
            return False
        term = argument
    return True


def _applied_view(term: Term) -> tuple[Term, Term | None]:
    """Split a view into the function and the array that it presents; None if it is not a view."""
    is_data = isinstance(term, Apply) and not isinstance(term.argument.type, FunType)
    if isinstance(term, Apply) and is_data and _is_view_function(term.function):
        return term.function, term.argument
    return term, None


def _is_view_function(function: Term) -> bool:
    """Whether a function returns a view of its argument: `transpose`, or `map(transpose)`."""
    if isinstance(function, Lambda):
        body: Term | None = function.body
        while body is not None and not isinstance(body, Bound):
            inner, body = _applied_view(body)
            if inner.open:
                return False
        return body is not None and body.index == 0
    head, arguments = spine(function)
    if not isinstance(head, Pattern):
        return False
    if head.spec is MAP and len(arguments) == 1:
        return _is_view_function(arguments[0])
    is_complete = len(arguments) + 1 == head.spec.arity
    return (
        is_complete
        and head.spec.role is Role.VIEW
        and not any(isinstance(each.type, FunType) for each in arguments)
    )


def free_variables(term: Term) -> dict[Free, None]:
    """The free variables of a term, each once, in the order of occurrence."""
    variables = subterms_with(term, VARIABLES)
    return dict.fromkeys(each for each in variables if isinstance(each, Free))


def abstract_parts(term: Term) -> tuple[Term, tuple[Term, ...], int]:
    """The term with numbered variables for the parts that may differ, these parts, and its size.

    Terms with equal forms can become calls to one function.
    """
    parts: dict[Term, Free] = {}
    size = 0

    def visit(term: Term) -> Term:
        nonlocal size
        size += 1
        if not is_view_of_variable(term) and not _is_float(term):
            return map_children(term, visit, visit)
        if term not in parts:
            parts[term] = Free(f"#{len(parts)}", term.type)
        return parts[term]

    form = visit(term)
    return form, tuple(parts), size


def fill_form(form: Term, parts: Sequence[Term]) -> Term:
    """The term that has this form and these parts."""
    return replace_variables(
        form, {Free(f"#{number}", part.type): part for number, part in enumerate(parts)}
    )


def replace_variables(term: Term, replacements: Mapping[Term, Term]) -> Term:
    """Replace free variables in a term; the replacements must not mention its bound variables."""
    results: dict[Term, Term] = {}

    def visit(term: Term) -> Term:
        if isinstance(term, Free):
            return replacements.get(term, term)
        if not term.patterns & VARIABLES:
            return term
        if term not in results:
            results[term] = map_children(term, visit, visit)
        return results[term]

    return visit(term) if replacements else term


class CommonForms:
    """The common forms of several rows of terms, and the parameters in which the rows differ.

    The function itself computes the inner variables, so they cannot be parameters.
    """

    def __init__(self, inner_variables: Mapping[Term, object]):
        self.parameters: dict[tuple[Term, ...], Free] = {}
        """The arguments, one from each row, and the parameter they are passed to."""
        self._inner_variables = inner_variables

    def common_form(self, terms: Sequence[Term]) -> Term | None:
        """The common form of one term from each row, or None if there is none."""
        first, *other_terms = terms
        if all(other == first for other in other_terms) and self._has_only_inner_variables(first):
            return first
        if all(isinstance(term, Apply) for term in terms):
            count = len(self.parameters)
            children = zip(*(term.children for term in terms), strict=True)
            forms = [self.common_form(each) for each in children]
            common = iter([each for each in forms if each is not None])
            if None not in forms:
                return map_children(first, lambda _: next(common), lambda _: next(common))
            for rows in list(self.parameters)[count:]:
                del self.parameters[rows]
        return self._add_parameter(terms)

    def _has_only_inner_variables(self, term: Term) -> bool:
        """Whether the function computes all variables of a term."""
        return all(each in self._inner_variables for each in free_variables(term))

    def _add_parameter(self, terms: Sequence[Term]) -> Free | None:
        type = terms[0].type
        mentioned = [name for term in terms for name in free_variables(term)]
        can_be_passed = all(isinstance(term, Free) for term in terms) or _can_be_passed(type)
        if any(name in self._inner_variables for name in mentioned) or not can_be_passed:
            return None
        if any(term.type != type for term in terms):
            return None
        return self.parameters.setdefault(tuple(terms), Free(f"@{len(self.parameters)}", type))


def _is_float(term: Term) -> bool:
    return isinstance(term, Literal) and is_float(term.type)


def _can_be_passed(type: RiseType) -> bool:
    """Whether a value of this type may be copied to pass it to a call."""
    if isinstance(type, ScalarType):
        return is_float(type)
    if not isinstance(type, ArrayType) or not type.is_closed:
        return False
    elements = (prod(length.constant for length in lengths) for lengths, _ in leaves(type))
    return sum(elements) <= MAX_COPIED_ELEMENTS

"""Substituting sizes and data types in terms that are polymorphic in them."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.lane_types import Lanes
from riselang.dialects.rise.pattern_ops import argument_error
from riselang.dialects.rise.type_binding import nat_variables, substitute, type_variables
from riselang.dialects.rise.types import RiseType, variable
from riselang.nat import Nat
from riselang.support.errors import UserError
from riselang.term.deep_recursion import recursive
from riselang.term.nodes import (
    Apply,
    Bound,
    DepApply,
    DepLambda,
    Embed,
    Free,
    Lambda,
    Pattern,
    Scalar,
    Term,
    operation_type,
    subterms,
)


def free_sizes(term: Term) -> frozenset[str]:
    """The names of the symbolic sizes in a closed term."""
    return nat_variables(term.type)


def substitute_sizes(term: Term, sizes: Mapping[str, Nat]) -> Term:
    """Replace sizes by name, in every type and pattern."""
    return substitute_names(term, sizes, {})


def substitute_names(term: Term, sizes: Mapping[str, Nat], types: Mapping[str, RiseType]) -> Term:
    """Replace sizes and data types by name."""
    return _substitute(term, sizes, types)


def check_sizes(term: Term, sizes: Mapping[str, Nat]) -> None:
    """Reject sizes that violate a condition of one of the patterns in the term."""
    seen: set[Term] = set()
    stack = [term]
    while stack:
        current = stack.pop()
        if current in seen:
            continue
        seen.add(current)
        stack.extend(current.children)
        if isinstance(current, Pattern):
            _check_pattern(current, sizes)


def _check_pattern(pattern: Pattern, sizes: Mapping[str, Nat]) -> None:
    arguments: dict[str, Argument] = {}
    is_open = False
    for name, argument in zip(pattern.spec.parameters, pattern.arguments, strict=True):
        is_open |= isinstance(argument, Nat) and not argument.is_constant
        arguments[name] = argument.substitute(sizes) if isinstance(argument, Nat) else argument
    if not is_open:
        return
    if (problem := argument_error(arguments) or pattern.spec.check(arguments)) is not None:
        size_text = ", ".join(f"{name} = {size}" for name, size in sorted(sizes.items()))
        raise UserError(f"{pattern.spec.name}: {problem} (for {size_text})", pattern.location)


def apply_dependent(function: DepLambda, argument: Nat | RiseType) -> Term:
    """Instantiate the body of a dependent function, as beta reduction does."""
    if isinstance(argument, Nat):
        return _substitute(function.body, {function.binder: argument}, {})
    return _substitute(function.body, {}, {function.binder: argument})


def rename_size_or_type(term: Term, kind: str, old: str, new: str) -> Term:
    """Rename a size or data type."""
    if old == new:
        return term
    if kind == "nat":
        return _substitute(term, {old: Nat.var(new)}, {})
    return _substitute(term, {}, {old: variable(new)})


def open_term_binder(function: DepLambda, reserved_names: Collection[str] = ()) -> tuple[str, Term]:
    """A fresh name for the variable of a dependent function, and the body with that name."""
    used_names = term_names(function.body).union(reserved_names)
    candidates = (f"{function.name}{number or ''}" for number in itertools.count())
    name = next(name for name in candidates if name not in used_names)
    return name, rename_size_or_type(function.body, function.kind, function.binder, name)


def term_names(term: Term) -> set[str]:
    """The sizes and data types that are mentioned anywhere in a term."""
    names: set[str] = set()
    for part in subterms(term):
        names.update(nat_variables(part.type), type_variables(part.type))
        if isinstance(part, Pattern | DepApply):
            arguments = part.arguments if isinstance(part, Pattern) else [part.argument]
            for argument in arguments:
                names.update(argument.variables if isinstance(argument, Nat) else ())
    return names


@recursive
def _substitute(term: Term, sizes: Mapping[str, Nat], types: Mapping[str, RiseType]) -> Term:
    replaced_types: dict[RiseType, RiseType] = {}

    def replace_type(type: RiseType) -> RiseType:
        if type not in replaced_types:
            replaced_types[type] = substitute(type, sizes, types)
        return replaced_types[type]

    def replace_argument(argument: Argument) -> Argument:
        if isinstance(argument, Nat):
            return argument.substitute(sizes)
        return argument if isinstance(argument, str) else replace_type(argument)

    def visit(term: Term) -> Term:
        match term:
            case Bound():
                return Bound(term.index, replace_type(term.type), term.location)
            case Free():
                return Free(term.name, replace_type(term.type), term.location)
            case Lambda():
                body = visit(term.body)
                return Lambda(term.name, replace_type(term.parameter), body, term.location)
            case Apply():
                return Apply(visit(term.function), visit(term.argument), term.location)
            case DepLambda():
                body = visit(term.body)
                return DepLambda(term.kind, term.name, body, term.binder, term.location)
            case DepApply():
                argument = replace_argument(term.argument)
                assert not isinstance(argument, str)
                return DepApply(visit(term.function), argument, term.location)
            case Pattern():
                arguments = [replace_argument(argument) for argument in term.arguments]
                return Pattern(term.spec, arguments, term.to, term.location)
            case Scalar():
                operands = [visit(operand) for operand in term.operands]
                type = replace_type(term.type)
                assert isinstance(type, Lanes)
                return Scalar(term.op, operands, type, term.predicate, term.location)
            case Embed():
                operands = [visit(operand) for operand in term.operands]
                return Embed(term.region, operands, operation_type(term), term.location)
            case _:
                return term

    return visit(term)

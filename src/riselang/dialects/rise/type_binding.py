"""Type and size variables: binding, substitution, and free variables of types."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

from xdsl.dialects.builtin import StringAttr

from riselang.dialects.rise.types import (
    ArrayType,
    DepFunType,
    FunType,
    IdxType,
    NatAttr,
    RiseType,
    TupleType,
    TypeVariable,
    VectorType,
    compute_once,
    idx,
    pair,
    parts_of,
    variable,
)
from riselang.nat import Nat


def dep_fun(kind: str, name: str, body: RiseType) -> DepFunType:
    """The type of a function of a size or data type `name`, which `body` mentions."""
    label = binder_label(binder_height(body))
    renamed = rename_variable(body, kind, name, label)
    return DepFunType(StringAttr(kind), StringAttr(label), renamed)


def instantiate_binder(type: DepFunType, argument: Nat | RiseType) -> RiseType:
    """The result type of a dependent function for an argument."""
    if isinstance(argument, Nat):
        return substitute(type.body, {type.binder: argument}, {})
    return substitute(type.body, {}, {type.binder: argument})


def rename_variable(type: RiseType, kind: str, old: str, new: str) -> RiseType:
    if old == new:
        return type
    if kind == "nat":
        return substitute(type, {old: Nat.var(new)}, {})
    return substitute(type, {}, {old: variable(new)})


def binder_label(height: int) -> str:
    """The name of the variable of a binder whose body contains binders of at most `height`.

    Types that are substituted into the body have lower binders, so no variable is captured.
    """
    return f"${height + 1}"


def binder_height(type: RiseType) -> int:
    """The maximum nesting depth of dependent functions in a type."""
    if isinstance(type, DepFunType):
        return int(type.binder[1:])
    return compute_once(type, "_binder_height", _max_binder_height)


def _max_binder_height(type: RiseType) -> int:
    return max([binder_height(part) for part in parts_of(type)], default=0)


def map_variables(
    type: RiseType,
    size: Callable[[Nat], Nat],
    variable: Callable[[TypeVariable], RiseType],
) -> RiseType:
    """Replace the sizes and type variables in a type; an unchanged type is the same object."""
    if type.is_closed:
        return type
    known: dict[RiseType, RiseType] = {}

    def visit(type: RiseType) -> RiseType:
        if type.is_closed:
            return type
        if type not in known:
            known[type] = rebuild(type)
        return known[type]

    def rebuild(type: RiseType) -> RiseType:
        match type:
            case TypeVariable():
                return variable(type)
            case ArrayType() | VectorType():
                length, element = size(type.length), visit(type.element)
                if length is type.length and element is type.element:
                    return type
                return type.__class__(NatAttr(length), element)
            case IdxType():
                bound = size(type.bound)
                return type if bound is type.bound else idx(bound)
            case TupleType():
                first, second = visit(type.first), visit(type.second)
                same = first is type.first and second is type.second
                return type if same else pair(first, second)
            case FunType():
                input, output = visit(type.input), visit(type.output)
                same = input is type.input and output is type.output
                return type if same else FunType(input, output)
            case DepFunType():
                body = visit(type.body)
                return type if body is type.body else dep_fun(type.kind.data, type.binder, body)
            case _:
                return type

    return visit(type)


def substitute(type: RiseType, nats: Mapping[str, Nat], types: Mapping[str, RiseType]) -> RiseType:
    """Replace naturals and type variables by name."""
    return map_variables(
        type,
        lambda size: size.substitute(nats),
        lambda variable: types.get(variable.label.data, variable),
    )


def type_variables(type: RiseType) -> tuple[str, ...]:
    """The labels of the type variables in `type`, each once, in the order of occurrence."""
    return compute_once(type, "_type_variables", _type_variables)


def _type_variables(type: RiseType) -> tuple[str, ...]:
    if isinstance(type, TypeVariable):
        return (type.label.data,)
    names = dict.fromkeys(name for part in parts_of(type) for name in type_variables(part))
    return tuple(name for name in names if name != bound_variable(type))


def nat_variables(type: RiseType) -> frozenset[str]:
    """The names of the size variables in `type`."""
    return compute_once(type, "_nat_variables", _nat_variables)


def _nat_variables(type: RiseType) -> frozenset[str]:
    names = frozenset[str]().union(*[nat_variables(part) for part in parts_of(type)])
    match type:
        case ArrayType() | VectorType():
            return names | type.length.variables
        case IdxType():
            return type.bound.variables
        case _:
            return names - {bound_variable(type)}


def bound_variable(type: RiseType) -> str | None:
    """The variable that a type binds."""
    return type.binder if isinstance(type, DepFunType) else None


def open_type_binder(type: DepFunType) -> tuple[str, RiseType]:
    """A fresh name for the variable of a dependent function, and the body with that name."""
    used_names = nat_variables(type.body) | frozenset(type_variables(type.body))
    hints = "nmklij" if type.kind.data == "nat" else "tsuvwr"
    names = (f"{hint}{number or ''}" for number in itertools.count() for hint in hints)
    name = next(name for name in names if name not in used_names)
    return name, rename_variable(type.body, type.kind.data, type.binder, name)

"""Functions in C++ files: overloads, functions in namespaces and classes, instances of
templates."""

from __future__ import annotations

from typing import Any

from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    children,
    class_members,
    has_base_classes,
    is_cpp,
    is_template_instance,
    kind_name,
)
from riselang.frontends.c.parse.containers import VECTOR, container_name

_SCOPES = ("TRANSLATION_UNIT", "LINKAGE_SPEC", "UNEXPOSED_DECL")
"""Scopes in which the name of a function is not qualified."""


def function_key(parsed: ParsedFile, declared: Cursor) -> str:
    """Return the name by which calls find a function; C++ functions may share their names."""
    is_alone = (
        not is_cpp(parsed.name)
        or declared.get_definition() is None
        or (
            kind_name(declared.semantic_parent) in _SCOPES
            and not is_template_instance(declared)
            and overloads(parsed, declared.spelling) == 1
        )
    )
    name: str = declared.spelling
    return name if is_alone else f"{name} ({declared.mangled_name})"


def overloads(parsed: ParsedFile, name: str) -> int:
    """Return the number of functions that a file declares by a name, outside of namespaces."""
    return parsed.function_counts[name]


def is_user_provided(function: Cursor) -> bool:
    """Whether a class declares a function itself, with a body."""
    is_declared = is_template_instance(function) or function in children(function.semantic_parent)
    return is_declared and not function.is_default_method()


def has_plain_copies(type: Any) -> bool:
    """Whether structures of a type are copied as those of C are: member by member."""
    declaration = type.get_canonical().get_declaration()
    if name := container_name(declaration):
        return name != VECTOR
    if has_base_classes(declaration):
        return False
    for each in class_members(declaration):
        kind = kind_name(each)
        is_copy = kind == "CONSTRUCTOR" and (
            each.is_copy_constructor() or each.is_move_constructor()
        )
        is_assignment = kind == "CXX_METHOD" and each.spelling == "operator="
        if (is_copy or is_assignment or kind == "DESTRUCTOR") and not each.is_default_method():
            return False
        if kind == "CXX_METHOD" and each.is_virtual_method():
            return False
    fields = (each.type.get_canonical() for each in declaration.type.get_fields())
    return all(each.kind.name != "RECORD" or has_plain_copies(each) for each in fields)


def is_lambda(type: Any) -> bool:
    """Whether a type is the class of a lambda, which has no name."""
    return "(lambda at " in type.get_canonical().spelling

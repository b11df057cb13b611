"""Functions in C++ files: overloads, functions in namespaces, and instances of templates."""

from __future__ import annotations

from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    is_cpp,
    is_template_instance,
    kind_name,
)

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

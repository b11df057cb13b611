"""Functions in C++ files that are called by their names alone, as in C."""

from __future__ import annotations

from riselang.frontends.c.parse.clang import Cursor, ParsedFile, is_cpp, kind_name
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

_SCOPES = ("TRANSLATION_UNIT", "LINKAGE_SPEC", "UNEXPOSED_DECL")
"""Scopes in which the name of a function is not qualified."""


def check_called_function(parsed: ParsedFile, declared: Cursor, location: SourceLocation) -> None:
    """Report calls of overloaded functions, and of functions in namespaces."""
    if not is_cpp(parsed.name):
        return
    name = declared.spelling
    if not name.isidentifier() or kind_name(declared.semantic_parent) not in _SCOPES:
        raise UnsupportedConstruct(
            location, f"{name} is an operator, or a function of a class or a namespace",
            "call a function that is declared outside of them",
        )  # fmt: skip
    if overloads(parsed, name) > 1:
        raise UnsupportedConstruct(
            location, f"several functions are called {name}", "give them different names"
        )


def overloads(parsed: ParsedFile, name: str) -> int:
    """Return the number of functions that a file declares by a name, outside of namespaces."""
    return parsed.function_counts[name]

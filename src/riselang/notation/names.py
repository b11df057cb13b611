"""What each name of a program refers to: a parameter, a let, or an earlier definition."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from riselang.dialects.rise.schemes import PATTERNS
from riselang.notation.operators import FUNCTIONS
from riselang.notation.source import Source
from riselang.notation.syntax import (
    Definition,
    Fun,
    Let,
    Name,
    Option,
    Parameter,
    Syntax,
    children,
    spine,
)

Binder = Parameter | Let | Definition
Bindings = Mapping[Name, Binder]


def resolve(definitions: Sequence[Definition], source: Source) -> Bindings:
    """The binder of each name that has one; an error for a name that means nothing."""
    resolver = _Resolver(source)
    for definition in definitions:
        resolver.visit(definition.value)
        resolver.enter(definition.name, definition)
    return resolver.bindings


class _Resolver:
    def __init__(self, source: Source):
        self.source = source
        self.bindings: dict[Name, Binder] = {}
        self.scope: dict[str, list[Binder]] = {}

    def enter(self, name: str, binder: Binder) -> None:
        self.scope.setdefault(name, []).append(binder)

    def leave(self, name: str) -> None:
        self.scope[name].pop()
        if not self.scope[name]:
            del self.scope[name]

    def visit(self, syntax: Syntax) -> None:
        match syntax:
            case Name():
                self.name(syntax)
            case Option(name=name) if name not in PATTERNS and name not in FUNCTIONS:
                raise self.unknown(name, syntax)
            case Fun(parameters=parameters, body=body):
                for parameter in parameters:
                    self.enter(parameter.name, parameter)
                self.visit(body)
                for parameter in parameters:
                    self.leave(parameter.name)
            case Let(name=name, value=value, body=body):
                self.visit(value)
                self.enter(name, syntax)
                self.visit(body)
                self.leave(name)
            case _:
                self.below(syntax)

    def below(self, syntax: Syntax) -> None:
        head, arguments = spine(syntax)
        if not arguments:
            for child in children(syntax):
                self.visit(child)
            return
        sizes = self.size_count(head)
        self.visit(head)
        for argument in arguments[:sizes]:
            self.size(argument)
        for argument in arguments[sizes:]:
            self.visit(argument)

    def size_count(self, head: Syntax) -> int:
        """How many of the arguments of `head` are sizes."""
        name = head.text if isinstance(head, Name) else getattr(head, "name", "")
        if name in self.scope or name not in PATTERNS:
            return 0
        return len(PATTERNS[name].explicit)

    def size(self, syntax: Syntax) -> None:
        """In sizes a name without a binder is a size."""
        if isinstance(syntax, Name) and syntax.text in self.scope:
            self.bindings[syntax] = self.scope[syntax.text][-1]
        for child in children(syntax):
            self.size(child)

    def name(self, name: Name) -> None:
        if name.text in self.scope:
            self.bindings[name] = self.scope[name.text][-1]
        elif name.text not in PATTERNS and name.text not in FUNCTIONS:
            raise self.unknown(name.text, name)

    def unknown(self, text: str, syntax: Syntax) -> Exception:
        known = [*self.scope, *PATTERNS, *FUNCTIONS]
        near = difflib.get_close_matches(text, known, 1)
        hint = f"; did you mean '{near[0]}'?" if near else ""
        return self.source.error(f"unknown name '{text}'{hint}", syntax.span)

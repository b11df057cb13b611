"""Name resolution: each name refers to a parameter, a let, or an earlier definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_binding import nat_variables, substitute, type_variables
from riselang.dialects.rise.types import SOURCE_SCALARS, RiseType, variable
from riselang.nat import Nat
from riselang.notation.hints import type_hint
from riselang.notation.operators import DERIVATIVES, EMBED, FOREIGN_HEADS, FUNCTIONS
from riselang.notation.source import Source
from riselang.notation.syntax import (
    Ascription,
    Definition,
    DepCall,
    DepFun,
    Fun,
    Let,
    Name,
    Option,
    Parameter,
    Syntax,
    children,
    spine,
)
from riselang.support.errors import UserError
from riselang.support.spelling import closest_name

FOREIGN_NAMES: Mapping[str, str] = {
    "fold": "use reduce(f, start)",
    "foldl": "use reduce(f, start)",
    "filter": "lengths are part of types, so no element can be removed; use map with if",
    "sum": "use reduce(add, 0.0)",
    "flatten": "join flattens one level",
    "concatMap": "use map, then join",
    "reshape": "split(m) cuts an array into chunks, and join flattens it",
    "length": "sizeOf(x) returns the length of an array",
    "len": "sizeOf(x) returns the length of an array",
    "range": "for the integers from 0, use generate(fun(i : idx[N], fromIdx(i)))",
    "iota": "for the integers from 0, use generate(fun(i : idx[N], fromIdx(i)))",
    "True": "Booleans are true and false",
    "False": "Booleans are true and false",
    "compose": "to compose functions, use x |> f |> g",
    "where": "use if c then a else b",
    "mul": "use mult",
    "embed": 'use embed[f32]("...", a), with the result type in brackets',
}
"""Hints for the names of other languages."""

_GLOBAL_NAMES = (PATTERNS, FUNCTIONS, DERIVATIVES, FOREIGN_HEADS)

Binder = Parameter | Let | Definition | DepFun
Bindings = Mapping[Name, Binder]


@dataclass(frozen=True)
class NameResolution:
    """The binders of the names of a program, and errors for unknown names."""

    bindings: Bindings
    uses: Mapping[Definition, Set[Definition]]
    """The definitions that each definition refers to."""
    problems: Mapping[Definition, Sequence[UserError]]
    """The errors about names in each definition that has any."""


def resolve_names(definitions: Sequence[Definition], source: Source) -> NameResolution:
    """Resolve each name to its binder; report an error for each unknown name."""
    resolver = _Resolver(source)
    uses: dict[Definition, Set[Definition]] = {}
    problems: dict[Definition, Sequence[UserError]] = {}
    for definition in definitions:
        resolver.used, resolver.problems = set(), []
        resolver.visit(definition.value)
        resolver.enter(definition.name, definition)
        uses[definition] = resolver.used
        if resolver.problems:
            problems[definition] = resolver.problems
    return NameResolution(resolver.bindings, uses, problems)


class _Resolver:
    def __init__(self, source: Source):
        self.source = source
        self.bindings: dict[Name, Binder] = {}
        self.used: set[Definition] = set()
        self.problems: list[UserError] = []
        self.scope: dict[str, list[Binder]] = {}
        self.sizes: set[str] = set()
        """The names of sizes in parameter types, for a hint if one is used as a value."""
        self.nats: dict[str, Nat] = {}
        self.data: dict[str, RiseType] = {}
        self.serial = 0

    def enter(self, name: str, binder: Binder) -> None:
        self.scope.setdefault(name, []).append(binder)

    def leave(self, name: str) -> None:
        self.scope[name].pop()
        if not self.scope[name]:
            del self.scope[name]

    def visit(self, syntax: Syntax) -> None:
        match syntax:
            case Name():
                self.visit_name(syntax)
            case Option(name=name) if not (name == EMBED or name in PATTERNS or name in FUNCTIONS):
                self.report_unknown(name, syntax)
            case Fun(parameters=parameters, body=body):
                for parameter in parameters:
                    self.enter(parameter.name, parameter)
                    if parameter.type is not None:
                        self.sizes |= nat_variables(parameter.type)
                        parameter.type = self.resolve_type(parameter.type, parameter)
                self.visit(body)
                for parameter in parameters:
                    self.leave(parameter.name)
            case DepFun():
                self.visit_dependent(syntax)
            case DepCall(function=function, argument=Nat() as size):
                syntax.argument = size.substitute(self.nats)
                self.visit(function)
            case DepCall(function=function, argument=RiseType() as type):
                syntax.argument = self.resolve_type(type, syntax)
                self.visit(function)
            case Ascription(value=value, type=type):
                syntax.type = self.resolve_type(type, syntax)
                self.visit(value)
            case Let(name=name, value=value, body=body):
                self.visit(value)
                self.enter(name, syntax)
                self.visit(body)
                self.leave(name)
            case _:
                self.visit_children(syntax)

    def visit_dependent(self, function: DepFun) -> None:
        """Give the variable of a dependent function a unique internal name."""
        self.serial += 1
        name, function.internal = function.name, f"{function.name}${self.serial}"
        nats, data = dict(self.nats), dict(self.data)
        if function.kind == "nat":
            self.nats[name] = Nat.var(function.internal)
        else:
            self.data[name] = variable(function.internal)
        self.enter(name, function)
        self.visit(function.body)
        self.leave(name)
        self.nats, self.data = nats, data

    def resolve_type(self, type: RiseType, syntax: Syntax) -> RiseType:
        """Resolve the variables of enclosing dependent functions in a type."""
        for name in type_variables(type):
            if name not in self.data:
                self.report(f"unknown type '{name}'{type_hint(name)}", syntax)
        return substitute(type, self.nats, self.data)

    def visit_children(self, syntax: Syntax) -> None:
        head, arguments = spine(syntax)
        if not arguments:
            for child in children(syntax):
                self.visit(child)
            return
        sizes = self.size_count(head)
        self.visit(head)
        for argument in arguments[:sizes]:
            self.visit_size(argument)
        for argument in arguments[sizes:]:
            self.visit(argument)

    def size_count(self, head: Syntax) -> int:
        """Return how many of the arguments of `head` are sizes."""
        name = head.text if isinstance(head, Name) else getattr(head, "name", "")
        if name in self.scope or name not in PATTERNS:
            return 0
        return len(PATTERNS[name].explicit)

    def visit_size(self, syntax: Syntax) -> None:
        """Resolve the names in a size, where a name without a binder is a size variable."""
        if isinstance(syntax, Name) and syntax.text in self.scope:
            self.bindings[syntax] = self.scope[syntax.text][-1]
        for child in children(syntax):
            self.visit_size(child)

    def visit_name(self, name: Name) -> None:
        if name.text in self.scope:
            binder = self.bindings[name] = self.scope[name.text][-1]
            if isinstance(binder, Definition):
                self.used.add(binder)
            if isinstance(binder, DepFun):
                kind = "size" if binder.kind == "nat" else "type"
                self.report(f"'{name.text}' is a {kind}, but a value is expected here", name)
        elif not any(name.text in names for names in _GLOBAL_NAMES):
            self.report_unknown(name.text, name)

    def report_unknown(self, text: str, syntax: Syntax) -> None:
        if text in self.scope:
            message = f"'{text}' takes no types in brackets; an element is {text} |> at(i)"
            self.report(message, syntax)
            return
        self.report(f"unknown name '{text}'{self.name_hint(text)}", syntax)

    def report(self, message: str, syntax: Syntax) -> None:
        self.problems.append(self.source.error(message, syntax.span))

    def name_hint(self, text: str) -> str:
        if text in SOURCE_SCALARS:
            return f"; this is a type, and cast[{text}](x) converts x to it"
        if text in self.sizes:
            return "; this is a size; sizeOf(x) returns the length of an array as an integer"
        if text in FOREIGN_NAMES:
            return f"; {FOREIGN_NAMES[text]}"
        suggestion = closest_name(
            text, [*self.scope, *(name for names in _GLOBAL_NAMES for name in names)]
        )
        return f"; did you mean '{suggestion}'?" if suggestion else ""

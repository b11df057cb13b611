"""Lookup of the head of an application: names are resolved to what they refer to."""

from __future__ import annotations

from dataclasses import dataclass

from riselang.dialects.rise.foreign_functions import DeclarationError, foreign_spec
from riselang.dialects.rise.lane_types import Lanes
from riselang.dialects.rise.pattern_registry import LOOP_DIALECTS, PATTERNS
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import uncurry
from riselang.notation.context import Context
from riselang.notation.embedded_regions import unquote
from riselang.notation.name_resolution import Binder, Bindings
from riselang.notation.operators import (
    DERIVATIVES,
    EMBED,
    FOREIGN_HEADS,
    FUNCTIONS,
    ScalarFunction,
)
from riselang.notation.source import Source
from riselang.notation.syntax import (
    Ascription,
    Call,
    Definition,
    DepFun,
    Fun,
    Name,
    Option,
    Pipe,
    Syntax,
    Text,
)
from riselang.support.errors import LimitationError
from riselang.term import build


class Frame:
    """The values of the binders of one inlined function; `parent` is the enclosing frame."""

    __slots__ = ("parent", "values")

    def __init__(self, parent: Frame | None = None):
        self.parent = parent
        self.values: dict[Binder, build.Node | Closure] = {}

    def value(self, binder: Binder) -> build.Node | Closure:
        frame: Frame | None = self
        while frame is not None:
            if binder in frame.values:
                return frame.values[binder]
            frame = frame.parent
        raise KeyError(binder)


@dataclass(frozen=True, eq=False, slots=True)
class Closure:
    """An expression that is not yet elaborated, and the frame of its names."""

    syntax: Syntax
    frame: Frame
    is_inlined: bool = False
    """Whether it was reached through a name, so that a function is inlined."""


@dataclass(frozen=True, eq=False, slots=True)
class PatternChoice:
    """A pattern, and the loop dialect that its option selects."""

    spec: PatternSpec
    to: str | None = None

    @property
    def arity(self) -> int:
        return len(self.spec.explicit) + self.spec.arity


@dataclass(frozen=True, eq=False, slots=True)
class EmbedChoice:
    """Foreign ops that return a scalar or a vector of this type."""

    type: Lanes


@dataclass(frozen=True, eq=False, slots=True)
class DerivativeChoice:
    """One of the derivatives of functions: `grad`, `vjp` or `jvp`."""

    name: str


Argument = Closure | build.Node
Head = Closure | build.Node | PatternChoice | ScalarFunction | EmbedChoice | DerivativeChoice
INLINING_LIMIT = 10_000


class Lookup(Context):
    """Looks up the names of one definition."""

    def __init__(self, source: Source, bindings: Bindings):
        super().__init__(source)
        self.bindings = bindings
        self.top = Frame()
        self.inline_count = 0

    def head(self, closure: Closure) -> tuple[Head, list[Argument]]:
        """Return the head of an application, with names resolved, and all its arguments."""
        reversed_arguments: list[Argument] = []
        syntax, frame, is_inlined = closure.syntax, closure.frame, closure.is_inlined
        while True:
            match syntax:
                case Call():
                    reversed_arguments += [Closure(a, frame) for a in syntax.arguments[::-1]]
                    syntax = syntax.function
                case Pipe():
                    reversed_arguments.append(Closure(syntax.value, frame))
                    syntax = syntax.function
                case Name(text=text) if text in FOREIGN_HEADS and syntax not in self.bindings:
                    return self.foreign_choice(syntax, reversed_arguments[::-1])
                case Name():
                    value = self.lookup_name(syntax, frame)
                    if not isinstance(value, Closure):
                        return value, reversed_arguments[::-1]
                    syntax, frame, is_inlined = value.syntax, value.frame, True
                case Option():
                    return self.lookup_option(syntax), reversed_arguments[::-1]
                case _:
                    return Closure(syntax, frame, is_inlined), reversed_arguments[::-1]

    def foreign_choice(
        self, name: Name, arguments: list[Argument]
    ) -> tuple[PatternChoice, list[Argument]]:
        """Return the pattern of a C function, and the arguments after the strings."""
        literals: list[Text] = []
        for argument in arguments[:3]:
            if not isinstance(argument, Closure) or not isinstance(argument.syntax, Text):
                break
            literals.append(argument.syntax)
        if not literals:
            raise self.error(
                f"{name.text}: expected the declaration of a C function, as in "
                f'{name.text}("double f(double)", "libf.so")',
                name.span,
            )
        texts = [unquote(each.literal) for each in literals]
        try:
            spec = foreign_spec(*texts, is_lanewise=FOREIGN_HEADS[name.text])
        except DeclarationError as error:
            raise self.error(f"{name.text}: {error}", literals[0].span) from None
        return PatternChoice(spec), arguments[len(literals) :]

    def lookup_name(self, name: Name, frame: Frame) -> Head:
        binder = self.bindings.get(name)
        if binder is None:
            if name.text in PATTERNS:
                return PatternChoice(PATTERNS[name.text])
            if name.text in DERIVATIVES:
                return DerivativeChoice(name.text)
            return FUNCTIONS[name.text]
        if isinstance(binder, Definition):
            value: Head = Closure(binder.value, self.top)
        else:
            value = frame.value(binder)
        if isinstance(value, Closure):
            self.inline_count += 1
            if self.inline_count > INLINING_LIMIT:
                raise LimitationError(
                    f"named functions are inlined more than {INLINING_LIMIT} times",
                    self.location(name.span),
                )
        return value

    def lookup_option(self, option: Option) -> PatternChoice | ScalarFunction | EmbedChoice:
        name, choice = option.name, option.choice
        shown = choice if isinstance(choice, str) else format_type(choice)
        if name == EMBED:
            if not isinstance(choice, Lanes):
                raise self.error(f"'embed[{shown}]': expected a scalar type", option.span)
            return EmbedChoice(choice)
        if name in FUNCTIONS:
            function = FUNCTIONS[name].with_choice(choice)
            if function is None:
                raise self.error(f"'{name}[{shown}]': {FUNCTIONS[name].choice_hint}", option.span)
            return function
        spec = PATTERNS[name]
        if not spec.has_target or choice not in LOOP_DIALECTS:
            loops = f"'{spec.name}' takes " + " or ".join(LOOP_DIALECTS)
            hint = loops if spec.has_target else f"'{spec.name}' takes no brackets"
            raise self.error(f"'{name}[{shown}]': {hint}", option.span)
        return PatternChoice(spec, str(choice))

    def is_function(self, closure: Closure) -> bool:
        """Whether an expression is a function, decided without inferring its type."""
        head, arguments = self.head(closure)
        match head:
            case Closure(syntax=Fun(parameters=parameters)):
                return len(arguments) < len(parameters)
            case Closure(syntax=DepFun()):
                return not arguments
            case Closure(syntax=Ascription(type=type)):
                return len(arguments) < len(uncurry(type)[0])
            case PatternChoice() | ScalarFunction():
                return len(arguments) < head.arity
            case DerivativeChoice():
                return len(arguments) == 1
            case build.Node():
                return len(arguments) < len(uncurry(self.resolve(head.type))[0])
            case _:
                return False

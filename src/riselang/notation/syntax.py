"""The syntax tree of the functional notation, between text and terms.

Parsing builds a tree that elaboration types; printing converts a term to a tree that layout writes.
Nodes are compared by identity. `span` is the position of a node in the text it was parsed from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from riselang.dialects.rise.attributes import Number
from riselang.dialects.rise.types import RiseType, ScalarType
from riselang.nat import Nat

Span = tuple[int, int]
"""The start and end offsets of a part of a text."""
NO_SPAN: Span = (0, 0)


@dataclass(eq=False, slots=True)
class Syntax:
    """Base of the closed set of nodes below."""

    span: Span = field(default=NO_SPAN, kw_only=True)
    depth: int = field(default=1, init=False)
    """The height of the tree, from which recursive functions compute the stack they need."""

    def _set_depth(self, *children: Syntax) -> None:
        self.depth = 1 + max((child.depth for child in children), default=0)


@dataclass(eq=False, slots=True)
class Name(Syntax):
    text: str


@dataclass(eq=False, slots=True)
class Constant(Syntax):
    """A number or a Boolean; `type` is its suffix (`1_i64`)."""

    value: Number | complex
    text: str
    type: ScalarType | None = None


@dataclass(eq=False, slots=True)
class Text(Syntax):
    """A string with its quotes: the region of an embed."""

    literal: str


@dataclass(eq=False, slots=True)
class Option(Syntax):
    """A function with a choice in brackets: `cast[f64]`, `mapSeq[affine]`, `cmpf[ult]`."""

    name: str
    choice: RiseType | str
    type_text: str | None = None
    """The type as its author wrote it: formatting preserves how its sizes are spelled."""


@dataclass(eq=False, slots=True)
class Parameter(Syntax):
    name: str
    type: RiseType | None = None
    type_text: str | None = None


@dataclass(eq=False, slots=True)
class Fun(Syntax):
    parameters: tuple[Parameter, ...]
    body: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.body)


@dataclass(eq=False, slots=True)
class DepFun(Syntax):
    """`depFun(n : nat, body)`; `internal` is the unique name of the size or type in types."""

    name: str
    kind: str
    body: Syntax
    internal: str = ""

    def __post_init__(self) -> None:
        self._set_depth(self.body)


@dataclass(eq=False, slots=True)
class DepCall(Syntax):
    """`function@4` or `function@[f32]`: a dependent function applied."""

    function: Syntax
    argument: Nat | RiseType
    argument_text: str | None = None

    def __post_init__(self) -> None:
        self._set_depth(self.function)


@dataclass(eq=False, slots=True)
class Call(Syntax):
    function: Syntax
    arguments: tuple[Syntax, ...]

    def __post_init__(self) -> None:
        self._set_depth(self.function, *self.arguments)


@dataclass(eq=False, slots=True)
class Pipe(Syntax):
    """`value |> function`."""

    value: Syntax
    function: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.value, self.function)


@dataclass(eq=False, slots=True)
class Let(Syntax):
    """`let name = value; body`; `span` is that of the name."""

    name: str
    value: Syntax
    body: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.value, self.body)


@dataclass(eq=False, slots=True)
class If(Syntax):
    condition: Syntax
    chosen: Syntax
    other: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.condition, self.chosen, self.other)


@dataclass(eq=False, slots=True)
class Binary(Syntax):
    operator: str
    left: Syntax
    right: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.left, self.right)


@dataclass(eq=False, slots=True)
class Unary(Syntax):
    """`-a` or `~a`."""

    operator: str
    operand: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.operand)


@dataclass(eq=False, slots=True)
class Tuple(Syntax):
    """`(a, b, c)`, which nests to the right."""

    items: tuple[Syntax, ...]

    def __post_init__(self) -> None:
        self._set_depth(*self.items)


@dataclass(eq=False, slots=True)
class Array(Syntax):
    """`[1, 2, 3]`: an array of numbers, or of such arrays."""

    items: tuple[Syntax, ...]

    def __post_init__(self) -> None:
        self._set_depth(*self.items)


@dataclass(eq=False, slots=True)
class Ascription(Syntax):
    """`(value : type)`."""

    value: Syntax
    type: RiseType
    type_text: str | None = None

    def __post_init__(self) -> None:
        self._set_depth(self.value)


@dataclass(eq=False, slots=True)
class Marked(Syntax):
    """A highlighted part; printed, but never parsed."""

    value: Syntax

    def __post_init__(self) -> None:
        self._set_depth(self.value)


@dataclass(eq=False, slots=True)
class Definition(Syntax):
    """`def name = value`; `span` is that of the name, `start` the offset of `def`.

    A file that is one expression is the definition of `main`, without a `def`.
    """

    name: str
    value: Syntax
    start: int | None = None

    def __post_init__(self) -> None:
        self._set_depth(self.value)


def spine(syntax: Syntax) -> tuple[Syntax, list[Syntax]]:
    """Split an application into its head and arguments: `x |> f(a)(b)` into `f`, `[a, b, x]`."""
    reversed_arguments: list[Syntax] = []
    while True:
        match syntax:
            case Call(function=function, arguments=arguments):
                reversed_arguments.extend(reversed(arguments))
                syntax = function
            case Pipe(value=value, function=function):
                reversed_arguments.append(value)
                syntax = function
            case _:
                return syntax, reversed_arguments[::-1]


def join_spans(first: Syntax, last: Syntax) -> Span:
    """Return the span from the start of one node to the end of another."""
    return first.span[0], last.span[1]


def children(syntax: Syntax) -> Sequence[Syntax]:
    """Return the direct children of a node, in the order of the text."""
    match syntax:
        case Fun(body=body) | DepFun(body=body):
            return (body,)
        case DepCall(function=function):
            return (function,)
        case Call(function=function, arguments=arguments):
            return (function, *arguments)
        case Pipe(value=value, function=function):
            return value, function
        case Let(value=value, body=body):
            return value, body
        case If(condition=condition, chosen=chosen, other=other):
            return condition, chosen, other
        case Binary(left=left, right=right):
            return left, right
        case Unary(operand=operand):
            return (operand,)
        case Ascription(value=value) | Marked(value=value):
            return (value,)
        case Tuple(items=items) | Array(items=items):
            return items
        case _:
            return ()

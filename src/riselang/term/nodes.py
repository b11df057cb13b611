"""The nodes of a typed term.

Variables that a lambda of the term binds are numbered from the inside out (de Bruijn indices), so
alpha-equivalent terms are the same structure. Each node owns a *key*, interned in a table: two
terms are equal exactly when their keys are the same object, and comparing or hashing never walks
the term. Names and locations are attached to a node, but are not part of the key.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from importlib import import_module
from typing import ClassVar, cast

from riselang.dialects.rise.argument_checks import Argument
from riselang.dialects.rise.attributes import LiteralAttr, Numbers
from riselang.dialects.rise.lane_types import Lanes, lane_type
from riselang.dialects.rise.pattern_spec import PatternSpec
from riselang.dialects.rise.type_binding import (
    binder_height,
    binder_label,
    dep_fun,
    instantiate_binder,
)
from riselang.dialects.rise.types import DepFunType, FunType, RiseType, ScalarType
from riselang.nat import Nat
from riselang.support.errors import SourceLocation
from riselang.support.forking import hold_forks
from riselang.support.html import code
from riselang.term.foreign import ForeignRegion


class Key:
    """An interned structure; it holds its parts, so they stay interned as long as it does."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[Hashable, ...]):
        self.parts = parts


class _Reference(weakref.ref[Key]):
    """A weak reference to a key, with the parts under which the table has it."""

    __slots__ = ("parts",)

    parts: tuple[Hashable, ...]


_KEYS: dict[tuple[Hashable, ...], _Reference] = {}
"""A dictionary with weak values. Every term is looked up here, and `WeakValueDictionary` has more
overhead."""


def _remove_key(reference: weakref.ref[Key]) -> None:
    assert isinstance(reference, _Reference)
    if _KEYS.get(reference.parts) is reference:
        del _KEYS[reference.parts]


ARITHMETIC = 1
"""The bit in `Term.patterns` of a term that contains scalar operations."""
VARIABLES = 2
"""The bit of a term that contains free variables."""
EMBEDS = 4
"""The bit of a term that contains foreign ops."""
CALLS = 8
"""The bit of a term that contains C functions."""
_FIRST_PATTERN = 16


def _intern(parts: tuple[Hashable, ...]) -> Key:
    interned = _KEYS.get(parts)
    key = None if interned is None else interned()
    if key is None:
        key = Key(parts)
        reference = _KEYS[parts] = _Reference(key, _remove_key)
        reference.parts = parts
    return key


PRINTER = "riselang.notation.printer"
"""The module that assigns its printer to `Term.format`."""


def _import_printer(term: Term) -> str:
    """Import the printer, which replaces this function, and print a term."""
    with hold_forks():
        import_module(PRINTER)
    return Term.format(term)


class Term:
    """The base class of the nodes below; there are no other nodes. Terms are immutable."""

    __slots__ = (
        "argument_count",
        "binders",
        "depth",
        "head",
        "key",
        "location",
        "open",
        "patterns",
        "type",
    )  # fmt: skip
    __match_args__: ClassVar[tuple[str, ...]] = ()

    type: RiseType
    key: Key
    depth: int
    """The height of the tree."""
    open: int
    """The number of enclosing lambdas the term may refer to; 0 if it is closed."""
    binders: int
    """The maximum nesting depth of dependent lambdas, or of dependent function types."""
    patterns: int
    """A bit for each pattern that occurs in the term, and those above; see `has_pattern`."""
    head: PatternSpec | None
    """The pattern that the term is, or that it applies."""
    argument_count: int
    """The number of arguments that the head is applied to."""
    location: SourceLocation | None

    def _init(
        self,
        type: RiseType,
        children: Sequence[Term],
        location: SourceLocation | None,
        *key: Hashable,
    ) -> None:
        # One loop, since built-in functions would be three times slower, and no other code creates
        # as many objects.
        parts, depth, open, binders = [self.__class__.__name__, *key], 0, 0, 0
        patterns = 0
        for child in children:
            parts.append(child.key)
            if child.depth > depth:
                depth = child.depth
            if child.open > open:
                open = child.open
            if child.binders > binders:
                binders = child.binders
            patterns |= child.patterns
        self.type = type
        self.key = _intern(tuple(parts))
        self.depth = depth + 1
        self.open = open
        self.binders = binders
        self.patterns = patterns
        self.head = None
        self.argument_count = 0
        self.location = location

    @property
    def children(self) -> tuple[Term, ...]:
        return ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.key is other.key

    def __hash__(self) -> int:
        return hash(self.key)

    format: ClassVar[Callable[[Term], str]] = _import_printer
    """Formats a term. The package `notation`, which this one does not import, sets its printer."""

    def __repr__(self) -> str:
        return Term.format(self)

    def _repr_html_(self) -> str:
        return code(repr(self))


class Bound(Term):
    """The variable of the `index`-th enclosing lambda, counted from the inside."""

    __slots__ = ("index",)
    __match_args__ = ("index",)

    def __init__(self, index: int, type: RiseType, location: SourceLocation | None = None):
        self.index = index
        self._init(type, (), location, index, type)
        self.open = index + 1


class Free(Term):
    """A variable without a binder in this term, as in rules and in parts of programs."""

    __slots__ = ("name",)
    __match_args__ = ("name",)

    def __init__(self, name: str, type: RiseType, location: SourceLocation | None = None):
        self.name = name
        self._init(type, (), location, name, type)
        self.patterns = VARIABLES


class Lambda(Term):
    """A function of one parameter; `name` is the parameter's name in the source."""

    __slots__ = ("body", "name", "parameter")
    __match_args__ = ("name", "parameter", "body")

    def __init__(
        self,
        name: str,
        parameter: RiseType,
        body: Term,
        location: SourceLocation | None = None,
    ):
        self.name = name
        self.parameter = parameter
        self.body = body
        self._init(FunType(parameter, body.type), (body,), location, parameter)
        self.open = max(0, body.open - 1)
        self.binders = max(body.binders, binder_height(parameter))

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)


class Apply(Term):
    """A function applied to one argument."""

    __slots__ = ("argument", "function")
    __match_args__ = ("function", "argument")

    def __init__(self, function: Term, argument: Term, location: SourceLocation | None = None):
        self.function = function
        self.argument = argument
        function_type = function.type
        assert isinstance(function_type, FunType), function_type
        assert function_type.input == argument.type, (function_type, argument.type)
        # `_init`, inlined: there are more applications than any other nodes.
        self.type = function_type.output
        self.key = _intern(("Apply", function.key, argument.key))
        self.depth = 1 + (function.depth if function.depth > argument.depth else argument.depth)
        self.open = function.open if function.open > argument.open else argument.open
        self.binders = max(function.binders, argument.binders)
        self.patterns = function.patterns | argument.patterns
        self.head = function.head
        self.argument_count = function.argument_count + 1
        self.location = location

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.function, self.argument)


class DepLambda(Term):
    """A function of a size (kind `nat`) or a data type (kind `data`) that types in `body` mention.

    The variable is named by the height of its binder, as in `DepFunType`; `name` is its name in
    the source.
    """

    __slots__ = ("binder", "body", "kind", "name")
    __match_args__ = ("kind", "name", "body")

    def __init__(
        self,
        kind: str,
        name: str,
        body: Term,
        binder: str | None = None,
        location: SourceLocation | None = None,
    ):
        """In `body`, the variable is called `binder`, or `name` if `binder` is None."""
        # Deferred: renaming a size variable is defined on the nodes of this module.
        from riselang.term.size_substitution import rename_size_or_type

        self.kind = kind
        self.name = name
        self.binder = binder_label(body.binders)
        self.body = rename_size_or_type(body, kind, binder or name, self.binder)
        type = dep_fun(kind, self.binder, self.body.type)
        self._init(type, (self.body,), location, kind, self.binder)
        self.binders = int(self.binder[1:])

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.body,)


class DepApply(Term):
    """A dependent function applied to a size or a data type."""

    __slots__ = ("argument", "function")
    __match_args__ = ("function", "argument")

    def __init__(
        self, function: Term, argument: Nat | RiseType, location: SourceLocation | None = None
    ):
        self.function = function
        self.argument = argument
        function_type = function.type
        assert isinstance(function_type, DepFunType), function_type
        self._init(instantiate_binder(function_type, argument), (function,), location, argument)

    @property
    def children(self) -> tuple[Term, ...]:
        return (self.function,)


class Literal(Term):
    """A constant, which is a scalar or an array of scalars."""

    __slots__ = ("attribute",)
    __match_args__ = ("attribute",)

    def __init__(self, attribute: LiteralAttr, location: SourceLocation | None = None):
        self.attribute = attribute
        self._init(attribute.type, (), location, attribute, _literal_key(attribute.number))

    @property
    def number(self) -> Numbers:
        """The number, or those of an array in nested tuples."""
        return self.attribute.number


class Pattern(Term):
    """A pattern with all its sizes and types; it is a function. `to` selects the loop dialect."""

    __slots__ = ("arguments", "spec", "to")
    __match_args__ = ("spec",)

    def __init__(
        self,
        spec: PatternSpec,
        arguments: Sequence[Argument],
        to: str | None = None,
        location: SourceLocation | None = None,
    ):
        self.spec = spec
        self.arguments = tuple(arguments)
        self.to = to
        type = spec.instantiate(dict(zip(spec.parameters, arguments, strict=True)))
        self._init(type, (), location, spec.name, self.arguments, to)
        self.patterns = pattern_bits(spec.name)
        if spec.foreign is not None:
            self.patterns = CALLS
        self.head = spec

    def argument(self, name: str) -> Argument:
        return self.arguments[self.spec.parameters.index(name)]

    @property
    def sizes(self) -> dict[str, Nat]:
        """The parameters of the pattern that are sizes, by name."""
        pairs = zip(self.spec.parameters, self.arguments, strict=True)
        return {name: value for name, value in pairs if isinstance(value, Nat)}


class Scalar(Term):
    """An op of the arith or math dialect, by its MLIR name, on scalars or on each lane.

    The operands and the result are all scalars, or all vectors of the same length. The predicate is
    that of a comparison, or `any` if a reduction may apply the operation in any order.
    """

    __slots__ = ("op", "operands", "predicate")
    __match_args__ = ("op", "operands")

    def __init__(
        self,
        op: str,
        operands: Sequence[Term],
        type: Lanes,
        predicate: str | None = None,
        location: SourceLocation | None = None,
    ):
        self.op = op
        self.operands = tuple(operands)
        self.predicate = predicate
        self._init(type, self.operands, location, op, predicate, type)
        self.patterns |= ARITHMETIC

    @property
    def children(self) -> tuple[Term, ...]:
        return self.operands


class Embed(Term):
    """A region of foreign ops on scalars and vectors; opaque to everything but lowering."""

    __slots__ = ("operands", "region")
    __match_args__ = ("region", "operands")

    def __init__(
        self,
        region: ForeignRegion,
        operands: Sequence[Term],
        type: Lanes,
        location: SourceLocation | None = None,
    ):
        self.region = region
        self.operands = tuple(operands)
        self._init(type, self.operands, location, region.text, type)
        self.patterns |= ARITHMETIC | EMBEDS

    @property
    def children(self) -> tuple[Term, ...]:
        return self.operands


def _literal_key(number: Numbers) -> str:
    # 0.0 == -0.0, but they are different literals; NaN != NaN, but they are the same literal.
    return repr(number)


def spine(term: Term) -> tuple[Term, list[Term]]:
    """Split `f(a)(b)` into `f` and `[a, b]`."""
    arguments: list[Term] = []
    while isinstance(term, Apply):
        arguments.append(term.argument)
        term = term.function
    arguments.reverse()
    return term, arguments


def subterms(term: Term) -> Iterator[Term]:
    """Iterate over the term and all its subterms; a shared subterm is visited once."""
    seen: set[int] = set()
    stack = [term]
    while stack:
        current = stack.pop()
        if id(current) not in seen:
            seen.add(id(current))
            stack.extend(current.children)
            yield current


def subterms_with(term: Term, bits: int) -> Iterator[Term]:
    """Iterate over the subterms that contain one of these patterns; see `Term.patterns`."""
    seen: set[int] = set()
    stack = [term]
    while stack:
        current = stack.pop()
        if current.patterns & bits and id(current) not in seen:
            seen.add(id(current))
            stack.extend(current.children)
            yield current


_BITS: dict[str, int] = {}


def pattern_bits(*names: str) -> int:
    """The bits in `Term.patterns` of these patterns."""
    bits = 0
    for name in names:
        if name not in _BITS:
            _BITS[name] = _FIRST_PATTERN << len(_BITS)
        bits |= _BITS[name]
    return bits


def has_pattern(term: Term, *names: str) -> bool:
    """Whether one of these patterns occurs anywhere in a term; does not walk the term."""
    return bool(term.patterns & pattern_bits(*names))


def parameter_names(term: Term) -> list[str]:
    """The names of a function's parameters in the source."""
    names: list[str] = []
    while isinstance(term, Lambda):
        names.append(term.name)
        term = term.body
    return names


def apply_all(function: Term, arguments: Sequence[Term]) -> Term:
    for argument in arguments:
        function = Apply(function, argument)
    return function


def scalar_type(term: Term) -> ScalarType:
    """The type of a scalar, or of the lanes of a vector."""
    return cast(ScalarType, lane_type(term.type))


def operation_type(term: Term) -> Lanes:
    """The type of an operation, an embed, or one of their operands."""
    return cast(Lanes, term.type)

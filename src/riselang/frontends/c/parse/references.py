"""References in C++: as parameters, and as results of functions.

A function of a class must only return something, such as a member or an element. A call stands for
what the function returns, for its object and its arguments: `a(i, j)` is `a.data[i * a.m + j]`. It
may also be assigned if the function returns a reference.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.clang import Cursor, children, kind_name
from riselang.frontends.c.parse.cpp_functions import has_plain_copies
from riselang.frontends.c.parse.declarations import is_dereferenced, is_reference, value_type
from riselang.frontends.c.parse.lvalues import POINTERS, WRAPPERS, LvalueReader, is_lvalue
from riselang.frontends.c.parse.substitution import substitute_expression
from riselang.frontends.c.parse.syntax import Access, ArrayValue, Expression, Statement, Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

CLASS_FUNCTIONS = ("CXX_METHOD", "CONSTRUCTOR", "CONVERSION_FUNCTION")
MAX_DEPTH = 40
"""The limit on nested calls."""
E = TypeVar("E", bound=Expression)


@dataclass
class ReferenceReader(LvalueReader):
    """Reads calls as what the called functions return."""

    _objects: list[Variable] = field(default_factory=list[Variable], kw_only=True)
    """The `this` of the functions that are being read, innermost last."""

    @abstractmethod
    def _read_argument(self, cursor: Cursor) -> Expression:
        """Read an argument that is passed by value, or a pointer."""

    @abstractmethod
    def _store_value(self, value: Expression) -> Access:
        """Store a value in a new variable, before the current statement."""

    @abstractmethod
    def collect_effects(self) -> AbstractContextManager[list[Statement]]:
        """Collect the side effects of what is read in this context."""

    def read_arguments(self, call: Cursor, given: Sequence[Cursor]) -> list[Expression]:
        declared = call.referenced
        given = _with_defaults(call, given)
        # References are not parameters of C functions, or of those that pointers point to.
        types = list[Any]()
        if declared is not None and declared.type.kind.name == "FUNCTIONPROTO":
            types += declared.type.argument_types()
        types += [None] * (len(given) - len(types))
        return [
            self._read_argument(each)
            if type is None or not is_reference(type)
            else self.read_reference_argument(each, type)
            for each, type in zip(given, types, strict=False)
        ]

    def read_reference_argument(self, cursor: Cursor, type: Any) -> ArrayValue:
        """Read what a reference is bound to: an element, or a new variable with a value."""
        if not is_dereferenced(type):
            return self.read_lvalue(cursor)
        inner, wanted = cursor, _plain_spelling(type.get_canonical().get_pointee())
        while kind_name(inner) in WRAPPERS and _plain_spelling(inner.type) == wanted:
            inner = children(inner)[-1]
        if is_lvalue(inner) and _plain_spelling(inner.type) == wanted:
            return self.read_address_of(inner)
        return self._store_as_object(self.read_value(cursor))

    def read_this(self, cursor: Cursor) -> ArrayValue:
        """Read `this`, which is implicit in the names of members."""
        location = self.location_of(cursor)
        if not self._objects:
            raise UnsupportedConstruct(location, "this is a member of an object that is not known")
        this = self._objects[-1]
        return ArrayValue(location, this.type, this, ())

    def read_called_lvalue(self, cursor: Cursor) -> ArrayValue:
        declared = cursor.referenced
        if declared is None or not is_reference(declared.result_type):
            raise UnsupportedConstruct(
                self.location_of(cursor), "the result of this call is not a reference",
                "assign it to a variable first",
            )  # fmt: skip
        return self._read_returned(cursor, self.read_lvalue)

    def read_called_value(self, cursor: Cursor) -> Expression:
        return self._read_returned(cursor, self.read_value)

    def _read_returned(self, call: Cursor, read: Callable[[Cursor], E]) -> E:
        """Read what a function returns for the object and the arguments of a call."""
        location = self.location_of(call)
        definition = call.referenced.get_definition()
        returned = None if definition is None else _returned_value(definition)
        if definition is None or returned is None or len(self._objects) > MAX_DEPTH:
            raise UnsupportedConstruct(
                location, f"{call.spelling} does more than return a member or an element",
                "call a function that is declared outside of classes",
            )  # fmt: skip
        is_member = kind_name(definition) == "CXX_METHOD" and not definition.is_static_method()
        object, given = split_operands(call, is_member=is_member)
        arguments = self.read_arguments(call, given)
        parameters = list(map(self.find_variable, definition.get_arguments()))
        values: dict[Variable, Expression] = dict(zip(parameters, arguments, strict=True))
        with self.inside_object(definition, is_member=is_member) as this:
            with self.collect_effects() as effects:
                result = read(returned)
            if effects:
                raise UnsupportedConstruct(location, f"{call.spelling} has side effects")
        if this is not None:
            values[this] = self._read_object(call, object)
        substituted = substitute_expression(result, values)
        if isinstance(result, ArrayValue) and not isinstance(substituted, ArrayValue):
            raise UnsupportedConstruct(location, f"{call.spelling} returns no element of an array")
        return substituted  # type: ignore[return-value]

    @contextmanager
    def inside_object(self, definition: Cursor, *, is_member: bool) -> Generator[Variable | None]:
        """Read the body of a function in this context, which yields its object."""
        if not is_member:
            yield None
            return
        location = self.location_of(definition)
        type = value_type(definition.semantic_parent.type, location)
        with self.inside_class(type, location) as this:
            yield this

    @contextmanager
    def inside_class(self, type: CType, location: SourceLocation) -> Generator[Variable]:
        """Read members of an object in this context, which yields it."""
        this = Variable(
            "this", type, location, (None,), is_pointer=True, is_parameter=True, steps=(None,)
        )
        self._objects.append(this)
        try:
            yield this
        finally:
            self._objects.pop()

    def _read_object(self, call: Cursor, object: Sequence[Cursor]) -> ArrayValue:
        """Return the address of the object of a call; without one, it is `this`."""
        if not object:
            return self.read_this(call)
        (cursor,) = object
        if cursor.type.get_canonical().kind.name in POINTERS:
            return self.read_lvalue(cursor)
        if not is_lvalue(cursor):
            return self._store_as_object(self.read_value(cursor))
        return self.read_address_of(cursor)

    def _store_as_object(self, value: Expression) -> ArrayValue:
        """Store a value in a new variable, and return its address."""
        stored = self._store_value(value)
        return ArrayValue(stored.location, stored.type, stored.variable, (), is_single=True)


def _with_defaults(call: Cursor, given: Sequence[Cursor]) -> list[Cursor]:
    """Return arguments with the values that declarations state for those left out."""
    result = list(given)
    for at, each in enumerate(given):
        if each.location.file is None and not children(each) and call.referenced is not None:
            parameters = list(call.referenced.get_arguments())
            values = [c for c in children(parameters[at]) if c.kind.is_expression()]
            result[at] = values[-1] if values else each
    return result


def _returned_value(definition: Cursor) -> Cursor | None:
    """Return the expression that a function returns; None if it does anything else."""
    if definition.is_virtual_method():
        return None
    body = [each for each in children(definition) if kind_name(each) == "COMPOUND_STMT"]
    statements = [
        each for block in body for each in children(block) if kind_name(each) != "NULL_STMT"
    ]
    if len(statements) != 1 or kind_name(statements[0]) != "RETURN_STMT":
        return None
    values = children(statements[0])
    return values[0] if values else None


def split_operands(call: Cursor, *, is_member: bool) -> tuple[list[Cursor], list[Cursor]]:
    """Return the object whose function a call names, if there is one, and the arguments."""
    name = next((each for each in map(unwrapped, children(call)) if is_name_in(each, call)), None)
    given = operands_of(call)
    if name is not None and kind_name(name) == "MEMBER_REF_EXPR":
        return [each for each in children(name) if each.kind.is_expression()], given
    # The object of an operator is its first operand.
    return (given[:1], given[1:]) if is_member else ([], given)


def operands_of(call: Cursor) -> list[Cursor]:
    """Return the arguments of a call, and for an operator its object; the name of an operator is
    between them."""
    given = children(call)
    names = [at for at, each in enumerate(given) if is_name_in(unwrapped(each), call)]
    return [each for at, each in enumerate(given) if at not in names[:1]]


def unwrapped(cursor: Cursor) -> Cursor:
    while kind_name(cursor) in WRAPPERS and children(cursor):
        cursor = children(cursor)[-1]
    return cursor


def is_name_in(cursor: Cursor, call: Cursor) -> bool:
    """Whether an expression is the name of the called function."""
    is_name = kind_name(cursor) in ("DECL_REF_EXPR", "MEMBER_REF_EXPR")
    if not is_name or call.referenced is None or cursor.referenced is None:
        return False
    return bool(cursor.referenced == call.referenced)


def is_copy(call: Cursor) -> bool:
    """Whether a call only copies a structure, as structures of C are copied."""
    declared = call.referenced
    if declared is None or kind_name(declared) not in CLASS_FUNCTIONS:
        return False
    is_constructor = declared.is_copy_constructor() or declared.is_move_constructor()
    is_assignment = declared.spelling == "operator=" and len(operands_of(call)) == 2
    return (is_constructor or is_assignment) and has_plain_copies(declared.semantic_parent.type)


def _plain_spelling(type: Any) -> str:
    return type.get_canonical().spelling.removeprefix("const ")

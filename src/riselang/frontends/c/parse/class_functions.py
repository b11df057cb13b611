"""Constructors of structures in C++, which initialize members from their parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from riselang.frontends.c.parse.c_types import INT
from riselang.frontends.c.parse.clang import (
    Cursor,
    binary_operator,
    children,
    kind_name,
)
from riselang.frontends.c.parse.container_functions import ContainerReader
from riselang.frontends.c.parse.containers import ContainerType
from riselang.frontends.c.parse.cpp_functions import is_user_provided
from riselang.frontends.c.parse.declarations import value_type
from riselang.frontends.c.parse.record_types import Member, RecordType
from riselang.frontends.c.parse.references import operands_of
from riselang.frontends.c.parse.substitution import map_operands, substitute_expression
from riselang.frontends.c.parse.syntax import (
    Access,
    Expression,
    Literal,
    RecordValue,
    Variable,
    walk_expression,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation


@dataclass
class ClassReader(ContainerReader):
    """Reads calls of constructors as structures."""

    def read_called_value(self, cursor: Cursor) -> Expression:
        if kind_name(cursor.referenced) == "CONSTRUCTOR":
            return self._read_constructed(cursor)
        return super().read_called_value(cursor)

    def _read_constructed(self, call: Cursor) -> Expression:
        """Read the structure that a constructor makes of its arguments."""
        location = self.location_of(call)
        type = value_type(call.type, location)
        assert isinstance(type, RecordType)
        values = self._constructed_values(call, type)
        paths = tuple((name,) for name in values)
        return RecordValue(location, type, paths, tuple(values.values()))

    def _constructed_values(self, call: Cursor, type: RecordType) -> dict[str, Expression]:
        constructor = call.referenced
        if isinstance(type, ContainerType):
            raise UnsupportedConstruct(
                self.location_of(call), f"this makes a {type} from another value",
                "pass data() and size() of the container, or use its elements by v[i]",
            )  # fmt: skip
        if not is_user_provided(constructor) and constructor.is_default_constructor():
            return self.default_values(type, self.location_of(call), {})
        definition = constructor.get_definition()
        if definition is None or not is_user_provided(constructor):
            raise self._refused(call, "is not defined in this file, or copies a structure")
        with self.inside_object(definition, is_member=True) as this:
            with self.collect_effects() as effects:
                values = self._read_members(call, definition, type, this)
            if effects:
                raise self._refused(call, "has side effects")
        parameters = list(map(self.find_variable, definition.get_arguments()))
        given = [each for each in operands_of(call) if each.kind.is_expression()]
        arguments = self.read_arguments(call, given)
        bound: dict[Variable, Expression] = dict(zip(parameters, arguments, strict=True))
        found = {name: substitute_expression(value, bound) for name, value in values.items()}
        for part in (part for value in found.values() for part in walk_expression(value)):
            if isinstance(part, Access) and part.variable.root is this:
                raise self._refused(call, "reads a member before it is initialized")
        return found

    def _read_members(
        self, call: Cursor, constructor: Cursor, type: RecordType, this: Variable | None
    ) -> dict[str, Expression]:
        """Read the members as a constructor initializes them, and then assigns them."""
        given: dict[str, Expression] = {}
        statements: list[Cursor] = []
        name = ""
        for each in children(constructor):
            kind = kind_name(each)
            if kind == "MEMBER_REF":
                name = each.spelling
            elif kind == "COMPOUND_STMT":
                statements += children(each)
            elif name:
                given[name], name = self._read_member_value(each), ""
        assigned = [self._read_member_assignment(call, each) for each in statements]
        for name in (*given, *dict(assigned)):
            member = type.find_member(name)
            if member.is_pointer or member.refusal or member.lengths:
                raise self._refused(call, f"initializes {name}, which is not a number")
        values = self._initial_values(type, self.location_of(call), given, this)
        for name, value in assigned:
            known = _replace_members(value, this, values)
            values[name] = convert_to(known, type.find_member(name).type)
        return values

    def _read_member_value(self, cursor: Cursor) -> Expression:
        """Read `x`, `{x}` or `{}` after the name of a member."""
        if kind_name(cursor) != "INIT_LIST_EXPR" or cursor.type.kind.name == "RECORD":
            return self.read_value(cursor)
        given = children(cursor)
        if given:
            return self.read_value(given[0])
        location = self.location_of(cursor)
        return convert_to(Literal(location, INT, 0), value_type(cursor.type, location))

    def _read_member_assignment(self, call: Cursor, statement: Cursor) -> tuple[str, Expression]:
        is_assignment = kind_name(statement) == "BINARY_OPERATOR" and (
            binary_operator(statement) == "="
        )
        if is_assignment:
            target, value = children(statement)
            on = children(target)
            is_own = not on or kind_name(on[0]) == "CXX_THIS_EXPR"
            if kind_name(target) == "MEMBER_REF_EXPR" and is_own:
                return target.spelling, self.read_value(value)
        raise self._refused(call, "does more than initialize members")

    def default_values(
        self, type: RecordType, location: SourceLocation, given: Mapping[str, Expression]
    ) -> dict[str, Expression]:
        """Return the values of the members that are not given, where their declarations state
        them."""
        with self.inside_class(type, location) as this:
            values = self._initial_values(type, location, given, this)
        return {name: value for name, value in values.items() if name not in given}

    def _initial_values(
        self,
        type: RecordType,
        location: SourceLocation,
        given: Mapping[str, Expression],
        this: Variable | None,
    ) -> dict[str, Expression]:
        """Return given and default values of members, in the order of their declarations."""
        values: dict[str, Expression] = {}
        for member in type.members:
            value = given.get(member.name) or self._default_value(type, member, location)
            if value is not None:
                value = _replace_members(value, this, values)
                values[member.name] = convert_to(value, member.type)
        return values

    def _default_value(
        self, type: RecordType, member: Member, location: SourceLocation
    ) -> Expression | None:
        is_number = not (member.lengths or member.is_pointer or member.refusal)
        if member.initial is not None and is_number:
            return self._read_member_value(member.initial)
        inner = member.type
        is_made = isinstance(inner, RecordType) and not member.is_pointer and inner.has_defaults
        if member.initial is not None or is_made:
            raise UnsupportedConstruct(
                location, f"{member.name} is initialized in {type}, but is not a number",
                "give its value where the structure is made",
            )  # fmt: skip
        return None

    def check_elements_constructed(self, variable: Variable, given: Sequence[Cursor]) -> None:
        """Check that the elements of an array of structures need no constructor."""
        type = variable.type
        if not isinstance(type, RecordType) or type.is_complex:
            return
        calls = [each for each in given if kind_name(each) == "CALL_EXPR"]
        is_constructed = any(is_user_provided(each.referenced) for each in calls)
        if is_constructed or type.has_defaults:
            raise UnsupportedConstruct(
                variable.location, f"the elements of {variable.name} have initial values, which "
                f"{type} states", "use structures without constructors, and assign the elements",
            )  # fmt: skip

    def _refused(self, call: Cursor, what: str) -> UnsupportedConstruct:
        return UnsupportedConstruct(
            self.location_of(call), f"the constructor of {call.spelling} {what}",
            "let it initialize numbers from its parameters, as in V(double x) : x(x) {}",
        )  # fmt: skip


def _replace_members(
    value: Expression, this: Variable | None, known: Mapping[str, Expression]
) -> Expression:
    """Replace the members that a constructor has initialized by their values."""
    if isinstance(value, Access) and this is not None:
        member = value.variable.member
        if member is not None and member.parent is this and member.name in known:
            return known[member.name]
    return map_operands(value, lambda inner: _replace_members(inner, this, known))

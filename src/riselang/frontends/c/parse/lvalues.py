"""Lvalues of C: variables, their members and elements, and parts of arrays."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any

from riselang.frontends.c.parse.c_types import LONG
from riselang.frontends.c.parse.clang import (
    Cursor,
    ParsedFile,
    binary_operator,
    children,
    kind_name,
    unary_operator,
)
from riselang.frontends.c.parse.declarations import is_dereferenced, is_reference
from riselang.frontends.c.parse.record_types import IM, RE, access_member, own_rank
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Binary,
    Expression,
    Literal,
    Unary,
    Variable,
)
from riselang.frontends.c.parse.typed_nodes import convert_to, is_zero
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

WRAPPERS = ("UNEXPOSED_EXPR", "PAREN_EXPR")
POINTERS = ("POINTER", "CONSTANTARRAY", "VARIABLEARRAY", "INCOMPLETEARRAY")


@dataclass
class LvalueReader(ABC):
    """Reads the lvalues of a file."""

    parsed: ParsedFile
    variables: dict[Any, Variable] = field(default_factory=dict[Any, Variable], kw_only=True)
    pointers: dict[Variable, ArrayValue] = field(
        default_factory=dict[Variable, ArrayValue], kw_only=True
    )
    """The parts of arrays that local pointers point to; they are never changed."""

    @abstractmethod
    def find_variable(self, cursor: Cursor) -> Variable:
        """Return the variable of a declaration."""

    @abstractmethod
    def read_value(self, cursor: Cursor) -> Expression:
        """Read an rvalue."""

    @abstractmethod
    def read_this(self, cursor: Cursor) -> ArrayValue:
        """Read the object of a function of a class."""

    @abstractmethod
    def read_called_lvalue(self, cursor: Cursor) -> ArrayValue:
        """Read the reference that a call returns."""

    def location_of(self, cursor: Cursor) -> SourceLocation:
        return self.parsed.location_of(cursor)

    def read_element(self, cursor: Cursor) -> Access:
        part = self.read_lvalue(cursor)
        return self.check_subscript_count(part, cursor)

    def check_subscript_count(self, part: ArrayValue, cursor: Cursor) -> Access:
        variable = part.variable
        is_address = part.offset is not None or part.is_single
        if is_address or len(part.indices) != len(variable.extents):
            raise UnsupportedConstruct(
                self.location_of(cursor),
                f"{variable.name} has {len(variable.extents)} dimensions, but "
                f"{len(part.indices)} subscripts are given here",
            )
        return Access(part.location, variable.type, variable, part.indices)

    def read_lvalue(self, cursor: Cursor) -> ArrayValue:
        """Read an lvalue: an array, one of its rows, or one of its elements."""
        location = self.location_of(cursor)
        match kind_name(cursor):
            case "UNEXPOSED_EXPR" | "PAREN_EXPR" | "CXX_CONST_CAST_EXPR":
                (inner,) = self.single_child(cursor)
                return self.read_lvalue(inner)
            case "DECL_REF_EXPR":
                return self._read_array(cursor)
            case "MEMBER_REF_EXPR":
                return self._read_member(cursor)
            case "ARRAY_SUBSCRIPT_EXPR":
                return self._read_subscript(cursor)
            case "CXX_THIS_EXPR":
                return self.read_this(cursor)
            case "CALL_EXPR":
                return self.read_called_lvalue(cursor)
            case "UNARY_OPERATOR" if unary_operator(cursor) == "deref":
                base = self.read_lvalue(children(cursor)[0])
                return index_array(base, Literal(location, LONG, 0), location)
            case "UNARY_OPERATOR" if unary_operator(cursor) == "address":
                return self._read_address(cursor)
            case "UNARY_OPERATOR" if unary_operator(cursor) in ("real", "imag"):
                record = self.read_lvalue(children(cursor)[0])
                name = RE if unary_operator(cursor) == "real" else IM
                variable, indices = access_member(record.variable, record.indices, name, location)
                return ArrayValue(location, variable.type, variable, indices)
            case "BINARY_OPERATOR" if binary_operator(cursor) in ("+", "-"):
                return self._read_pointer_offset(cursor)
            case _:
                raise UnsupportedConstruct(
                    location, f"this lvalue ({format_kind(kind_name(cursor))}) cannot be modeled",
                    "access arrays by their names and subscripts",
                )  # fmt: skip

    def _read_array(self, cursor: Cursor) -> ArrayValue:
        declared = cursor.referenced
        location = self.location_of(cursor)
        if declared is None or kind_name(declared) not in ("VAR_DECL", "PARM_DECL"):
            raise UnsupportedConstruct(location, f"{cursor.spelling} is not an array")
        variable = self.find_variable(declared)
        if variable in self.pointers:
            part = replace(self.pointers[variable], location=location)
        else:
            self._check_known(variable, location)
            part = ArrayValue(location, variable.type, variable, ())
        if not is_dereferenced(declared.type):
            return part
        return index_array(part, Literal(location, LONG, 0), location)

    def _check_known(self, variable: Variable, location: SourceLocation) -> None:
        if variable.is_pointer and not variable.is_parameter and variable.member is None:
            raise UnsupportedConstruct(
                location, f"{variable.name} is a pointer that may point anywhere",
                "use an array, or a parameter of the function",
            )  # fmt: skip

    def _read_member(self, cursor: Cursor) -> ArrayValue:
        """Read `s.x` or `p->x`."""
        location = self.location_of(cursor)
        if is_member_of_this(cursor):
            record, is_pointer = self.read_this(cursor), True
        else:
            (inner,) = self.single_child(cursor)
            record = self.read_lvalue(inner)
            is_pointer = inner.type.get_canonical().kind.name in POINTERS
        if is_pointer:
            record = index_array(record, Literal(location, LONG, 0), location)
        self.check_subscript_count(record, cursor)
        variable, indices = access_member(
            record.variable, record.indices, cursor.spelling, location
        )
        return ArrayValue(location, variable.type, variable, indices)

    def _read_subscript(self, cursor: Cursor) -> ArrayValue:
        base, index = children(cursor)
        if base.type.get_canonical().kind.name not in POINTERS:
            base, index = index, base
        return index_array(self.read_lvalue(base), self.read_value(index), self.location_of(cursor))

    def _read_address(self, cursor: Cursor) -> ArrayValue:
        """Read `&a[i]`, which is `a + i`."""
        return self.read_address_of(children(cursor)[0])

    def read_address_of(self, cursor: Cursor) -> ArrayValue:
        part = self.read_lvalue(cursor)
        rank = own_rank(part.variable)
        if len(part.indices) == len(part.variable.extents) and not rank:
            return replace(part, is_single=True)
        if not part.indices or len(part.variable.extents) - len(part.indices) >= rank:
            raise UnsupportedConstruct(
                self.location_of(cursor), "the address of an array cannot be modeled"
            )
        *outer, last = part.indices
        return ArrayValue(part.location, part.type, part.variable, tuple(outer), last)

    def _read_pointer_offset(self, cursor: Cursor) -> ArrayValue:
        left, right = children(cursor)
        operator = binary_operator(cursor)
        if operator == "+" and left.type.get_canonical().kind.name not in POINTERS:
            left, right = right, left
        base, distance = self.read_lvalue(left), self.read_value(right)
        if base.is_single:
            raise UnsupportedConstruct(
                self.location_of(cursor),
                f"this computes an address next to {base.variable.name}",
            )
        if operator == "-":
            distance = Unary(distance.location, distance.type, "-", distance)
        return ArrayValue(
            base.location, base.type, base.variable, base.indices, _add_offset(base, distance)
        )

    def single_child(self, cursor: Cursor) -> list[Cursor]:
        expressions = [child for child in children(cursor) if child.kind.is_expression()]
        if len(expressions) != 1:
            raise UnsupportedConstruct(
                self.location_of(cursor), "this kind of expression cannot be modeled",
                "compute it outside the region",
            )  # fmt: skip
        return expressions


def is_member_of_this(cursor: Cursor) -> bool:
    """Whether a function of a class names a member without its object."""
    is_member = kind_name(cursor) == "MEMBER_REF_EXPR"
    return is_member and not any(child.kind.is_expression() for child in children(cursor))


def is_lvalue(cursor: Cursor) -> bool:
    """Whether an expression denotes an element in memory."""
    while kind_name(cursor) in (*WRAPPERS, "MEMBER_REF_EXPR"):
        if is_member_of_this(cursor):
            return True
        cursor = children(cursor)[-1]
        if cursor.type.get_canonical().kind.name in POINTERS:
            return True
    if kind_name(cursor) == "CALL_EXPR" and cursor.referenced is not None:
        return is_reference(cursor.referenced.result_type)
    is_deref = kind_name(cursor) == "UNARY_OPERATOR" and unary_operator(cursor) == "deref"
    return is_deref or kind_name(cursor) in ("DECL_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR")


def index_array(base: ArrayValue, index: Expression, location: SourceLocation) -> ArrayValue:
    if base.is_single:
        if not is_zero(index):
            raise UnsupportedConstruct(
                location, f"this accesses memory next to {base.variable.name}"
            )
        return replace(base, location=location, is_single=False)
    if base.offset is not None:
        index = _add_offset(base, index)
    return ArrayValue(location, base.type, base.variable, (*base.indices, index))


def _add_offset(base: ArrayValue, distance: Expression) -> Expression:
    """Return the offset that is added to a pointer, as a ptrdiff_t."""
    distance = convert_to(distance, LONG)
    if base.offset is None:
        return distance
    return Binary(distance.location, LONG, "+", convert_to(base.offset, LONG), distance)


def format_kind(name: str) -> str:
    return name.lower().replace("_", " ")

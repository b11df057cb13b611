"""Functions of the C++ library's containers, and local vectors."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from riselang.frontends.c.parse.c_types import INT, LONG
from riselang.frontends.c.parse.clang import Cursor, children, is_cpp, kind_name
from riselang.frontends.c.parse.containers import (
    ACCESSORS,
    VECTOR,
    ContainerType,
    container_data,
    container_name,
    container_size,
)
from riselang.frontends.c.parse.cpp_functions import has_plain_copies, is_lambda
from riselang.frontends.c.parse.declarations import is_reference, make_variable, value_type
from riselang.frontends.c.parse.initializers import InitializerReader
from riselang.frontends.c.parse.lvalues import index_array
from riselang.frontends.c.parse.memory_statements import initial_values
from riselang.frontends.c.parse.references import ReferenceReader, split_operands, unwrapped
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Assign,
    Binary,
    Block,
    Convert,
    Declare,
    Expression,
    For,
    Literal,
    Statement,
    Variable,
)
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation


@dataclass
class ContainerReader(ReferenceReader):
    """Reads calls of functions of containers as elements and lengths."""

    @property
    @abstractmethod
    def initializers(self) -> InitializerReader:
        """The reader of initializer lists."""

    def read_called_lvalue(self, cursor: Cursor) -> ArrayValue:
        container = self._container_of_call(cursor)
        if container is None:
            return super().read_called_lvalue(cursor)
        return self._read_container_element(cursor, container)

    def read_called_value(self, cursor: Cursor) -> Expression:
        container = self._container_of_call(cursor)
        if container is None:
            return super().read_called_value(cursor)
        location = self.location_of(cursor)
        if cursor.spelling not in ("size", "empty"):
            part = self._read_container_element(cursor, container)
            return self.check_subscript_count(part, cursor)
        size = container_size(container, location)
        if cursor.spelling == "size":
            return convert_to(size, value_type(cursor.type, location))
        return Binary(location, INT, "==", size, Literal(location, size.type, 0))

    def _container_of_call(self, call: Cursor) -> ArrayValue | None:
        """Return the container whose function is called, if it is one."""
        declared = call.referenced
        if declared is None or kind_name(declared) != "CXX_METHOD":
            return None
        if not container_name(declared.semantic_parent):
            return None
        object, _ = split_operands(call, is_member=True)
        return self.read_container(object[0])

    def read_container(self, cursor: Cursor) -> ArrayValue:
        """Read an expression that denotes a container; a local vector is an array."""
        found = self.read_lvalue(cursor)
        if len(found.indices) < len(found.variable.extents) and found.type.is_record:
            location = self.location_of(cursor)
            return index_array(found, Literal(location, LONG, 0), location)
        return found

    def _read_container_element(self, call: Cursor, container: ArrayValue) -> ArrayValue:
        location = self.location_of(call)
        name = call.spelling
        if name not in ACCESSORS:
            what = str(container.type) if container.type.is_record else "std::vector"
            raise UnsupportedConstruct(
                location, f"{name} of {what} cannot be modeled",
                "use v[i], v.front(), v.back(), v.data(), v.size(), v.empty() or a loop over the "
                "elements; give a vector its length where it is declared",
            )  # fmt: skip
        data = container_data(container, location)
        if name == "data":
            return data
        _, given = split_operands(call, is_member=True)
        index: Expression = Literal(location, LONG, 0)
        if name == "operator[]":
            index = self.read_value(given[0])
        elif name == "back":
            size = convert_to(container_size(container, location), LONG)
            index = Binary(location, LONG, "-", size, Literal(location, LONG, 1))
        return index_array(data, index, location)

    # Local vectors

    def read_reference_argument(self, cursor: Cursor, type: Any) -> ArrayValue:
        """Read what a reference is bound to; a local vector is an array."""
        declared = unwrapped(cursor).referenced
        if declared is not None and is_local_vector(declared):
            return self.read_lvalue(cursor)
        return super().read_reference_argument(cursor, type)

    def make_variable(self, cursor: Cursor) -> Variable:
        """Create the variable of a declaration; a local vector is an array."""
        location = self.location_of(cursor)
        type = cursor.type.get_canonical()
        is_parameter = kind_name(cursor) == "PARM_DECL"
        if is_parameter and is_lambda(type):
            raise UnsupportedConstruct(
                location, f"{cursor.spelling} is a lambda, which callers choose",
                "call the lambda by its name where it is defined, or pass a function of the file",
            )  # fmt: skip
        is_record = is_parameter and is_cpp(self.parsed.name) and type.kind.name == "RECORD"
        if is_record and not has_plain_copies(type):
            raise UnsupportedConstruct(
                location, f"{cursor.spelling} is passed by value, which calls a constructor",
                f"pass it by reference: {cursor.type.spelling} &{cursor.spelling}",
            )  # fmt: skip
        if not is_local_vector(cursor):
            return make_variable(cursor, location, self.read_value)
        type = value_type(cursor.type, location)
        assert isinstance(type, ContainerType)
        element = type.element.type
        length = self._vector_length(cursor, location)
        return Variable(cursor.spelling, element, location, (length,), steps=(None,))

    def _vector_length(self, cursor: Cursor, location: SourceLocation) -> Expression:
        given = _vector_arguments(cursor)
        if given and given[0].type.get_canonical().kind.name == "RECORD":
            listed = _listed_elements(cursor)
            if listed is not None:
                return Literal(location, LONG, len(children(listed)))
            return convert_to(container_size(self.read_container(given[0]), location), LONG)
        if not given:
            raise UnsupportedConstruct(
                location, f"{cursor.spelling} is a vector without a length",
                "give it its length: std::vector<double> v(n)",
            )  # fmt: skip
        length = self.read_value(given[0])
        while isinstance(length, Convert):
            # A negative length is an error.
            length = length.operand
        return convert_to(length, LONG)

    def declare_vector(self, variable: Variable, cursor: Cursor) -> Statement:
        """Declare a local vector, and assign its initial elements."""
        location = variable.location
        declared = Declare(location, variable, None)
        listed, given = _listed_elements(cursor), _vector_arguments(cursor)
        if listed is not None:
            values = self.initializers.read_list(listed, variable.type, [len(children(listed))])
            return Block(location, (declared, *initial_values(variable, values)))
        counter = Variable("element", LONG, location)
        index = Access(location, LONG, counter, ())
        if given[0].type.get_canonical().kind.name == "RECORD":
            data = container_data(self.read_container(given[0]), location)
            value: Expression = self.check_subscript_count(
                index_array(data, index, location), cursor
            )
        elif len(given) > 1:
            value = self.read_value(given[1])
        else:
            value = Literal(location, INT, 0)
        target = Access(location, variable.type, variable, (index,))
        length = variable.extents[0]
        assert length is not None
        condition = Binary(location, INT, "<", index, length)
        fill = Assign(location, target, convert_to(value, variable.type))
        start = Literal(location, LONG, 0)
        return Block(location, (declared, For(location, counter, True, start, condition, 1, fill)))


def is_local_vector(cursor: Cursor) -> bool:
    """Whether a declaration is one of a vector that the function makes."""
    type = cursor.type.get_canonical()
    is_local = kind_name(cursor) == "VAR_DECL" and not is_reference(type)
    return is_local and type.kind.name == "RECORD" and _is_vector(type)


def _is_vector(type: Any) -> bool:
    return container_name(type.get_declaration()) == VECTOR


def _vector_arguments(cursor: Cursor) -> list[Cursor]:
    """Return the arguments of the constructor of a vector, without its allocator."""
    given = [each for each in children(cursor) if each.kind.is_expression()]
    if not given:
        return []
    call = unwrapped(given[-1])
    if kind_name(call) != "CALL_EXPR":
        return [call]
    return [each for each in children(call) if "allocator_type" not in each.type.spelling]


def _listed_elements(cursor: Cursor) -> Cursor | None:
    """Return the list of the elements of a vector, if it is initialized with one."""
    given = _vector_arguments(cursor)
    if not given:
        return None
    found = unwrapped(given[0])
    return found if kind_name(found) == "INIT_LIST_EXPR" else None

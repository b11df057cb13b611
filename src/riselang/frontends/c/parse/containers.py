"""Containers of the C++ library: std::vector, std::span and std::array.

A vector is read as a structure with a pointer and a size, as a span is, so that its elements are
those of an array. What the library's functions do is known here, since their code is not C.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.clang import Cursor, kind_name
from riselang.frontends.c.parse.record_types import Member, RecordType, access_member
from riselang.frontends.c.parse.syntax import Access, ArrayValue, Expression, Literal
from riselang.frontends.c.parse.typed_nodes import convert_to
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property

DATA, SIZE = "data", "size"
VECTOR, SPAN, ARRAY = "vector", "span", "array"
ACCESSORS = ("operator[]", "front", "back", "data")
"""The functions that return an element, or a pointer to the first one."""
_POINTER_BYTES = 8
SIZE_TYPE = CType("unsigned long", 64, is_signed=False, rank=5)


@dataclass(frozen=True)
class ContainerType(RecordType):
    """A container of numbers; `members` has the element type."""

    container: str = ""
    length: int | None = None
    """The number of elements, if the type states it."""

    @property
    def element(self) -> Member:
        return self.members[0]

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the elements: an argument is an array of them."""
        dtype = self.element.type.dtype
        return np.dtype((dtype, (self.length,))) if self.container == ARRAY else dtype


def container_name(declaration: Cursor) -> str:
    """Return the name of a container of the library; nothing if a class is not one."""
    name: str = declaration.spelling
    if name not in (VECTOR, SPAN, ARRAY):
        return ""
    scope = declaration.semantic_parent
    while kind_name(scope) == "NAMESPACE" and scope.spelling.startswith("__"):
        scope = scope.semantic_parent
    is_library = kind_name(scope) == "NAMESPACE" and scope.spelling == "std"
    return name if is_library else ""


def container_type(name: str, type: Any, element: CType, location: SourceLocation) -> CType:
    """Return the type of a container."""
    size = type.get_size()
    spelling = type.get_canonical().spelling.removeprefix("const ")
    short = f"std::{name}<{element}>"
    length = None
    if name == ARRAY or (name == SPAN and size == _POINTER_BYTES):
        last = re.search(r", (\d+)U?L*>$", spelling)
        length = int(last.group(1)) if last else None
    if element.is_bool and name == VECTOR:
        raise UnsupportedConstruct(
            location, "std::vector<bool> packs its elements into bits",
            "use std::vector<unsigned char>",
        )  # fmt: skip
    if length is None and size != {VECTOR: 3, SPAN: 2}.get(name, 0) * _POINTER_BYTES:
        raise UnsupportedConstruct(
            location, f"{type.spelling} is not laid out as {short} is",
            "use the containers of the C++ library with their own allocator",
        )  # fmt: skip
    if isinstance(element, ContainerType) and element.container != ARRAY:
        raise UnsupportedConstruct(
            location, f"{type.spelling} has elements that are anywhere in memory",
            "use one container with all elements, and compute their positions",
        )  # fmt: skip
    if name == ARRAY:
        members = (Member(DATA, element, 0, (length or 0,)),)
    elif length is not None:
        members = (Member(DATA, element, 0, is_pointer=True),)
    else:
        counted = DATA if name == VECTOR else ""
        members = (
            Member(DATA, element, 0, is_pointer=True),
            Member(SIZE, SIZE_TYPE, _POINTER_BYTES, counts=counted),
        )
    return ContainerType(
        short if length is None else f"std::{name}<{element}, {length}>", 8 * size,
        read_members=lambda: members, container=name, length=length,
    )  # fmt: skip


def container_data(part: ArrayValue, location: SourceLocation) -> ArrayValue:
    """Return the array that has the elements of a container."""
    if not isinstance(part.type, ContainerType):
        _check_local(part, location)
        return part
    variable, indices = access_member(part.variable, part.indices, DATA, location)
    return ArrayValue(location, variable.type, variable, indices)


def container_size(part: ArrayValue, location: SourceLocation) -> Expression:
    """Return the number of elements of a container."""
    if not isinstance(part.type, ContainerType):
        return _check_local(part, location)
    if part.type.length is not None:
        return Literal(location, SIZE_TYPE, part.type.length)
    variable, indices = access_member(part.variable, part.indices, SIZE, location)
    return Access(location, variable.type, variable, indices)


def is_vector_of(type: CType, element: CType) -> bool:
    """Whether a type is a vector of elements of another one."""
    if not isinstance(type, ContainerType) or type.container != VECTOR:
        return False
    return type.element.type == element


def vector_member(vector: ArrayValue, name: str) -> Expression:
    """Return a member of a local vector that is passed by reference."""
    length = _check_local(vector, vector.location)
    return convert_to(length, SIZE_TYPE) if name == SIZE else replace(vector, is_single=True)


def _check_local(part: ArrayValue, location: SourceLocation) -> Expression:
    """Return the length of a local vector, which is an array."""
    length = part.variable.extents[0] if part.variable.extents else None
    if length is None or part.indices:
        raise UnsupportedConstruct(
            location, f"{part.variable.name} is not a container whose length is known",
            "use an array, a std::array, a std::vector or a std::span",
        )  # fmt: skip
    return length

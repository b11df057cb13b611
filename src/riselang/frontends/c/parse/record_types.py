"""Structures and complex numbers: types with members, and the variables of members.

A member of a variable is a variable itself: `p[i].x` is the element `[i][0]` of `p.x`. A scalar
member of an array has a last dimension of length one, so that the strides of all other dimensions
may be those of the structures that contain it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from riselang.frontends.c.parse.c_types import DOUBLE, FLOAT, LONG, CType
from riselang.frontends.c.parse.syntax import Expression, Literal, MemberOf, Variable
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation
from riselang.support.lazy import cached_property


@dataclass(frozen=True)
class Member:
    """A member of a structure, with its distance from the start in bytes."""

    name: str
    type: CType
    offset: int
    lengths: tuple[int, ...] = ()
    """The lengths of an array."""
    is_pointer: bool = False
    refusal: str = ""
    """Why it cannot be modeled."""
    counts: str = ""
    """The pointer whose elements it counts; what is in memory is the address of their end."""
    initial: Any = field(default=None, compare=False, repr=False)
    """The expression of clang's tree that initializes it in C++."""

    @property
    def is_record(self) -> bool:
        return isinstance(self.type, RecordType)


@dataclass(frozen=True)
class RecordType(CType):
    """A structure or a complex number; its members are read when first needed, since a structure
    may have pointers to itself."""

    read_members: Callable[[], tuple[Member, ...]] = field(default=tuple, compare=False, repr=False)

    is_constructed: bool = field(default=False, compare=False, repr=False)
    """Whether the structure has constructors in C++."""

    @property
    def is_integer(self) -> bool:
        return False

    @property
    def is_record(self) -> bool:
        return True

    @property
    def is_complex(self) -> bool:
        return self in (COMPLEX_FLOAT, COMPLEX_DOUBLE)

    @cached_property
    def members(self) -> tuple[Member, ...]:
        return self.read_members()

    @property
    def has_defaults(self) -> bool:
        """Whether a structure that is made without values has some, in C++."""
        inside = (each.type for each in self.members if not each.is_pointer)
        inner = (each for each in inside if isinstance(each, RecordType))
        is_stated = any(member.initial is not None for member in self.members)
        return self.is_constructed or is_stated or any(each.has_defaults for each in inner)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """The dtype with the layout that it has in C; pointers are integers."""
        if self.is_complex:
            return np.dtype(f"c{self.bits // 8}")
        known = [each for each in self.members if not each.refusal]
        return np.dtype({
            "names": [each.name for each in known], "offsets": [each.offset for each in known],
            "formats": [
                np.dtype(np.uintp) if each.is_pointer else (each.type.dtype, each.lengths)
                for each in known
            ],
            "itemsize": self.bits // 8,
        })  # fmt: skip

    def find_member(self, name: str) -> Member:
        return next(each for each in self.members if each.name == name)


def _complex_type(name: str, part: CType) -> RecordType:
    members = (Member(RE, part, 0), Member(IM, part, part.bits // 8))
    return RecordType(name, 2 * part.bits, read_members=lambda: members)


RE, IM = "re", "im"
"""The members of a complex number."""
COMPLEX_FLOAT = _complex_type("float _Complex", FLOAT)
COMPLEX_DOUBLE = _complex_type("double _Complex", DOUBLE)


def member_variable(variable: Variable, name: str, location: SourceLocation) -> Variable:
    """Return the variable of a member of a variable."""
    assert isinstance(variable.type, RecordType)
    member = variable.type.find_member(name)
    if member.refusal:
        raise UnsupportedConstruct(location, member.refusal, "do not use this member here")
    if name not in variable.members:
        variable.members[name] = _make_member(variable, member, location)
    return variable.members[name]


def _make_member(variable: Variable, member: Member, location: SourceLocation) -> Variable:
    own = list[Expression | None]([None] if member.is_pointer else [])
    own += (Literal(location, LONG, length) for length in member.lengths)
    size = member.type.bits // 8
    steps = [*variable.steps, *(None for _ in own)]
    if variable.extents and steps[len(variable.extents) - 1] is None:
        steps[len(variable.extents) - 1] = variable.type.bits // 8
    if variable.extents and not own and not member.is_record:
        own, steps = [Literal(location, LONG, 1)], [*steps, None]
    if not member.is_record and any(step is not None and step % size for step in steps):
        raise UnsupportedConstruct(
            location, f"{member.name} of {variable.type} is not aligned in memory",
            "do not pack the structure",
        )  # fmt: skip
    boundary = (len(variable.extents),) if member.is_pointer and variable.extents else ()
    return Variable(
        f"{variable.name}.{member.name}", member.type, variable.location,
        (*variable.extents, *own), is_pointer=member.is_pointer or variable.is_pointer,
        is_parameter=variable.is_parameter and not variable.is_array and not member.is_pointer,
        is_global=variable.is_global, is_constant=variable.is_constant,
        is_restrict=variable.is_restrict and not member.is_pointer,
        member=MemberOf(variable, member.name, member.offset, member.is_pointer),
        steps=tuple(steps),
        row_pointers=(*variable.row_pointers, *boundary),
    )  # fmt: skip


def own_rank(variable: Variable) -> int:
    """Return the number of dimensions that a variable has in addition to those of the record that
    it is a member of."""
    if variable.member is None:
        return len(variable.extents)
    return len(variable.extents) - len(variable.member.parent.extents)


def access_member(
    variable: Variable, indices: tuple[Expression, ...], name: str, location: SourceLocation
) -> tuple[Variable, tuple[Expression, ...]]:
    """Return the variable and the indices of a member of an element."""
    member = member_variable(variable, name, location)
    is_scalar = not member.type.is_record and is_single_member(variable, member)
    if is_scalar and member.extents:
        indices = (*indices, Literal(location, LONG, 0))
    return member, indices


def is_single_member(variable: Variable, member: Variable) -> bool:
    """Whether a member is neither an array nor a pointer."""
    assert isinstance(variable.type, RecordType)
    assert member.member is not None
    found = variable.type.find_member(member.member.name)
    return not found.lengths and not found.is_pointer


def counted_elements(variable: Variable) -> Variable | None:
    """Return the array whose elements a member counts, if it is the address of their end."""
    if variable.member is None:
        return None
    parent = variable.member.parent
    assert isinstance(parent.type, RecordType)
    counts = parent.type.find_member(variable.member.name).counts
    return member_variable(parent, counts, variable.location) if counts else None


def parts_of(type: RecordType, location: SourceLocation) -> Iterator[tuple[Member, ...]]:
    """Yield the paths of the numbers, and arrays of numbers, in a record."""
    for member in type.members:
        if member.refusal or member.is_pointer:
            yield (member,)
        elif isinstance(member.type, RecordType):
            for inner in parts_of(member.type, location):
                yield (member, *inner)
        else:
            yield (member,)

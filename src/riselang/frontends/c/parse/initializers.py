"""Initializer lists of arrays and structures, with designators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.clang import Cursor, children, evaluate_constant, kind_name
from riselang.frontends.c.parse.containers import DATA, ContainerType
from riselang.frontends.c.parse.record_types import Member, RecordType
from riselang.frontends.c.parse.syntax import Expression
from riselang.frontends.c.parse.typed_nodes import convert_to, is_zero
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

Path = tuple[str | int, ...]
"""Indices and the names of members, outermost first."""


DefaultValues = Callable[
    [RecordType, SourceLocation, Mapping[str, Expression]], dict[str, Expression]
]
"""Returns the values of the members that are not given, where their declarations state them."""


class InitializerReader:
    """Reads initializer lists; what they do not name is zero."""

    def __init__(
        self,
        read_value: Callable[[Cursor], Expression],
        location_of: Callable[[Cursor], SourceLocation],
        default_values: DefaultValues,
    ):
        self._read_value = read_value
        self._location_of = location_of
        self._default_values = default_values

    def read_list(
        self, cursor: Cursor, type: CType, lengths: Sequence[int | None]
    ) -> dict[Path, Expression]:
        """Return the values in a list for an array of `lengths`, or for a structure."""
        given = children(cursor)
        if isinstance(type, ContainerType) and not lengths and not _is_braced(given):
            # The braces of the array in a std::array may be left out.
            inner = self.read_list(cursor, type.element.type, type.element.lengths)
            return {(DATA, *path): value for path, value in inner.items()}
        has_defaults = isinstance(type, RecordType) and type.has_defaults
        if len(given) == 1 and not has_defaults and kind_name(given[0]) not in ("INIT_LIST_EXPR",):
            only = given[0]
            if only.type.kind.name != "VOID" and evaluate_constant(only) == 0:
                return {}
        found: dict[Path, Expression] = {}
        position = 0
        for each in given:
            path, value = self._designated(each, type, lengths)
            if path:
                position = self._position(path[0], type)
            else:
                path = (self._key(position, type, lengths, each),)
            found |= self._read_element(value, type, lengths, path)
            position += 1
        return found | (self._known_defaults(cursor, type, lengths, found) if has_defaults else {})

    def _known_defaults(
        self,
        cursor: Cursor,
        type: CType,
        lengths: Sequence[int | None],
        found: Mapping[Path, Expression],
    ) -> dict[Path, Expression]:
        """Return the values of members that a list does not name, where C++ states them."""
        location = self._location_of(cursor)
        named = {str(path[0]): value for path, value in found.items()}
        if lengths or any(len(path) > 1 for path in found):
            count = next(iter(lengths), 0)
            if not lengths or len({path[0] for path in found}) != count:
                raise UnsupportedConstruct(
                    location, f"members of {type}, which this list initializes, have initial "
                    "values", "assign the elements or members",
                )  # fmt: skip
            return {}
        assert isinstance(type, RecordType)
        values = self._default_values(type, location, named)
        return {(name,): value for name, value in values.items()}

    def _designated(
        self, cursor: Cursor, type: CType, lengths: Sequence[int | None]
    ) -> tuple[Path, Cursor]:
        """Return the path of a designator, if there is one, and the initial value."""
        if cursor.type.kind.name != "VOID":
            return (), cursor
        if kind_name(cursor) == "INIT_LIST_EXPR":
            raise UnsupportedConstruct(
                self._location_of(cursor), "these braces call a constructor",
                "name the structure that it makes: V(1, 2)",
            )  # fmt: skip
        *designators, value = children(cursor)
        head = takewhile("=".__ne__, (each.spelling for each in cursor.get_tokens()))
        if "..." in head:
            raise UnsupportedConstruct(
                self._location_of(cursor), "this designator is not a single index",
                "write one index for each value",
            )  # fmt: skip
        path: list[str | int] = []
        for each in designators:
            name = kind_name(each)
            at = None if name == "MEMBER_REF" else evaluate_constant(each)
            if name != "MEMBER_REF" and not isinstance(at, int):
                raise UnsupportedConstruct(
                    self._location_of(each), "this designator is not a single index",
                    "write one index for each value",
                )  # fmt: skip
            path.append(each.spelling if at is None else int(at))
        return tuple(path), value

    def _position(self, key: str | int, type: CType) -> int:
        if isinstance(key, int):
            return key
        assert isinstance(type, RecordType)
        return [each.name for each in type.members].index(key)

    def _key(
        self, position: int, type: CType, lengths: Sequence[int | None], cursor: Cursor
    ) -> str | int:
        if lengths:
            return position
        if not isinstance(type, RecordType) or position >= len(type.members):
            raise self._wrong_braces(cursor)
        return type.members[position].name

    def _read_element(
        self, cursor: Cursor, type: CType, lengths: Sequence[int | None], path: Path
    ) -> dict[Path, Expression]:
        """Read the value of what a path denotes."""
        inner: Sequence[int | None] = lengths
        for key in path:
            if isinstance(key, int):
                inner = inner[1:]
            else:
                member = self._find_member(type, key, cursor)
                type, inner = member.type, member.lengths
        is_list = kind_name(cursor) == "INIT_LIST_EXPR"
        if is_list:
            if not inner and not type.is_record:
                raise self._wrong_braces(cursor)
            found = self.read_list(cursor, type, inner)
            return {(*path, *rest): value for rest, value in found.items()}
        value = self._read_value(cursor)
        is_number = value.type.is_record or type.is_complex
        if inner or (type.is_record and not is_number):
            if is_zero(value):
                return {}
            raise self._wrong_braces(cursor)
        return {path: convert_to(value, type)}

    def _find_member(self, type: CType, name: str, cursor: Cursor) -> Member:
        assert isinstance(type, RecordType)
        member = type.find_member(name)
        if member.refusal or member.is_pointer:
            raise UnsupportedConstruct(
                self._location_of(cursor),
                member.refusal or f"{name} is a pointer, which is initialized here",
                "pass the structure as a parameter",
            )
        return member

    def _wrong_braces(self, cursor: Cursor) -> UnsupportedConstruct:
        return UnsupportedConstruct(
            self._location_of(cursor),
            "the braces of this initializer list are not those of the array or structure",
            "enclose each row and each structure in braces",
        )


def _is_braced(given: Sequence[Cursor]) -> bool:
    """Whether the array in a std::array has braces of its own."""
    return len(given) == 1 and kind_name(given[0]) == "INIT_LIST_EXPR"

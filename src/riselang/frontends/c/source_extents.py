"""Where the statements of a region are in the text of its file, and texts with other statements."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from riselang.frontends.c.parse.clang import Cursor, ParsedFile, children, kind_name
from riselang.frontends.c.parse.regions import Region
from riselang.frontends.c.parse.syntax import Block, Declare, Variable, walk_statement
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation

_PARENTS = frozenset((
    "COMPOUND_STMT", "IF_STMT", "FOR_STMT", "WHILE_STMT", "DO_STMT", "CASE_STMT", "DEFAULT_STMT",
    "LABEL_STMT",
))  # fmt: skip
"""Statements that have others in them."""
_SPACES = b" \t\r\n"


@dataclass(frozen=True)
class SourceExtent:
    """A range of bytes in a file."""

    start: int
    end: int


def find_function(parsed: ParsedFile, name: str) -> Cursor:
    """Return the definition of a function."""
    return next(
        each
        for each in children(parsed.unit.cursor)
        if kind_name(each) == "FUNCTION_DECL" and each.is_definition() and each.spelling == name
    )


def function_extent(parsed: ParsedFile, name: str) -> SourceExtent:
    """Return the range of a definition."""
    return _extent(find_function(parsed, name))


def function_text(parsed: ParsedFile, name: str) -> str:
    """Return the text of a definition."""
    extent = function_extent(parsed, name)
    return parsed.text.encode()[extent.start : extent.end].decode()


def region_extent(parsed: ParsedFile, region: Region) -> SourceExtent:
    """Return the range of the statements of a region, or that of the body of its function.

    Raise an error if the range has other statements in it, too.
    """
    function = find_function(parsed, region.function.name)
    body = next(each for each in children(function) if kind_name(each) == "COMPOUND_STMT")
    if region.is_whole:
        return _extent(body)
    offsets = LineOffsets(parsed.text.encode())
    own = {id(inner) for each in region.statements for inner in walk_statement(each)}
    found = [_enclosing_statement(body, offsets.at(each.location)) for each in region.statements]
    parents = {parent.hash for parent, _ in found}
    is_list = kind_name(found[0][0]) == "COMPOUND_STMT"
    if len(parents) > 1 or not (is_list or kind_name(found[-1][1]).endswith("_STMT")):
        _refuse(region.location)
    extents = [_extent(each) for _, each in found]
    if any(second.start < first.start for first, second in pairwise(extents)):
        _refuse(region.location)
    whole = SourceExtent(extents[0].start, _with_semicolon(offsets.text, extents[-1].end))
    for other in walk_statement(region.function.body):
        at = offsets.at(other.location)
        if id(other) not in own and whole.start <= at < whole.end:
            _refuse(other.location)
    return whole


def _refuse(location: SourceLocation) -> None:
    raise UnsupportedConstruct(location, "the region is a part of a statement of the file")


def _extent(cursor: Cursor) -> SourceExtent:
    return SourceExtent(cursor.extent.start.offset, cursor.extent.end.offset)


def _enclosing_statement(body: Cursor, offset: int) -> tuple[Cursor, Cursor]:
    """Return the innermost statement at an offset, and its parent."""
    parent, current = body, body
    best = (body, body)
    while True:
        inner = [
            each for each in children(current)
            if each.extent.start.offset <= offset < each.extent.end.offset
        ]  # fmt: skip
        if not inner:
            return best
        parent, current = current, inner[-1]
        if kind_name(parent) in _PARENTS:
            best = (parent, current)
            if current.extent.start.offset == offset:
                # In a macro, the statements inside of it begin there, too.
                return best


def _with_semicolon(text: bytes, end: int) -> int:
    """Return the end of a statement, after its semicolon."""
    position = end
    while position < len(text) and text[position] in _SPACES:
        position += 1
    return position + 1 if text[position : position + 1] == b";" else end


class LineOffsets:
    """The offsets of locations in a text."""

    def __init__(self, text: bytes):
        self.text = text
        self._starts = [0]
        for line in text.split(b"\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)

    def at(self, location: SourceLocation) -> int:
        return self._starts[location.line - 1] + location.column - 1


def replace_extents(text: str, new_texts: Sequence[tuple[SourceExtent, str]]) -> str:
    """Replace parts of a text; its other lines keep their numbers if the new parts are shorter."""
    data = text.encode()
    for extent, new in sorted(new_texts, key=lambda each: -each[0].start):
        lines = data[extent.start : extent.end].count(b"\n") - new.count("\n")
        filled = new.encode() + b"\n" * max(lines, 0)
        data = data[: extent.start] + filled + data[extent.end :]
    return data.decode()


def declared_in_region(parsed: ParsedFile, region: Region) -> Iterator[Variable]:
    """Yield the variables that a region declares, and that are in scope after it.

    A declaration with several statements is a block, which does not begin with a brace.
    """
    offsets = LineOffsets(parsed.text.encode())
    for statement in region.statements:
        if isinstance(statement, Declare):
            yield statement.variable
        at = offsets.at(statement.location)
        if isinstance(statement, Block) and offsets.text[at : at + 1] != b"{":
            for inner in walk_statement(statement):
                if isinstance(inner, Declare):
                    yield inner.variable


def lasting_declarations(parsed: ParsedFile, region: Region) -> Iterator[str]:
    """Yield the static variables, externs, types and enumerators that a part of a function declares
    for the statements after it, too."""
    whole = region_extent(parsed, region)
    body, within = find_function(parsed, region.function.name), list[Cursor]()
    stack: list[Cursor] = [body]
    while stack:
        for each in children(stack.pop()):
            extent = _extent(each)
            if whole.start <= extent.start and extent.end <= whole.end:
                within.append(each)
            else:
                stack.append(each)
    for statement in within:
        for each in children(statement) if kind_name(statement) == "DECL_STMT" else ():
            is_variable = kind_name(each) == "VAR_DECL"
            if not is_variable or each.storage_class.name in ("STATIC", "EXTERN"):
                yield each.spelling or "a type"


def loop_extents(parsed: ParsedFile, name: str) -> list[SourceExtent]:
    """Return the ranges of the loops of a function."""
    found: list[SourceExtent] = []
    stack: list[Cursor] = [find_function(parsed, name)]
    while stack:
        for each in children(stack.pop()):
            if kind_name(each) in ("FOR_STMT", "WHILE_STMT", "DO_STMT"):
                found.append(_extent(each))
            stack.append(each)
    return found


def declared_names(parsed: ParsedFile, function: str) -> set[str]:
    """Return the names that a function declares."""
    names: set[str] = set()
    stack: list[Cursor] = [find_function(parsed, function)]
    while stack:
        for each in children(stack.pop()):
            if kind_name(each) in ("VAR_DECL", "PARM_DECL"):
                names.add(each.spelling)
            stack.append(each)
    return names

"""Regions: marked by pragmas, whole functions, or found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.errors import SourceLocation, UserError
from riselang.frontends.c.clang import ParsedFile
from riselang.frontends.c.syntax import (
    Access,
    Block,
    Declare,
    For,
    Foreign,
    Function,
    If,
    Return,
    Statement,
    Variable,
    expressions_of,
    inside,
    statements_of,
)


@dataclass(frozen=True)
class Region:
    """Statements that stand one after the other in a function."""

    name: str
    place: SourceLocation
    function: Function
    statements: tuple[Statement, ...]
    is_whole: bool
    """Whether they are the whole function."""
    outer_locals: frozenset[Variable] = frozenset()
    """Variables that the function declares outside, and that nothing outside uses."""
    live_after: frozenset[Variable] = frozenset()
    """Variables that are read when the region has ended."""


@dataclass(frozen=True)
class Mark:
    """A pragma that begins or ends a region."""

    is_begin: bool
    place: SourceLocation


def marks(parsed: ParsedFile) -> list[tuple[SourceLocation, SourceLocation]]:
    """Where the marked regions of a file begin and end."""
    words = parsed.tokens()
    found: list[Mark] = []
    for (hash_, place), (pragma, _), (word, _) in zip(words, words[1:], words[2:], strict=False):
        if hash_ == "#" and pragma == "pragma" and word in ("scop", "endscop"):
            found.append(Mark(word == "scop", place))
    pairs: list[tuple[SourceLocation, SourceLocation]] = []
    begin: Mark | None = None
    for mark in found:
        if mark.is_begin == (begin is not None):
            other = "endscop before the next scop" if mark.is_begin else "scop before this endscop"
            raise UserError(f"expected a #pragma {other}", mark.place)
        if begin is not None:
            pairs.append((begin.place, mark.place))
        begin = mark if mark.is_begin else None
    if begin is not None:
        raise UserError("this region has no #pragma endscop", begin.place)
    return pairs


def whole_function(function: Function) -> Region:
    """All of a function as one region."""
    return Region(function.name, function.place, function, function.body.statements, is_whole=True)


def marked_regions(
    functions: Sequence[Function], pairs: Sequence[tuple[SourceLocation, SourceLocation]]
) -> list[Region]:
    """The regions between pragmas; a function with nothing else in it is one whole region."""
    regions: list[Region] = []
    for begin, end in pairs:
        function = _function_at(functions, begin)
        if function is None:
            raise UserError("this #pragma scop stands in no function", begin)
        parent, first, last = _between(function.body, begin, end)
        if _is_whole(function, parent, first, last):
            regions.append(whole_function(function))
            continue
        chosen = parent.statements[first:last]
        regions.append(_part(function, chosen, _numbered(function, regions), begin))
    return regions


def _numbered(function: Function, regions: Sequence[Region]) -> str:
    count = sum(region.function is function for region in regions)
    return f"{function.name}_scop{count}"


def _function_at(functions: Sequence[Function], place: SourceLocation) -> Function | None:
    """The function around a place: the last one that begins before it."""
    before = [each for each in functions
              if each.place.file == place.file and each.place.line <= place.line]  # fmt: skip
    return before[-1] if before else None


def _between(block: Block, begin: SourceLocation, end: SourceLocation) -> tuple[Block, int, int]:
    """The innermost block with both pragmas, and the statements between them."""
    for statement in block.statements:
        for inner in statements_of(statement):
            if isinstance(inner, Block) and _spans(statement, inner, begin, end):
                return _between(inner, begin, end)
    lines = [each.place.line for each in block.statements]
    first = sum(line <= begin.line for line in lines)
    last = sum(line <= end.line for line in lines)
    return block, first, last


def _spans(statement: Statement, block: Block, begin: SourceLocation, end: SourceLocation) -> bool:
    """Whether a block has statements on both sides of the place where a region begins or in it."""
    inside_ = [each.place.line for each in block.statements]
    if not inside_ or statement.place.line > begin.line:
        return False
    return any(begin.line < line < end.line for line in inside_) and (
        block.place.line <= begin.line
    )


def _is_whole(function: Function, parent: Block, first: int, last: int) -> bool:
    """Whether a function does nothing outside of a region."""
    if parent is not function.body or function.refused is not None:
        return False
    outside = (*parent.statements[:first], *parent.statements[last:])
    return all(_does_nothing(inner) for each in outside for inner in statements_of(each))


def _does_nothing(statement: Statement) -> bool:
    match statement:
        case Block() | Declare(value=None) | Return(value=None):
            return True
        case _:
            return False


def _part(
    function: Function, statements: tuple[Statement, ...], name: str, place: SourceLocation
) -> Region:
    chosen = set(map(id, (inner for each in statements for inner in statements_of(each))))
    outside = [each for each in statements_of(function.body) if id(each) not in chosen]
    declarations = [each for each in outside if isinstance(each, Declare)]
    declared = {each.variable for each in declarations}
    given = {each.variable for each in declarations if each.value is not None}
    used = {variable for each in outside for variable in _variables(each)}
    if any(isinstance(each, Foreign) for each in outside):
        # What was not read may use anything.
        used |= declared
    return Region(
        name, place, function, statements, is_whole=False,
        outer_locals=frozenset(declared - used - given), live_after=frozenset(used),
    )  # fmt: skip


def _variables(statement: Statement) -> Iterator[Variable]:
    for expression in expressions_of(statement):
        for part in inside(expression):
            if isinstance(part, Access):
                yield part.variable


def candidate_lists(statement: Statement) -> Iterator[tuple[Statement, ...]]:
    """Lists of statements in which a region may be found: blocks, and bodies without braces."""
    match statement:
        case Block():
            yield statement.statements
        case For():
            yield from candidate_lists(_as_block(statement.body))
        case If():
            yield from candidate_lists(_as_block(statement.then))
            if statement.otherwise is not None:
                yield from candidate_lists(_as_block(statement.otherwise))
        case Foreign():
            for child in statement.children:
                yield from candidate_lists(_as_block(child))
        case _:
            return


def _as_block(statement: Statement) -> Block:
    return statement if isinstance(statement, Block) else Block(statement.place, (statement,))


def part_of(function: Function, statements: tuple[Statement, ...], name: str) -> Region:
    """A region that was found in a function."""
    return _part(function, statements, name, statements[0].place)

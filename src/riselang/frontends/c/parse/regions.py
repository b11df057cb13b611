"""Regions: marked by pragmas, whole functions, or detected."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from riselang.frontends.c.parse.clang import ParsedFile, children, kind_name
from riselang.frontends.c.parse.syntax import (
    Access,
    ArrayValue,
    Block,
    Declare,
    For,
    Function,
    If,
    Return,
    Statement,
    Switch,
    UnsupportedStatement,
    Variable,
    While,
    direct_expressions,
    walk_expression,
    walk_statement,
)
from riselang.frontends.c.parse.unsupported_construct import UnsupportedConstruct
from riselang.support.errors import SourceLocation, UserError


@dataclass(frozen=True)
class Region:
    """Consecutive statements in a function."""

    name: str
    location: SourceLocation
    function: Function
    statements: tuple[Statement, ...]
    is_whole: bool
    """Whether they are the whole function."""
    outer_locals: frozenset[Variable] = frozenset()
    """Variables that the function declares outside the region, and that nothing outside uses."""
    live_after: frozenset[Variable] = frozenset()
    """Variables that are live after the region."""


@dataclass(frozen=True)
class ScopPragma:
    """A pragma that begins or ends a region."""

    is_begin: bool
    location: SourceLocation

    @property
    def name(self) -> str:
        return "scop" if self.is_begin else "endscop"


@dataclass(frozen=True)
class MarkedRange:
    """The start and end of a marked region, and the start of the enclosing block."""

    begin: SourceLocation
    end: SourceLocation
    block: SourceLocation


def find_marked_ranges(parsed: ParsedFile) -> list[MarkedRange]:
    """Return the marked regions of a file; raises an error if the pragmas do not enclose whole
    statements."""
    pragmas = list(_find_pragmas(parsed))
    pairs: list[MarkedRange] = []
    begin: ScopPragma | None = None
    for mark in pragmas:
        if mark.is_begin == (begin is not None):
            other = "endscop before the next scop" if mark.is_begin else "scop before this endscop"
            raise UserError(f"expected a #pragma {other}", mark.location)
        if begin is not None:
            pairs.append(_pair_pragmas(parsed, begin, mark))
        begin = mark if mark.is_begin else None
    if begin is not None:
        raise UserError("this region has no #pragma endscop", begin.location)
    return pairs


def _find_pragmas(parsed: ParsedFile) -> Iterator[ScopPragma]:
    if "scop" not in parsed.text:
        return
    words = parsed.tokens()
    for (hash_, location), (pragma, _), (word, _) in zip(words, words[1:], words[2:], strict=False):
        if hash_ == "#" and pragma == "pragma" and word in ("scop", "endscop"):
            yield ScopPragma(word == "scop", location)


def _pair_pragmas(parsed: ParsedFile, begin: ScopPragma, end: ScopPragma) -> MarkedRange:
    """Pair two pragmas, which must be between statements of one block."""
    blocks = [_block_around(parsed, mark) for mark in (begin, end)]
    if blocks[0] != blocks[1]:
        raise UserError(
            "expected this #pragma endscop in the block of its #pragma scop, which is on line "
            f"{begin.location.line}, but it is in another; move one of them, so that whole "
            "statements are between them",
            end.location,
        )
    return MarkedRange(begin.location, end.location, blocks[0])


def _block_around(parsed: ParsedFile, mark: ScopPragma) -> SourceLocation:
    """Return the start of the block that encloses a pragma."""
    enclosing = parsed.unit.cursor
    while inner := [each for each in children(enclosing) if parsed.encloses(each, mark.location)]:
        enclosing = inner[-1]
    if enclosing == parsed.unit.cursor:
        raise UserError(f"this #pragma {mark.name} is outside any function", mark.location)
    if kind_name(enclosing) != "COMPOUND_STMT":
        raise UserError(
            f"this #pragma {mark.name} is in the middle of a statement; move it before "
            "the statement, or after it",
            mark.location,
        )
    return parsed.location_of(enclosing)


def whole_function(function: Function) -> Region:
    """Return a function as one region."""
    return Region(
        function.name, function.location, function, function.body.statements, is_whole=True
    )


def regions_from_pragmas(
    functions: Sequence[Function], pairs: Sequence[MarkedRange]
) -> list[Region]:
    """Return the regions between pragmas; a function with nothing else in it is one whole
    region."""
    regions: list[Region] = []
    for pair in pairs:
        function, parent = _find_block(functions, pair.block)
        locations = [(each.location.line, each.location.column) for each in parent.statements]
        first, last = (
            sum(location <= (end.line, end.column) for location in locations)
            for end in (pair.begin, pair.end)
        )
        if _is_whole(function, parent, first, last):
            regions.append(whole_function(function))
            continue
        statements = parent.statements[first:last]
        regions.append(
            _make_region(function, statements, _region_name(function, regions), pair.begin)
        )
    return regions


def _region_name(function: Function, regions: Sequence[Region]) -> str:
    count = sum(region.function is function for region in regions)
    return f"{function.name}_scop{count}"


def _find_block(functions: Sequence[Function], location: SourceLocation) -> tuple[Function, Block]:
    """Return the block that begins at a location, and its function."""
    for function in functions:
        for inner in walk_statement(function.body):
            if isinstance(inner, Block) and inner.location == location:
                return function, inner
    raise UnsupportedConstruct(
        location, "the block around this region cannot be read", "mark a smaller region"
    )


def _is_whole(function: Function, parent: Block, first: int, last: int) -> bool:
    """Whether a function does nothing outside a region."""
    if parent is not function.body or function.unsupported is not None:
        return False
    other_statements = (*parent.statements[:first], *parent.statements[last:])
    return all(_does_nothing(inner) for each in other_statements for inner in walk_statement(each))


def _does_nothing(statement: Statement) -> bool:
    match statement:
        case Block() | Declare(value=None) | Return(value=None):
            return True
        case _:
            return False


def _make_region(
    function: Function, statements: tuple[Statement, ...], name: str, location: SourceLocation
) -> Region:
    region_ids = set(map(id, (inner for each in statements for inner in walk_statement(each))))
    other_statements = [
        each for each in walk_statement(function.body) if id(each) not in region_ids
    ]
    declarations = [each for each in other_statements if isinstance(each, Declare)]
    declared = {each.variable for each in declarations}
    initialized = {each.variable for each in declarations if each.value is not None}
    used = {variable for each in other_statements for variable in _statement_variables(each)}
    if any(isinstance(each, UnsupportedStatement) for each in other_statements):
        # Statements that could not be read may use any variable.
        used |= declared
    return Region(
        name, location, function, statements, is_whole=False,
        outer_locals=frozenset(declared - used - initialized - _persistent(function, region_ids)),
        live_after=frozenset(used),
    )  # fmt: skip


def _persistent(function: Function, region_ids: set[int]) -> set[Variable]:
    """Return the variables that keep their values from one execution of a region to the next: those
    that are declared outside of the innermost loop around it."""
    around: Statement | None = None
    for each in walk_statement(function.body):
        inner = list(walk_statement(each))
        if isinstance(each, UnsupportedStatement) and each.reason.startswith("goto"):
            around = Block(each.location, ())
            break
        is_loop = isinstance(each, For | While | UnsupportedStatement)
        if is_loop and id(each) not in region_ids and any(id(e) in region_ids for e in inner):
            around = each
    if around is None:
        return set()
    declared = {e.variable for e in walk_statement(function.body) if isinstance(e, Declare)}
    return declared - {e.variable for e in walk_statement(around) if isinstance(e, Declare)}


def _statement_variables(statement: Statement) -> Iterator[Variable]:
    for expression in direct_expressions(statement):
        for part in walk_expression(expression):
            if isinstance(part, Access | ArrayValue):
                yield part.variable


def candidate_lists(statement: Statement) -> Iterator[tuple[Statement, ...]]:
    """Yield the statement lists that may contain a region: blocks, and bodies without braces."""
    match statement:
        case Block():
            yield statement.statements
        case For() | While():
            yield from candidate_lists(_wrap_in_block(statement.body))
        case Switch():
            for case in statement.cases:
                yield case.statements
        case If():
            yield from candidate_lists(_wrap_in_block(statement.then))
            if statement.otherwise is not None:
                yield from candidate_lists(_wrap_in_block(statement.otherwise))
        case UnsupportedStatement():
            for child in statement.children:
                yield from candidate_lists(_wrap_in_block(child))
        case _:
            return


def _wrap_in_block(statement: Statement) -> Block:
    return statement if isinstance(statement, Block) else Block(statement.location, (statement,))


def detected_region(function: Function, statements: tuple[Statement, ...], name: str) -> Region:
    """Return a region that was detected in a function."""
    return _make_region(function, statements, name, statements[0].location)

"""Parsing, verifying and printing modules, with located errors instead of tracebacks.

Every parsed op gets its location in the text, so that later errors are located, too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any

from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import (
    FileLineColLoc,
    IndexType,
    IntAttr,
    ModuleOp,
    NameLoc,
    StringAttr,
    UnknownLoc,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.parser import Parser, ParserState, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from riselang.dialects.arith import Arith
from riselang.dialects.dense_elements import with_bits_of_floats
from riselang.dialects.lexer import FastLexer
from riselang.dialects.rise.dialect import Rise
from riselang.dialects.rise.functional import MisplacedOp
from riselang.support.errors import LimitationError, RiseError, SourceLocation, UserError
from riselang.support.profiling import time_span
from riselang.support.recursion import with_deep_stack

MAXIMUM_NESTING = 150
"""The maximum nesting depth of regions: xDSL parses and prints them recursively."""
TOO_DEEP = f"regions nest deeper than the limit of {MAXIMUM_NESTING} levels"


def _load_memref() -> Dialect:
    from riselang.dialects.memref import MemRef

    return MemRef


def _load_affine() -> Dialect:
    from riselang.dialects.affine import Affine

    return Affine


def _load_vector() -> Dialect:
    from riselang.dialects.vector import Vector

    return Vector


def _load_tile() -> Dialect:
    from riselang.dialects.tile import Tile

    return Tile


def _load_llvm() -> Dialect:
    from riselang.dialects.llvm import LLVM

    return LLVM


OUR_DIALECTS: Mapping[str, Callable[[], Dialect]] = {
    "rise": lambda: Rise, "arith": lambda: Arith, "memref": _load_memref, "affine": _load_affine,
    "vector": _load_vector, "tile": _load_tile, "llvm": _load_llvm,
}  # fmt: skip
"""The dialects that are defined here; all but the first replace xDSL's."""


def make_context() -> Context:
    """Create a context with RISE and every upstream dialect, each loaded on first use."""
    context = Context()
    for name, factory in {**get_all_dialects(), **OUR_DIALECTS}.items():
        context.register_dialect(name, factory)
    return context


Extent = tuple[int, int]


@dataclass(frozen=True)
class TextPositions:
    """The positions of ops and values in a text."""

    ops: dict[Operation, Extent] = field(default_factory=dict[Operation, Extent])
    """For each op, where it starts and where the next token after it starts."""
    values: dict[SSAValue, tuple[str, Extent]] = field(
        default_factory=dict[SSAValue, tuple[str, Extent]]
    )
    """The name of each value, without the %, and where it is defined."""


NOTATION_KEYWORDS = ("fun", "def", "let")
_LINE_END = re.compile("\n")
_OPERATION_NAME = re.compile(r'(?:%[^=]*=\s*)?"?([\w.]+)')


class LocatingParser(Parser):
    """A parser that gives each op its location, and rejects text that would overflow the stack."""

    def __init__(self, context: Context, text: str, name: str):
        self._line_starts = [0, *(found.end() for found in _LINE_END.finditer(text))]
        self._file = StringAttr(name)
        self._nesting = 0
        self._operation_start = 0
        self.positions = TextPositions()
        self.first_uses: dict[str, Span[str]] = {}
        """The first use of each value that is used before its definition."""
        self._placeholders: list[tuple[SSAValue, str, Span[str] | None]] = []
        """The placeholders of values used before their definition: their names and first uses."""
        self.types_read: dict[tuple[str, str], Attribute] = {}
        """Types by their keyword and text."""
        super().__init__(context, text, name)
        self._parser_state = ParserState(FastLexer(Input(text, name)))

    def parse_module(self, allow_implicit_module: bool = True) -> ModuleOp:
        if self._at_end():
            return ModuleOp([])
        try:
            module = super().parse_module(allow_implicit_module)
            self._reject_values_of_inner_ops()
            return module
        except ParseError:
            for name in self.forward_ssa_references:
                if self._at_end() and name in self.first_uses:
                    self.raise_error(f"%{name} is used, but not defined", self.first_uses[name])
            raise

    def _parse_tensor_literal_element(self) -> Any:
        return with_bits_of_floats(super()._parse_tensor_literal_element())

    def _reject_values_of_inner_ops(self) -> None:
        """Reject an op that uses a value defined inside it.

        xDSL replaces a placeholder by its value when it parses the definition. An op whose region
        contains the definition is created after that, and still has the placeholder.
        """
        for placeholder, name, use_span in self._placeholders:
            if placeholder.first_use is not None:
                op = placeholder.first_use.operation
                problem = f"'{op.name}' op uses %{name}, which is defined within it"
                self.raise_error(problem, use_span or self.positions.ops[op][0])

    def _at_end(self) -> bool:
        return self._current_token.kind == MLIRTokenKind.EOF

    def resolve_operand(self, operand: UnresolvedOperand, type: Any) -> Any:
        name = operand.operand_name
        if name not in self.ssa_values and name not in self.forward_ssa_references:
            self.first_uses[name] = operand.span
        return super().resolve_operand(operand, type)

    def _register_ssa_definition(
        self, name: str, values: Sequence[SSAValue], span: Span[str]
    ) -> None:
        use_span = self.first_uses.get(name)
        for placeholder in self.forward_ssa_references.get(name, {}).values():
            self._placeholders.append((placeholder, name, use_span))
        super()._register_ssa_definition(name, values, span)
        for value in values:
            self.positions.values[value] = (name, (span.start, span.end))

    def _get_op_by_name(self, name: str) -> type[Operation]:
        known = self.ctx.get_optional_op(name, dialect_stack=self._parser_state.dialect_stack)
        if known is None:
            start, quoted = self.lexer.input.content.find(name, self._operation_start), f"'{name}'"
            if start < 0:
                # The name of an op in quotes may contain escapes.
                start, quoted = self._operation_start, repr(name)
                name = quoted
            self.raise_error(f"unknown op {quoted}{_hint(name)}", start, start + len(name))
        return known

    def parse_operation(self) -> Operation:
        start = self._operation_start = self.pos
        try:
            op = super().parse_operation()
        except VerifyException as error:
            name = _OPERATION_NAME.match(self.lexer.input.content, start)
            self.raise_error(f"'{name[1] if name else '?'}' op {_last_line(str(error))}", start)
        self.positions.ops[op] = (start, self.pos)
        if isinstance(op.location, UnknownLoc):
            line = bisect_right(self._line_starts, start)
            column = start - self._line_starts[line - 1] + 1
            op.location = FileLineColLoc(self._file, IntAttr(line), IntAttr(column))
        return op

    def parse_affine_map_of_ssa_ids(self) -> tuple[AffineMap, Sequence[SSAValue[IndexType]]]:
        # xDSL makes every index a symbol, which MLIR refuses for loop indices; dimensions may
        # be both.
        map, operands = super().parse_affine_map_of_ssa_ids()
        dimensions = [AffineExpr.dimension(position) for position in range(map.num_symbols)]
        results = tuple(e.replace_dims_and_symbols([], dimensions) for e in map.results)
        return AffineMap(map.num_symbols, 0, results), operands

    def parse_optional_region(self, arguments: Any = None) -> Any:
        self._nesting += 1
        if self._nesting > MAXIMUM_NESTING:
            here = convert_parse_error(ParseError(self._current_token.span, TOO_DEEP))
            raise LimitationError(here.message, here.location)
        region = super().parse_optional_region(arguments)
        self._nesting -= 1
        return region


def _hint(name: str) -> str:
    """What to do about an unknown op that belongs to another language."""
    if name.startswith("stablehlo."):
        return "; `rise import` and `riselang.from_stablehlo` read StableHLO modules"
    if name in NOTATION_KEYWORDS:
        return "; this looks like notation, which is read if the name of the text ends in .rise"
    return ""


def parse_module(text: str, name: str = "<text>", context: Context | None = None) -> ModuleOp:
    """Parse a module, without verifying it."""
    return parse_with_positions(text, name, context)[0]


@with_deep_stack
def parse_with_positions(
    text: str, name: str = "<text>", context: Context | None = None
) -> tuple[ModuleOp, TextPositions]:
    """Parse a module, without verifying it; also return the positions of its ops and values."""
    _reject_unclosed_strings(text, name)
    with time_span("read"), _convert_xdsl_errors(name):
        parser = LocatingParser(context or make_context(), text, name)
        return parser.parse_module(), parser.positions


_STRING_OR_COMMENT = re.compile(r'//[^\n]*|"(?:[^"\\\n]|\\[^\n])*+"?')


def _reject_unclosed_strings(text: str, name: str) -> None:
    """Reject unclosed strings, for which xDSL's lexer would take exponential time."""
    for found in _STRING_OR_COMMENT.finditer(text):
        token = found[0]
        if token.startswith('"') and (len(token) == 1 or not token.endswith('"')):
            line = text.count("\n", 0, found.start()) + 1
            start = text.rfind("\n", 0, found.start()) + 1
            whole = text[start:].split("\n", 1)[0]
            location = SourceLocation(name, line, found.start() - start + 1, 1, whole)
            raise UserError("this string is not closed before the end of its line", location)


@contextmanager
def _convert_xdsl_errors(name: str) -> Generator[None]:
    """Convert the exceptions that xDSL raises for user errors."""
    try:
        yield
    except ParseError as error:
        raise convert_parse_error(error) from None
    except RecursionError:
        raise LimitationError(
            "the text nests too deeply to be read", _start_location(name)
        ) from None
    except RiseError:
        raise
    except Exception as error:
        # Any other exception of the parser is an error in the text.
        raise UserError(f"cannot be read: {error}", _start_location(name)) from error


def _start_location(name: str) -> SourceLocation:
    return SourceLocation(name, 1, 1)


UNCLOSED = "the text ends inside a region; expected '}' to close it"
BLOCK_MESSAGES = {"in block definition": UNCLOSED}
"""Messages for those of xDSL's parser that do not say what is wrong."""


def convert_parse_error(error: ParseError) -> UserError:
    span = error.span
    content = span.input.content
    text = content if isinstance(content, str) else content.decode(errors="replace")
    start = text.rfind("\n", 0, span.start) + 1
    end = text.find("\n", span.start)
    line = text.count("\n", 0, span.start) + 1
    location = SourceLocation(
        span.input.name,
        line,
        span.start - start + 1,
        max(1, span.end - span.start),
        text[start : end if end >= 0 else len(text)],
    )
    message = BLOCK_MESSAGES.get(error.msg.strip(), error.msg.strip())
    if message == UNCLOSED and span.start < len(text.rstrip()):
        message = "expected an operation, a block label or '}' here"
    # Only a capitalized word becomes lower case, not an abbreviation.
    if message[1:2].islower():
        message = message[0].lower() + message[1:]
    return UserError(message, location)


def location_of(op: Operation) -> SourceLocation | None:
    """The source location of the op, if it is known."""
    location: Attribute = op.location
    if isinstance(location, NameLoc):
        location = location.location  # of the pattern that the op implements
    if isinstance(location, FileLineColLoc):
        start = SourceLocation(location.filename.data, location.line.data, location.column.data)
        return replace(start, length=_underline_length(start))
    return None


def _underline_length(start: SourceLocation) -> int:
    """The number of columns to underline: an op with its results, or one word.

    The location of an op may be in a program in notation or Python.
    """
    line = (start.source_line or "")[start.column - 1 :]
    found = _OPERATION_NAME.match(line)
    return len(found[0]) if found else 1


@with_deep_stack
def verify_module(module: ModuleOp) -> None:
    """Verify every op, and raise a located error for the first one that is invalid."""
    with time_span("check"):
        for problem in module_problems(module):
            raise problem from None


def module_problems(module: ModuleOp) -> Iterator[UserError]:
    """A located error for each invalid op; must run on a deep stack."""
    defined: set[Operation] = set()
    for op in walk(module):
        try:
            _check_order(op, defined)
            _check_symbols(op)
            op.verify(verify_nested_ops=False)
        except MisplacedOp as error:
            yield op_error(error.op, str(error))
        except VerifyException as error:
            yield op_error(op, str(error))
        except UserError as error:
            yield error
        defined.add(op)


def _check_order(op: Operation, defined: set[Operation]) -> None:
    """Check that values are defined before their uses, which xDSL's verifier does not check.

    In a region of several blocks, the order of the text does not matter.
    """
    for operand in op.operands:
        owner = operand.owner
        if not isinstance(owner, Operation) or owner.parent is None:
            continue
        region = owner.parent.parent
        is_late = owner not in defined or (owner.regions and owner.is_ancestor(op))
        if is_late and region is not None and len(region.blocks) == 1:
            name = f"%{operand.name_hint}" if operand.name_hint else "a value"
            raise op_error(op, f"uses {name} before it is defined")


def _check_symbols(op: Operation) -> None:
    """Reject the second op with the same symbol name; the module itself has no location."""
    if not isinstance(op, ModuleOp):
        return
    seen: set[str] = set()
    for inner in op.body.ops:
        name = inner.properties.get("sym_name")
        if isinstance(name, StringAttr):
            if name.data in seen:
                raise op_error(inner, f"defines @{name.data} a second time")
            seen.add(name.data)


def op_error(op: Operation, problem: str) -> UserError:
    location = location_of(op) or _nearest_location(op)
    return UserError(f"'{op.name}' op {_last_line(problem)}", location)


def _last_line(problem: str) -> str:
    return problem.strip().splitlines()[-1] if problem.strip() else "is not valid"


def _nearest_location(op: Operation) -> SourceLocation | None:
    parent = op.parent_op()
    while parent is not None:
        if (location := location_of(parent)) is not None:
            return location
        parent = parent.parent_op()
    return None


def walk(module: Operation) -> Iterator[Operation]:
    """Iterate over every op, outer ops first, without recursion."""
    stack: list[Operation] = [module]
    while stack:
        op = stack.pop()
        yield op
        if op.regions:
            inner = [each for region in op.regions for block in region.blocks for each in block.ops]
            stack.extend(reversed(inner))


def functions(module: ModuleOp) -> list[FuncOp]:
    """All functions with a body, in the order of the text; functions occur only in modules."""
    function_ops: list[FuncOp] = []
    stack: list[Operation] = [module]
    while stack:
        op = stack.pop()
        if isinstance(op, ModuleOp):
            stack.extend(reversed(list(op.body.block.ops)))
        elif isinstance(op, FuncOp) and not op.is_declaration:
            function_ops.append(op)
    return function_ops


def reject_deep_nesting(module: ModuleOp, location: SourceLocation | None) -> None:
    """Reject a module whose text could not be parsed again."""
    stack: list[tuple[Operation, int]] = [(module, 0)]
    while stack:
        op, depth = stack.pop()
        if depth > MAXIMUM_NESTING:
            raise LimitationError(TOO_DEEP, location_of(op) or location)
        for region in op.regions:
            for block in region.blocks:
                stack.extend((inner, depth + 1) for inner in block.ops)


@with_deep_stack
def module_text(module: Operation, *, generic: bool = False, locations: bool = False) -> str:
    stream = StringIO()
    with time_span("print"):
        Printer(stream=stream, print_generic_format=generic, print_debuginfo=locations).print_op(
            module
        )
    return stream.getvalue() + "\n"

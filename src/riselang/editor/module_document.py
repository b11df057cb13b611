"""Editor support for MLIR text."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from riselang.dialects.module import TextPositions, module_problems, parse_with_positions
from riselang.dialects.rise.dialect import Rise
from riselang.dialects.rise.pattern_registry import PATTERNS
from riselang.dialects.rise.type_printer import format_type
from riselang.dialects.rise.types import RiseType
from riselang.editor.answers import Completion, Extent, Hover
from riselang.editor.vocabulary import describe_pattern, word_at
from riselang.support.errors import RiseError
from riselang.support.recursion import with_deep_stack

_TOKEN = re.compile(r"%[\w$.-]+|@[\w$.-]+|[!#]?[a-zA-Z_][\w$]*(?:\.[\w$]+)*")
_SYMBOL = "sym_name"


@dataclass(frozen=True)
class ModuleDocument:
    """A `.mlir` file."""

    text: str
    problems: Sequence[RiseError]
    positions: TextPositions
    """The extents of ops and names; empty if the text has syntax errors."""

    @staticmethod
    @with_deep_stack
    def of(text: str, name: str) -> ModuleDocument:
        try:
            module, positions = parse_with_positions(text, name)
            return ModuleDocument(text, list(module_problems(module)), positions)
        except RiseError as error:
            return ModuleDocument(text, [error], TextPositions())

    def hover(self, offset: int) -> Hover | None:
        match = word_at(self.text, offset, _TOKEN)
        if match is None:
            return None
        word, extent = match
        if word.startswith("%"):
            value = self._values_in_scope(offset).get(word[1:])
            return None if value is None else Hover(_value_text(word, value), extent)
        text = op_descriptions().get(word)
        return None if text is None else Hover(text, extent)

    def definition(self, offset: int) -> Extent | None:
        match = word_at(self.text, offset, _TOKEN)
        if match is None:
            return None
        word, _ = match
        if word.startswith("@"):
            return self._symbol_extent(word)
        value = self._values_in_scope(offset).get(word[1:]) if word.startswith("%") else None
        return None if value is None else self.positions.values[value][1]

    def _symbol_extent(self, word: str) -> Extent | None:
        for op, extent in self.positions.ops.items():
            name = op.properties.get(_SYMBOL) or op.attributes.get(_SYMBOL)
            if isinstance(name, StringAttr) and name.data == word[1:]:
                start = self.text.find(word, *extent)
                return None if start < 0 else (start, start + len(word))
        return None

    def _values_in_scope(self, offset: int) -> Mapping[str, SSAValue]:
        """Return the values in scope at an offset; those of inner regions shadow outer ones."""
        values: dict[str, SSAValue] = {}
        ops = self.positions.ops
        enclosing_ops = [op for op, (start, end) in ops.items() if start <= offset < end]
        for op in sorted(enclosing_ops, key=lambda op: ops[op][0]):
            values |= self._values_by_name(op.results)
            blocks = [block for region in op.regions for block in region.blocks]
            introduced = self._values_by_name(
                argument for block in blocks for argument in block.args
            )
            # Before its braces, an op refers to outer values, and to the arguments it declares.
            is_inside = 0 <= self.text.find("{", ops[op][0]) < offset
            values = values | introduced if is_inside else introduced | values
            for inner_op in (inner for block in blocks for inner in block.ops):
                if inner_op in ops and ops[inner_op][0] <= offset:
                    values |= self._values_by_name(inner_op.results)
        return values

    def _values_by_name(self, values: Iterable[SSAValue]) -> dict[str, SSAValue]:
        """Return values by their names in the text; of several with one name, the first."""
        values_by_name: dict[str, SSAValue] = {}
        for value in values:
            if value in self.positions.values:
                values_by_name.setdefault(self.positions.values[value][0], value)
        return values_by_name

    def completions(self, offset: int) -> Sequence[Completion]:
        match = word_at(self.text, offset, re.compile(r"%[\w$.-]*"))
        if match is not None:
            return [
                Completion(f"%{name}", "variable", _format_value_type(value))
                for name, value in self._values_in_scope(offset).items()
            ]
        return op_completions()

    def format(self) -> str | None:
        # Printing would lose the comments.
        return None


def _value_text(word: str, value: SSAValue) -> str:
    type = value.type
    lines = f"```mlir\n{word} : {type}\n```"
    return f"{lines}\n`{format_type(type)}` in notation" if isinstance(type, RiseType) else lines


def _format_value_type(value: SSAValue) -> str:
    return format_type(value.type) if isinstance(value.type, RiseType) else str(value.type)


@cache
def op_descriptions() -> Mapping[str, str]:
    """Return the description of each op of the dialect, in Markdown."""
    return dict(_describe_ops())


def _describe_ops() -> Iterator[tuple[str, str]]:
    for op in Rise.operations:
        pattern = op.name.removeprefix("rise.")
        if pattern in PATTERNS:
            yield op.name, describe_pattern(PATTERNS[pattern])
        else:
            summary = inspect.cleandoc(op.__doc__ or "")
            yield op.name, f"`{op.name}`: {summary}"


@cache
def op_completions() -> tuple[Completion, ...]:
    """Return the ops, types and attributes of the dialect."""
    ops = [Completion(name, "function", "", text) for name, text in op_descriptions().items()]
    kinds = [kind for kind in Rise.attributes if "Spelling" not in kind.__name__]
    sigil = {True: "!", False: "#"}
    types = [
        Completion(
            f"{sigil[issubclass(kind, RiseType)]}{kind.name}",
            "type",
            "",
            inspect.cleandoc(kind.__doc__ or ""),
        )
        for kind in kinds
    ]
    return (*ops, *types)

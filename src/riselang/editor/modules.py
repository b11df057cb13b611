"""MLIR text, as an editor sees it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from riselang.dialects.module import Extents, deep_stack, module_problems, parse_with_extents
from riselang.dialects.rise.dialect import Rise
from riselang.dialects.rise.schemes import PATTERNS
from riselang.dialects.rise.types import RiseType, show
from riselang.editor.document import Extent, Hover, Suggestion
from riselang.editor.words import pattern_text, word_at
from riselang.errors import RiseError

_TOKEN = re.compile(r"%[\w$.-]+|@[\w$.-]+|[!#]?[a-zA-Z_][\w$]*(?:\.[\w$]+)*")
_RESULTS = re.compile(r"\s*(%[\w$.-]+(?::\d+)?(?:\s*,\s*%[\w$.-]+(?::\d+)?)*)\s*=")
_SYMBOL = "sym_name"


@dataclass(frozen=True)
class ModuleDocument:
    """A `.mlir` file."""

    text: str
    problems: Sequence[RiseError]
    extents: Extents
    """Where ops stand; empty where the text cannot be read."""

    @staticmethod
    def of(text: str, name: str) -> ModuleDocument:
        try:
            module, extents = parse_with_extents(text, name)
            with deep_stack():
                return ModuleDocument(text, list(module_problems(module)), extents)
        except RiseError as error:
            return ModuleDocument(text, [error], {})

    def hover(self, offset: int) -> Hover | None:
        found = word_at(self.text, offset, _TOKEN)
        if found is None:
            return None
        word, extent = found
        if word.startswith("%"):
            value = self._values(offset).get(word[1:])
            return None if value is None else Hover(_value_text(word, value), extent)
        text = op_texts().get(word)
        return None if text is None else Hover(text, extent)

    def definition(self, offset: int) -> Extent | None:
        found = word_at(self.text, offset, _TOKEN)
        if found is None:
            return None
        word, _ = found
        if word.startswith("@"):
            return self._symbol(word)
        value = self._values(offset).get(word[1:]) if word.startswith("%") else None
        owner = None if value is None else value.owner
        while owner is not None and not isinstance(owner, Operation):
            owner = owner.parent_op()
        if owner is None or owner not in self.extents:
            return None
        named = re.compile(rf"{re.escape(word)}(?![\w$.-])").search(self.text, *self.extents[owner])
        return None if named is None else named.span()

    def _symbol(self, word: str) -> Extent | None:
        for op, extent in self.extents.items():
            name = op.properties.get(_SYMBOL) or op.attributes.get(_SYMBOL)
            if isinstance(name, StringAttr) and name.data == word[1:]:
                start = self.text.find(word, *extent)
                return None if start < 0 else (start, start + len(word))
        return None

    def _values(self, offset: int) -> Mapping[str, SSAValue]:
        """The values that may be named at a place; those of inner regions hide outer ones."""
        found: dict[str, SSAValue] = {}
        around = [op for op, (start, end) in self.extents.items() if start <= offset < end]
        for op in sorted(around, key=lambda op: self.extents[op][0]):
            found |= self._named(op)
            blocks = [block for region in op.regions for block in region.blocks]
            introduced = {arg.name_hint: arg for block in blocks for arg in block.args
                          if arg.name_hint is not None}  # fmt: skip
            # Before its braces an op names what is outside, and what it introduces.
            is_inside = 0 <= self.text.find("{", self.extents[op][0]) < offset
            found = found | introduced if is_inside else introduced | found
            for each in (inner for block in blocks for inner in block.ops):
                if each in self.extents and self.extents[each][0] <= offset:
                    found |= self._named(each)
        return found

    def _named(self, op: Operation) -> dict[str, SSAValue]:
        """The results of an op by the names they have in the text."""
        found = _RESULTS.match(self.text, self.extents[op][0])
        if found is None:
            return {}
        names = [each.strip().partition(":")[0][1:] for each in found[1].split(",")]
        return dict(zip(names, op.results, strict=False))

    def suggestions(self, offset: int) -> Sequence[Suggestion]:
        found = word_at(self.text, offset, re.compile(r"%[\w$.-]*"))
        if found is not None:
            return [
                Suggestion(f"%{name}", "variable", _shown_type(value))
                for name, value in self._values(offset).items()
            ]
        return op_words()

    def formatted(self) -> str | None:
        # Printing would lose the comments.
        return None


def _value_text(word: str, value: SSAValue) -> str:
    type = value.type
    lines = f"```mlir\n{word} : {type}\n```"
    return f"{lines}\n`{show(type)}` in notation" if isinstance(type, RiseType) else lines


def _shown_type(value: SSAValue) -> str:
    return show(value.type) if isinstance(value.type, RiseType) else str(value.type)


@cache
def op_texts() -> Mapping[str, str]:
    """What each op of the dialect is, in Markdown."""
    return dict(_op_texts())


def _op_texts() -> Iterator[tuple[str, str]]:
    for op in Rise.operations:
        pattern = op.name.removeprefix("rise.")
        if pattern in PATTERNS:
            yield op.name, pattern_text(PATTERNS[pattern])
        else:
            summary = inspect.cleandoc(op.__doc__ or "")
            yield op.name, f"`{op.name}`: {summary}"


@cache
def op_words() -> tuple[Suggestion, ...]:
    """The ops, types and attributes of the dialect."""
    ops = [Suggestion(name, "function", "", text) for name, text in op_texts().items()]
    kinds = [kind for kind in Rise.attributes if "Spelling" not in kind.__name__]
    sigil = {True: "!", False: "#"}
    types = [
        Suggestion(
            f"{sigil[issubclass(kind, RiseType)]}{kind.name}",
            "type",
            "",
            inspect.cleandoc(kind.__doc__ or ""),
        )
        for kind in kinds
    ]
    return (*ops, *types)

"""Prints modules for native MLIR, in generic form, which all MLIR versions parse alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    AffineMapAttr,
    AffineSetAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    UnregisteredOp,
    VectorType,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.printer import Printer

from riselang.dialects.module import walk
from riselang.support.profiling import time_span
from riselang.support.recursion import with_deep_stack

EXPLICIT_REGION_OPS = (
    "linalg.generic",
    "linalg.yield",
    "linalg.index",
    "linalg.map",
    "linalg.reduce",
)

SHARED_ATTRIBUTES = (
    AffineMapAttr, AffineSetAttr, DenseArrayBase, FastMathFlagsAttr, IntegerAttr, MemRefType,
    VectorType,
)  # fmt: skip
"""Attributes of which a module contains many equal ones, and that contain no Python floats."""


@with_deep_stack
def native_text(module: Operation, *, locations: bool = False) -> str:
    """Format a module for native MLIR."""
    with time_span("print"):
        if any(_is_named_linalg_op(op) for op in walk(module)):
            stream = StringIO()
            printer = _NamedOpPrinter(
                stream=stream, print_generic_format=True, print_debuginfo=locations
            )
            printer.print_op(module)
            return stream.getvalue() + "\n"
        return _GenericPrinter(locations).format(module)


def _is_named_linalg_op(op: Operation) -> bool:
    """Whether the op is a named linalg op, whose region MLIR builds itself."""
    return op.name.startswith("linalg.") and op.name not in EXPLICIT_REGION_OPS


class _NamedOpPrinter(Printer):
    """xDSL's printer, but with custom syntax, without a region, for named linalg ops."""

    def print_op(self, op: Operation) -> None:
        is_named = _is_named_linalg_op(op)
        if is_named:
            self.print_generic_format = False
        super().print_op(op)
        if is_named:
            self.print_generic_format = True


class _GenericPrinter:
    """A faster printer, which caches types and does not track columns.

    It takes a third of the time. It recurses only in plain Python functions, so that deep modules
    do not overflow the stack.
    """

    def __init__(self, locations: bool) -> None:
        self._locations = locations
        self._parts: list[str] = []
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}
        self._texts: dict[int, str] = {}
        self._shared_texts: dict[Attribute, str] = {}
        self._stream = StringIO()
        self._printer = Printer(stream=self._stream)

    def format(self, module: Operation) -> str:
        self._print_op(module)
        return "".join(self._parts)

    def _print_op(self, op: Operation) -> None:
        name, attributes = op.name, op.attributes
        if isinstance(op, UnregisteredOp):
            name = op.op_name.data
            attributes = {key: each for key, each in attributes.items() if key != "op_name__"}
        results = f"{self._names(op.results)} = " if op.results else ""
        self._parts.append(f'{results}"{name}"({self._names(op.operands)})')
        if op.successors:
            self._parts.append(f"[{', '.join([self._block_name(each) for each in op.successors])}]")
        if op.properties:
            self._parts.append(f" <{self._dictionary(op.properties)}>")
        self._print_regions(op.regions)
        if attributes:
            self._parts.append(f" {self._dictionary(attributes)}")
        outputs = self._types(op.results)
        if len(op.results) != 1 or isinstance(op.results[0].type, FunctionType):
            outputs = f"({outputs})"
        self._parts.append(
            f" : ({self._types(op.operands)}) -> {outputs}{self._location_suffix(op)}\n"
        )

    def _print_regions(self, regions: Sequence[Region]) -> None:
        if not regions:
            return
        for position, region in enumerate(regions):
            self._parts.append(", {\n" if position else " ({\n")
            for block in region.blocks:
                arguments = [
                    f"{self._name(each)}: {self._typed_argument(each)}" for each in block.args
                ]
                self._parts.append(f"{self._block_name(block)}({', '.join(arguments)}):\n")
                for op in block.ops:
                    self._print_op(op)
            self._parts.append("}")
        self._parts.append(")")

    def _typed_argument(self, argument: BlockArgument) -> str:
        return f"{self._text(argument.type)}{self._location_suffix(argument)}"

    def _location_suffix(self, target: Operation | BlockArgument) -> str:
        return f" {self._text(target.location)}" if self._locations else ""

    def _name(self, value: SSAValue) -> str:
        if value not in self._values:
            self._values[value] = f"%{len(self._values)}"
        return self._values[value]

    def _names(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self._name(each) for each in values])

    def _types(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self._text(each.type) for each in values])

    def _block_name(self, block: Block) -> str:
        if block not in self._blocks:
            self._blocks[block] = f"^bb{len(self._blocks)}"
        return self._blocks[block]

    def _dictionary(self, attributes: Mapping[str, Attribute]) -> str:
        """Format attributes, with all names in quotes, since some are not identifiers."""
        parts = [
            f'"{name}"' if isinstance(each, UnitAttr) else f'"{name}" = {self._text(each)}'
            for name, each in attributes.items()
        ]
        return f"{{{', '.join(parts)}}}"

    def _text(self, attribute: Attribute) -> str:
        """Return the text of an attribute of the module, cached by identity.

        Equal attributes share a text only if they contain no floats: -0.0 and 0.0 are equal.
        """
        text = self._texts.get(id(attribute))
        if text is None:
            is_shared = attribute.__class__ in SHARED_ATTRIBUTES
            text = self._shared_texts.get(attribute) if is_shared else None
            text = text or self._format_attribute(attribute)
            self._texts[id(attribute)] = text
            if is_shared:
                self._shared_texts[attribute] = text
        return text

    def _format_attribute(self, attribute: Attribute) -> str:
        self._stream.seek(0)
        self._stream.truncate()
        self._printer.print_attribute(attribute)
        return self._stream.getvalue()

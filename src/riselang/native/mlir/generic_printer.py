"""Prints modules for native MLIR, in generic form, which all MLIR versions parse alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO

from xdsl.dialects.builtin import FunctionType, UnitAttr, UnregisteredOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.printer import Printer

from riselang.dialects.module import walk
from riselang.support.profiling import timed
from riselang.support.recursion import deep

WITH_OWN_REGION = ("linalg.generic", "linalg.yield", "linalg.index", "linalg.map", "linalg.reduce")


@deep
def native_text(module: Operation, *, locations: bool = False) -> str:
    """Format a module for native MLIR."""
    with timed("print"):
        if any(_is_named(op) for op in walk(module)):
            stream = StringIO()
            printer = _Printer(stream=stream, print_generic_format=True, print_debuginfo=locations)
            printer.print_op(module)
            return stream.getvalue() + "\n"
        return _Writer(locations).text(module)


def _is_named(op: Operation) -> bool:
    """Whether the op is a named linalg op, whose region MLIR builds itself."""
    return op.name.startswith("linalg.") and op.name not in WITH_OWN_REGION


class _Printer(Printer):
    """xDSL's printer, but with custom syntax, without a region, for named linalg ops."""

    def print_op(self, op: Operation) -> None:
        is_named = _is_named(op)
        if is_named:
            self.print_generic_format = False
        super().print_op(op)
        if is_named:
            self.print_generic_format = True


class _Writer:
    """A faster printer, which caches types and does not track columns.

    It takes a third of the time. It recurses only in plain Python functions, so that deep modules
    do not overflow the stack.
    """

    def __init__(self, locations: bool) -> None:
        self._locations = locations
        self._parts: list[str] = []
        self._values: dict[SSAValue, str] = {}
        self._blocks: dict[Block, str] = {}
        self._known: dict[Attribute, str] = {}

    def text(self, module: Operation) -> str:
        self._op(module)
        return "".join(self._parts)

    def _op(self, op: Operation) -> None:
        name, attributes = op.name, op.attributes
        if isinstance(op, UnregisteredOp):
            name = op.op_name.data
            attributes = {key: each for key, each in attributes.items() if key != "op_name__"}
        results = f"{self._named(op.results)} = " if op.results else ""
        self._parts.append(f'{results}"{name}"({self._named(op.operands)})')
        if op.successors:
            self._parts.append(f"[{', '.join([self._block_name(each) for each in op.successors])}]")
        if op.properties:
            self._parts.append(f" <{self._dictionary(op.properties)}>")
        self._regions(op.regions)
        if attributes:
            self._parts.append(f" {self._dictionary(attributes)}")
        outputs = self._types(op.results)
        if len(op.results) != 1 or isinstance(op.results[0].type, FunctionType):
            outputs = f"({outputs})"
        self._parts.append(f" : ({self._types(op.operands)}) -> {outputs}{self._place(op)}\n")

    def _regions(self, regions: Sequence[Region]) -> None:
        if not regions:
            return
        for position, region in enumerate(regions):
            self._parts.append(", {\n" if position else " ({\n")
            for block in region.blocks:
                arguments = [f"{self._name(each)}: {self._typed(each)}" for each in block.args]
                self._parts.append(f"{self._block_name(block)}({', '.join(arguments)}):\n")
                for op in block.ops:
                    self._op(op)
            self._parts.append("}")
        self._parts.append(")")

    def _typed(self, argument: BlockArgument) -> str:
        return f"{self._kept(argument.type)}{self._place(argument)}"

    def _place(self, of: Operation | BlockArgument) -> str:
        return f" {self._kept(of.location)}" if self._locations else ""

    def _name(self, value: SSAValue) -> str:
        if value not in self._values:
            self._values[value] = f"%{len(self._values)}"
        return self._values[value]

    def _named(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self._name(each) for each in values])

    def _types(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([self._kept(each.type) for each in values])

    def _block_name(self, block: Block) -> str:
        if block not in self._blocks:
            self._blocks[block] = f"^bb{len(self._blocks)}"
        return self._blocks[block]

    def _dictionary(self, attributes: Mapping[str, Attribute]) -> str:
        """Format attributes, with all names in quotes, since some are not identifiers."""
        parts = [
            f'"{name}"' if isinstance(each, UnitAttr) else f'"{name}" = {_attribute(each)}'
            for name, each in attributes.items()
        ]
        return f"{{{', '.join(parts)}}}"

    def _kept(self, attribute: Attribute) -> str:
        """Return the cached text of a type or location, not of a float: -0.0 and 0.0 are equal."""
        if attribute not in self._known:
            self._known[attribute] = _attribute(attribute)
        return self._known[attribute]


def _attribute(attribute: Attribute) -> str:
    stream = StringIO()
    Printer(stream=stream).print_attribute(attribute)
    return stream.getvalue()

"""Printing modules in a form that native MLIR parses after it has loaded our dialect as IRDL.

It is MLIR's generic form with five differences, all due to the limits of IRDL:

- a type or attribute has its parameters in the order of its definition, each of them an attribute
  (`!rise.array<#rise.nat<"4">, !rise.scalar<f32>>`), because IRDL has no custom syntax;
- op names have no capitals and no second dot (`rise.map_seq`, `rise.codegen_idx`), and differ from
  the names of types (`rise.tuple_op`);
- a variadic op has the attribute `operandSegmentSizes`, since its operands are optional ones in
  IRDL, where the operands of a variadic all have the same type;
- properties are attributes, since an IRDL op has no properties;
- `rise.return` is followed by `ub.unreachable`, because a block must end in a terminator, and IRDL
  cannot declare one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Attribute, Data, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import IRDLOperation, OptionalDef, VariadicDef
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.target import Target

from riselang.dialects.module import location_of
from riselang.dialects.rise.dialect import Rise
from riselang.support.errors import LimitationError
from riselang.support.recursion import with_deep_stack

PREFIX = "rise."
VARIADIC_LIMIT = 16
"""The maximum number of variadic operands that native MLIR supports."""
_KINDS = frozenset(kind.name for kind in Rise.attributes)
_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@with_deep_stack
def format_native(module: Operation) -> str:
    """Print `module` for native MLIR."""
    stream = StringIO()
    NativePrinter(stream=stream, print_generic_format=True).print_op(module)
    return stream.getvalue() + "\n"


def native_name(name: str) -> str:
    """The name of an op: `rise.codegen.mapread` is `rise.codegen_mapread`."""
    dialect, _, local = name.partition(".")
    spelled = f"{dialect}.{_CAPITAL.sub('_', local).lower().replace('.', '_')}"
    return f"{spelled}_op" if spelled in _KINDS else spelled


def parameter_name(name: str) -> str:
    """The name of an operand, result, region or parameter."""
    return _CAPITAL.sub("_", name).lower()


class NativePrinter(Printer):
    """Prints our ops, types and attributes as IRDL declares them, and others as usual."""

    def print_attribute(self, attribute: Attribute) -> None:
        if not attribute.name.startswith(PREFIX):
            super().print_attribute(attribute)
            return
        self.print_string("!" if isinstance(attribute, TypeAttribute) else "#")
        self.print_string(attribute.name)
        with self.in_angle_brackets():
            if isinstance(attribute, Data):
                self.print_string_literal(str(attribute.data))
            elif isinstance(attribute, ParametrizedAttribute):
                self.print_list(attribute.parameters, self.print_attribute)

    def print_op(self, op: Operation) -> None:
        if not op.name.startswith(PREFIX):
            super().print_op(op)
            return
        # No name scope for an isolated region: IRDL cannot declare that an op is isolated.
        self._print_results(op)
        self.print_string(f'"{native_name(op.name)}"')
        self.print_operands(op.operands)
        self.print_regions(op.regions)
        self.print_op_attributes({**op.properties, **op.attributes, **_segment_sizes(op)})
        self.print_string(" : ")
        self.print_operation_type(op)
        if op.has_trait(IsTerminator):
            self._print_new_line()
            self.print_string('"ub.unreachable"() : () -> ()')


def operand_slots(definition: object) -> int:
    """The number of operands that IRDL declares for one operand definition."""
    is_many = isinstance(definition, VariadicDef) and not isinstance(definition, OptionalDef)
    return VARIADIC_LIMIT if is_many else 1


def _segment_sizes(op: Operation) -> dict[str, Attribute]:
    """The `operandSegmentSizes`: 1 for each IRDL operand that is present, 0 for the others."""
    assert isinstance(op, IRDLOperation)
    definitions = op.get_irdl_definition().operands
    if not any(isinstance(definition, VariadicDef) for _, definition in definitions):
        return {}
    sizes: list[int] = []
    for name, definition in definitions:
        value = getattr(op, name)
        given = len(value) if isinstance(value, Sequence) else int(value is not None)
        if given > operand_slots(definition):
            raise LimitationError(
                f"'{op.name}' op has {given} {name}, but native MLIR supports {VARIADIC_LIMIT}",
                location_of(op),
            )
        sizes += [1] * given + [0] * (operand_slots(definition) - given)
    return {"operandSegmentSizes": DenseArrayBase.from_list(i32, sizes)}


@dataclass(frozen=True)
class NativeTarget(Target):
    """`rise-opt -t native`"""

    name = "native"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(format_native(module))

"""Changes to xDSL in this process, each with the upstream change that would retire it.

`parse_formats_lazily`: an assembly format is parsed when its op is first parsed or printed, not
when the op is defined. Parsing all formats takes a third of the time to load xDSL's dialects, and a
program that is compiled and called from Python prints no op in its custom format. Retired when
`xdsl.irdl.irdl_op_definition` parses `assembly_format` at its first use.

`create_ops_quickly`: the constructor of an op sets its fields directly, and a named operand or
result is one element of a tuple. xDSL assigns each field through a property, and builds a view of
all operands to return one of them. Retired when xDSL's constructor and accessors do so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import IRDLOperation, OpDef, VarIRConstruct, operations
from xdsl.parser import Parser
from xdsl.printer import Printer

from riselang.support.lazy import cached_property

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram

_accessors = operations.get_accessors_from_op_def
_SingleAccessor = operations.BeforeVariadicSingleAccessor


@dataclass(frozen=True)
class LazyFormat:
    """The assembly format of an op, which is parsed on first use."""

    text: str
    op_def: OpDef

    @cached_property
    def program(self) -> FormatProgram:
        from xdsl.irdl.declarative_assembly_format import FormatProgram

        return FormatProgram.from_str(self.text, self.op_def)

    def members(self) -> dict[str, Any]:
        """The methods of the op's class that parse and print it."""

        def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
            return self.program.parse(parser, cls)

        def print(op: IRDLOperation, printer: Printer) -> None:
            self.program.print(printer, op)

        return {"parse": classmethod(parse), "print": print}


def _members_with_lazy_format(op_def: OpDef, custom_verify: Any | None) -> dict[str, Any]:
    text, op_def.assembly_format = op_def.assembly_format, None
    members = _accessors(op_def, custom_verify)
    if text is None:
        return members
    op_def.assembly_format = text
    return members | LazyFormat(text, op_def).members()


def parse_formats_lazily() -> None:
    """Parse formats lazily in every dialect that is loaded from now on in this process."""
    operations.get_accessors_from_op_def = _members_with_lazy_format


class _OperandAccessor(_SingleAccessor):
    """A named operand that precedes all variadic ones."""

    def __get__(self, obj: Any, objtype: Any = None) -> Any:
        return _item(obj._operands, self.idx)


class _ResultAccessor(_SingleAccessor):
    """A named result that precedes all variadic ones."""

    def __get__(self, obj: Any, objtype: Any = None) -> Any:
        return _item(obj.results, self.idx)


_item = tuple.__getitem__
_ACCESSORS = {VarIRConstruct.OPERAND: _OperandAccessor, VarIRConstruct.RESULT: _ResultAccessor}


def _single_accessor(construct: VarIRConstruct, idx: int) -> Any:
    return _ACCESSORS.get(construct, _SingleAccessor)(construct, idx)


def _value_at(self: Any, idx: Any) -> Any:
    value = _item(self, idx)
    return value if idx.__class__ is int else SSAValues(value)


def _create_op(
    self: Any,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    if operands:
        values: Any = SSAValues(operands)
        uses: list[Use] = []
        for number, value in enumerate(values):
            use = Use(self, number)
            value.add_use(use)
            uses.append(use)
        self._operands, self._operand_uses = values, tuple(uses)
    if result_types:
        self.results = SSAValues([OpResult(type, self, n) for n, type in enumerate(result_types)])
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    if successors:
        self.successors = successors
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def create_ops_quickly() -> None:
    """Create ops and read their operands by the functions above, in this process."""
    operations.BeforeVariadicSingleAccessor = _single_accessor
    SSAValues.__getitem__ = _value_at
    Operation.__init__ = _create_op

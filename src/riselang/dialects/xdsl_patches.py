"""Changes to xDSL in this process, each with the upstream change that would retire it.

`parse_formats_lazily`: an assembly format is parsed when its op is first parsed or printed, not
when the op is defined. Parsing all formats takes a third of the time to load xDSL's dialects, and a
program that is compiled and called from Python prints no op in its custom format. Retired when
`xdsl.irdl.irdl_op_definition` parses `assembly_format` at its first use.

`create_ops_quickly`: the constructor of an op sets its fields directly, and a named operand or
result is one element of a tuple. xDSL assigns each field through a property, and builds a view of
all operands to return one of them. A copy of an op does not check its name hints again. Retired
when xDSL's constructors and accessors do so.

`insert_ops_quickly`: inserting an op links it into its block directly, and iterating over a block
follows the links in a generator. xDSL converts each op to a sequence, searches the blocks around it
for the op even if it has no regions, and creates an iterator object. Retired when xDSL does so.

`check_types_quickly`: `isinstance` considers only the bases of a class of attributes, values or
ops, whose hashes and links are read without calling a Python function, and a constraint without
variables is verified in a context that is created once. Retired when these classes of xDSL are not
abstract base classes.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from xdsl import builder
from xdsl.builder import Builder
from xdsl.dialects.builtin import UNKNOWN_LOC, LocationAttr
from xdsl.ir import (
    Attribute,
    Block,
    Operation,
    OpResult,
    ParametrizedAttribute,
    Region,
    SSAValue,
    Use,
)
from xdsl.ir.core import BlockOps, IRWithName, IRWithUses, SSAValues
from xdsl.irdl import IRDLOperation, OpDef, ParamAttrDef, VarIRConstruct, operations
from xdsl.irdl.constraints import VerificationContext
from xdsl.irdl.operations import OptionalDef
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.rewriter import InsertPoint
from xdsl.utils.exceptions import VerifyException

from riselang.dialects.metaclasses import PlainClass
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


_Defaults = tuple[tuple[str, Attribute], ...]
_DEFAULTS: dict[type[IRDLOperation], tuple[_Defaults, _Defaults]] = {}
"""The properties and attributes that an op has by default, by its class."""


def _set_defaults(self: IRDLOperation) -> None:
    defaults = _DEFAULTS.get(self.__class__)
    if defaults is None:
        definition = self.get_irdl_definition()
        defaults = _defaults_of(definition.properties), _defaults_of(definition.attributes)
        _DEFAULTS[self.__class__] = defaults
    for name, value in defaults[0]:
        self.properties.setdefault(name, value)
    for name, value in defaults[1]:
        self.attributes.setdefault(name, value)
    # xDSL replaces this function with one that inserts ops into the block of an implicit builder.
    Operation.__post_init__(self)


def _defaults_of(definitions: Mapping[str, Any]) -> _Defaults:
    return tuple(
        (name, each.default_value)
        for name, each in definitions.items()
        if not isinstance(each, OptionalDef) and each.default_value is not None
    )


_clone_op: Any = Operation.clone_without_regions


def _clone_without_regions(
    self: Any,
    value_mapper: dict[SSAValue, SSAValue] | None = None,
    block_mapper: dict[Block, Block] | None = None,
    **options: bool,
) -> Any:
    if options or self._successors:
        return _clone_op(self, value_mapper, block_mapper, **options)
    values = {} if value_mapper is None else value_mapper
    clone = self.create(
        operands=[values.get(operand, operand) for operand in self._operands],
        result_types=[result._type for result in self.results],
        attributes=self.attributes,
        properties=self.properties,
        location=self.location,
        regions=[Region() for _ in self.regions],
    )
    for result, copy in zip(self.results, clone.results, strict=True):
        values[result] = copy
        copy._name = result._name
    return clone


def create_ops_quickly() -> None:
    """Create ops and read their operands by the functions above, in this process."""
    operations.BeforeVariadicSingleAccessor = _single_accessor
    SSAValues.__getitem__ = _value_at
    Operation.__init__ = _create_op
    IRDLOperation.__post_init__ = _set_defaults
    Operation.clone_without_regions = _clone_without_regions


_insert_ops: Any = Builder.insert
_implicit_builder: Any = vars(builder)["_current_builder"]


def _insert_op(self: Any, op: Any, insertion_point: InsertPoint | None = None) -> Any:
    if not isinstance(op, Operation) or self._name_hint is not None:
        return _insert_ops(self, op, insertion_point)
    implicit = _implicit_builder.builder
    if implicit is not None and implicit is not self:
        return _insert_ops(self, op, insertion_point)
    point = self.insertion_point if insertion_point is None else insertion_point
    if point.insert_before is None:
        point.block.add_op(op)
    else:
        point.block.insert_op_before(op, point.insert_before)
    for handle in self.operation_insertion_handler:
        handle(op)
    return op


def _insert_op_before(self: Any, new_op: Any, existing_op: Any) -> None:
    if existing_op.parent is not self:
        raise ValueError("Can't insert operation before operation not in current block")
    self._attach_op(new_op)
    previous = existing_op._prev_op
    new_op._prev_op, new_op._next_op = previous, existing_op
    existing_op._prev_op = new_op
    if previous is None:
        self._first_op = new_op
    else:
        previous._next_op = new_op


_BLOCK: Any = Block
_attach_op_with_regions = _BLOCK._attach_op


def _attach_op(self: Any, operation: Any) -> None:
    if operation.regions or operation.parent is not None:
        _attach_op_with_regions(self, operation)
    else:
        operation.parent = self


def _iterate_over_ops(self: BlockOps) -> Iterator[Operation]:
    op = self.block.first_op
    while op is not None:
        # The op may be moved or erased before the next one is requested.
        next_op = op.next_op
        yield op
        op = next_op


def insert_ops_quickly() -> None:
    """Insert ops into blocks, and iterate over them, by the functions above, in this process."""
    Builder.insert = _insert_op
    _BLOCK.insert_op_before = _insert_op_before
    _BLOCK._attach_op = _attach_op
    iterable: Any = BlockOps
    iterable.__iter__ = _iterate_over_ops


_EMPTY_CONTEXT = VerificationContext()
"""The context in which constraints without variables are verified: it stays empty."""
_verify_parameters = ParamAttrDef.verify


def _verify_attribute(self: Any, attr: ParametrizedAttribute) -> None:
    has_variables: bool | None = self.__dict__.get("has_variables")
    if has_variables is None:
        has_variables = any(parameter.constr.variables() for _, parameter in self.parameters)
        self.has_variables = has_variables
    try:
        if not has_variables:
            for name, parameter in self.parameters:
                parameter.constr.verify(getattr(attr, name), _EMPTY_CONTEXT)
            return
    except VerifyException:
        pass  # is raised again, with the name of the parameter
    _verify_parameters(self, attr)


def _make_plain(cls: Any) -> None:
    cls.__class__ = PlainClass
    for subclass in cls.__subclasses__():
        if type(subclass) is ABCMeta:
            _make_plain(subclass)


def check_types_quickly() -> None:
    """Check types, verify attributes and compare values as described above, in this process."""
    for base in (Attribute, IRWithUses, IRWithName, Operation, Block, Region):
        _make_plain(base)
    value_class: Any = SSAValue
    op_class: Any = Operation
    identity_classes: tuple[Any, ...] = (value_class, op_class, IRDLOperation, Block, Region)
    for cls in identity_classes:
        cls.__hash__, cls.__eq__ = object.__hash__, object.__eq__
    value_class.type = property(attrgetter("_type"))
    op_class.next_op = property(attrgetter("_next_op"))
    ParamAttrDef.verify = _verify_attribute

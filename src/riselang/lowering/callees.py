"""Lowers named functions of a program to functions of the module, and arrays to its constants.

The function in `let f = fun((x, y), ...); ... f(a, b) ... f(c, d)` is lowered once, to a private
function that takes buffers for its result, then its parameters: a buffer for each array, and a
builtin scalar for each scalar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    IndexType,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise import codegen
from riselang.dialects.rise.attributes import LiteralAttr
from riselang.dialects.rise.lane_types import Lanes, unwrap_type
from riselang.dialects.rise.types import (
    ArrayType,
    DataType,
    IdxType,
    RiseType,
    TupleType,
    components,
    contains_array,
    leaves,
    uncurry,
)
from riselang.lowering.dynamic_sizes import Sizes
from riselang.lowering.loop_emitter import Emitter
from riselang.lowering.noalias import mark_noalias
from riselang.lowering.runtime_checks import CheckLocations, Checks
from riselang.term.nodes import Lambda

Fill = Callable[[Lambda, Sequence[SSAValue], SSAValue, InsertPoint, Sizes, Checks], None]
"""Lowers a closed function, given its inputs, its target and its insertion point."""
FUNCTION_PREFIX, SMALL_FUNCTION_PREFIX = "rise_function", "rise_small_function"
"""LLVM may inline small functions. It would compile others again for each call, for no gain."""
CONSTANT_PREFIX = "rise_constant"
MAX_SMALL_RESULT = 64
"""The maximum number of scalars that a small function returns."""
CONSTANT_ALIGNMENT = 64
"""The alignment of arrays of constants in bytes: that of the widest vectors."""


@dataclass(frozen=True)
class Callee:
    """A function of the module, and the term that it was lowered from."""

    function: Lambda
    inputs: tuple[RiseType, ...]
    result: RiseType

    @property
    def is_small(self) -> bool:
        """Whether the function returns only a few scalars."""
        counts = [prod(each.constant for each in lengths) for lengths, _ in leaves(self.result)]
        return sum(counts) <= MAX_SMALL_RESULT


def callee_of(function: Lambda) -> Callee | None:
    """Return a closed function on arrays of constant sizes and scalars; None for any other."""
    inputs, result = uncurry(function.type)
    is_called = not function.open and contains_array(result)
    if not is_called or not all(_has_constant_sizes(type) for type in (*inputs, result)):
        return None
    return Callee(function, inputs, result)


def _has_constant_sizes(type: RiseType) -> bool:
    return isinstance(type, DataType) and all(
        length.is_constant for lengths, _ in leaves(type) for length in lengths
    )


class Callees:
    """The functions and the arrays of constants that have been added to a module."""

    def __init__(self, module: ModuleOp, source_locations: CheckLocations, fill: Fill):
        self.checks: list[Checks] = []
        self._module = module
        self._source_locations = source_locations
        self._fill = fill
        self._names: dict[Lambda, str] = {}
        self._constants: dict[LiteralAttr, str] = {}
        self._functions: list[tuple[func.FuncOp, int]] = []
        self._library_functions: dict[str, func.FuncOp] = {}

    def function_name(self, callee: Callee) -> str:
        """Return the name of the function, which is added to the module on first use."""
        if callee.function not in self._names:
            prefix = SMALL_FUNCTION_PREFIX if callee.is_small else FUNCTION_PREFIX
            self._names[callee.function] = self._new_name(prefix)
            self._add_function(callee, self._names[callee.function])
        return self._names[callee.function]

    def constant(self, attribute: LiteralAttr) -> memref.GetGlobalOp:
        """Return an op whose result is the buffer of an array of constants."""
        type = attribute.dense_attribute.type
        name = self._constants.get(attribute)
        buffer = MemRefType(type.get_element_type(), type.get_shape())
        if name is None:
            name = self._constants[attribute] = self._new_name(CONSTANT_PREFIX)
            symbol, visibility, mark = StringAttr(name), StringAttr("private"), UnitAttr()
            values = attribute.dense_attribute
            constant = memref.GlobalOp.get(
                symbol, buffer, values, visibility, mark, alignment=CONSTANT_ALIGNMENT
            )
            block = self._module.body.block
            assert block.first_op is not None
            block.insert_op_before(constant, block.first_op)
        return memref.GetGlobalOp(SymbolRefAttr(name), buffer)

    def add_library_function(self, name: str, build: Callable[[], func.FuncOp]) -> func.FuncOp:
        """Add a function that does not come from a program to the module, on first use."""
        function = self._library_functions.get(name)
        if function is None:
            self._library_functions[name] = function = build()
            self._module.body.block.add_op(function)
        return function

    def mark_noalias(self) -> None:
        """Mark the result buffers of the functions: they overlap no other buffer."""
        for function, outputs in self._functions:
            mark_noalias(function, range(outputs))

    def _new_name(self, prefix: str) -> str:
        symbols = (op for op in self._module.ops if isinstance(op, func.FuncOp | memref.GlobalOp))
        used_names = {op.sym_name.data for op in symbols} | set(self._names.values())
        number = len(self._constants if prefix == CONSTANT_PREFIX else self._names)
        while (name := f"{prefix}_{number}") in used_names:
            number += 1
        return name

    def _add_function(self, callee: Callee, name: str) -> None:
        outputs = buffer_types(callee.result)
        types = [*outputs, *(each for type in callee.inputs for each in argument_types(type))]
        block = Block(arg_types=types)
        function = func.FuncOp(name, (types, []), Region(block), visibility="private")
        self._module.body.block.add_op(function)
        self._functions.append((function, len(outputs)))
        last = func.ReturnOp()
        block.add_op(last)
        point = InsertPoint.before(last)
        emitter = Emitter(point)
        arguments: list[SSAValue] = list(block.args)
        target = emitter.add(codegen.CastOp(_pop_front(arguments, len(outputs)), callee.result))
        inputs = [_build_parameter(type, arguments, emitter) for type in callee.inputs]
        checks = Checks(block, self._source_locations)
        self.checks.append(checks)
        self._fill(callee.function, inputs, target.results[0], point, Sizes(function, []), checks)


def buffer_types(type: RiseType) -> list[Attribute]:
    """Return the types of the buffers for a type, one for each scalar in it."""
    return [
        MemRefType(leaf.storage, [length.constant for length in lengths])
        for lengths, leaf in leaves(type)
    ]


def argument_types(type: RiseType) -> list[Attribute]:
    """Return the types of the arguments that a value of a type is passed as."""
    if isinstance(type, TupleType):
        return [each for part in components(type) for each in argument_types(part)]
    if isinstance(type, ArrayType):
        return buffer_types(type)
    if isinstance(type, IdxType):
        return [IndexType()]
    assert isinstance(type, Lanes)
    return [unwrap_type(type)]


def _build_parameter(type: RiseType, arguments: list[SSAValue], emitter: Emitter) -> SSAValue:
    """Build a parameter from the next arguments, removing them from the list."""
    if isinstance(type, TupleType):
        first_type, second_type = components(type)
        first = _build_parameter(first_type, arguments, emitter)
        second = _build_parameter(second_type, arguments, emitter)
        return emitter.add(codegen.TupleOp(first, second)).results[0]
    parts = _pop_front(arguments, len(argument_types(type)))
    return emitter.add(codegen.CastOp(parts, type)).results[0]


def _pop_front(arguments: list[SSAValue], count: int) -> list[SSAValue]:
    front = arguments[:count]
    del arguments[:count]
    return front


def whole_buffers(value: SSAValue) -> list[SSAValue] | None:
    """Return the buffers that hold exactly a value; None if it is a part or a view of them."""
    op = value.owner
    if isinstance(op, codegen.CastOp):
        return list(op.sources) if all(isinstance(s.type, MemRefType) for s in op.sources) else None
    if isinstance(op, codegen.FstOp | codegen.SndOp):
        buffers = whole_buffers(op.source)
        if buffers is None or not isinstance(op.source.type, TupleType):
            return None
        count = len(list(leaves(components(op.source.type)[0])))
        return buffers[:count] if isinstance(op, codegen.FstOp) else buffers[count:]
    return None

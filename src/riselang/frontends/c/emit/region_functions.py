"""An MLIR function for a region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FunctionType, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Region, SSAValue

from riselang.dialects.location_attributes import file_location
from riselang.frontends.c.emit.bounds_checks import FAILURE_RECORD_SIZE, runtime_checks
from riselang.frontends.c.emit.expression_emitter import CalledFunctions, ExpressionEmitter
from riselang.frontends.c.emit.loop_emitter import LoopEmitter
from riselang.frontends.c.emit.row_pointers import table_type
from riselang.frontends.c.emit.strided_arrays import with_layout
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop, View
from riselang.frontends.c.model.scop_parameters import Parameter
from riselang.frontends.c.parse.syntax import Access, Expression, Literal, Variable

STACK_BYTES = 16 << 10
"""Local arrays up to this size are allocated on the stack."""


def build_module(scops: Sequence[Scop], trees: Sequence[Any], *, is_arranged: bool) -> ModuleOp:
    """Build a module with a function for each region, and declarations of what they call.

    If loops are scheduled for the machine, innermost ones are vectorized, and elements stay in
    registers; arrays must not alias then.
    """
    functions: list[func.FuncOp] = []
    called_functions: CalledFunctions = {}
    for scop, tree in zip(scops, trees, strict=True):
        function, callees = build_function(scop, tree, scop.name, is_arranged=is_arranged)
        functions.append(function)
        called_functions.update(callees)
    return ModuleOp([*functions, *declare_functions(called_functions)])


def declare_functions(called_functions: CalledFunctions) -> list[func.FuncOp]:
    """Declare the functions that are called."""
    return [
        func.FuncOp.external(name, inputs, [] if output is None else [output])
        for name, (inputs, output) in called_functions.items()
    ]


def build_function(
    scop: Scop, tree: Any, name: str, *, is_arranged: bool
) -> tuple[func.FuncOp, CalledFunctions]:
    """Build the function of a region from isl's loops, and return it with the functions it calls.

    A tuple is a sequence of ASTs, or of functions that emit ops.
    """
    types = [input_type(scop, variable) for variable in scop.inputs]
    types += [FAILURE_RECORD_SIZE] if runtime_checks(scop) else []
    block = Block(arg_types=types)
    emitter = ExpressionEmitter(scop, block)
    if runtime_checks(scop):
        emitter.failure = block.args[-1]
        emitter.failure.name_hint = "failure"
    buffers = _Prologue(emitter).emit(block.args[: len(scop.inputs)])
    for step in tree if isinstance(tree, tuple) else (tree,):
        if callable(step):
            step(emitter)
        elif step is not None:
            LoopEmitter(emitter, is_arranged=is_arranged).emit_node(step)
    # The loops have ended.
    emitter.statement, emitter.counters = None, {}
    results = [emitter.emit_value(scop.result)] if scop.result is not None else []
    for buffer in buffers:
        emitter.insert(memref.DeallocOp.get(buffer))
    emitter.insert(func.ReturnOp(*results))
    outputs = [result.type for result in results]
    function = func.FuncOp(name, FunctionType.from_lists(types, outputs), Region(block))
    location = scop.location
    function.location = file_location(location.file, location.line, location.column)
    return function, emitter.called_functions


def input_type(scop: Scop, variable: Variable) -> Attribute:
    """Return the type of an input variable: a buffer, or a value."""
    if variable.is_array:
        return array_type(variable, scop.views.get(variable))
    is_own = variable.is_parameter and scop.is_whole
    if variable in scop.written_variables and not is_own:
        return MemRefType(variable.type.stored_type, [])
    return variable.type.mlir_type


def array_type(variable: Variable, view: View | None) -> MemRefType[Attribute]:
    if variable.row_pointers:
        return table_type()
    extents = view.extents if view is not None else variable.extents
    shape = [_static_extent(extent) for extent in extents]
    return with_layout(variable, variable.type.stored_type, shape)


def _static_extent(extent: Expression | tuple[Linear, ...] | None) -> int:
    if isinstance(extent, Literal):
        return int(extent.value)
    if isinstance(extent, tuple) and all(factor.is_constant for factor in extent):
        total = 1
        for factor in extent:
            total *= factor.constant
        return total
    return DYNAMIC_INDEX


class _Prologue:
    """The start of a function: parameter values, and buffers for local variables."""

    def __init__(self, emitter: ExpressionEmitter):
        self._out = emitter
        self._scop = emitter.scop

    def emit(self, arguments: Sequence[SSAValue]) -> list[SSAValue]:
        """Emit the prologue, and return the buffers that are freed at the end."""
        for variable, argument in zip(self._scop.inputs, arguments, strict=True):
            argument.name_hint = variable.ascii_name
            if variable.is_array or isinstance(argument.type, MemRefType):
                self._out.memory[variable] = argument
            elif variable in self._scop.written_variables:
                self._copy_parameter(variable, argument)
            else:
                self._out.scalars[variable] = argument
        for parameter in self._scop.parameters:
            self._out.indices.symbols[parameter.name] = self._emit_parameter(parameter)
        return [
            buffer for v in self._scop.locals if (buffer := self._allocate_local(v)) is not None
        ]

    def _copy_parameter(self, variable: Variable, argument: SSAValue) -> None:
        """Copy a parameter that the function changes to its own buffer."""
        self._allocate_local(variable)
        target = Access(variable.location, variable.type, variable, ())
        with self._out.at_location(variable.location):
            self._out.emit_store(argument, target)

    def _emit_parameter(self, parameter: Parameter) -> SSAValue:
        source = parameter.source
        if isinstance(source, tuple):
            values = [self._out.indices.emit_linear(factor) for factor in source]
            total = values[0]
            for value in values[1:]:
                total = self._out.add(arith.MuliOp(total, value))
            return total
        if isinstance(source, Variable):
            source = Access(source.location, source.type, source, ())
        with self._out.at_location(source.location):
            value = self._out.emit_index(source)
            value.name_hint = value.name_hint or parameter.name
            return value

    def _allocate_local(self, variable: Variable) -> SSAValue | None:
        shape = array_type(variable, None).get_shape()
        type = MemRefType(variable.type.stored_type, shape)
        with self._out.at_location(variable.location):
            lengths = [
                self._out.emit_index(extent)
                for extent, length in zip(variable.extents, type.get_shape(), strict=True)
                if length == DYNAMIC_INDEX and extent is not None
            ]
            size = variable.type.bits // 8
            for length in type.get_shape():
                size *= length
            is_small = not lengths and size <= STACK_BYTES
            allocate = memref.AllocaOp if is_small else memref.AllocOp
            op = allocate.get(type.element_type, None, type.get_shape(), lengths)
            buffer = self._out.add(op)
            buffer.name_hint = variable.ascii_name
        self._out.memory[variable] = buffer
        return None if is_small else buffer

"""Lowering rules for C functions: calls with the types of C's calling convention.

A function of scalars is called in an embed. A function of arrays is called by a function of the
module that takes buffers, so that all passes see which buffers the call uses.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

from xdsl.builder import Builder
from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    NoneAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from riselang.dialects.rise import codegen
from riselang.dialects.rise.foreign_functions import (
    FOREIGN,
    ForeignFunction,
    ForeignParameter,
    Passing,
    vector_symbol,
)
from riselang.dialects.rise.functional import ReturnOp
from riselang.dialects.rise.interface_ops import EmbedOp
from riselang.dialects.rise.lane_types import unwrap_type
from riselang.dialects.rise.types import (
    RiseType,
    ScalarType,
    TupleType,
    contains_array,
    i1,
    uncurry,
)
from riselang.lowering.callees import whole_buffers
from riselang.lowering.functional_values import Lazy, Value
from riselang.lowering.lane_functions import lane_function
from riselang.lowering.rule_registry import reads, stores
from riselang.lowering.stored_values import data_type
from riselang.lowering.translation import Translation, result_type
from riselang.support.errors import LimitationError, UserError
from riselang.term.nodes import Pattern

i8 = IntegerType(8)


class ForeignRules(Translation):
    """The rules for C functions."""

    @reads(FOREIGN)
    def read_foreign(self, pattern: Pattern, arguments: Sequence[Lazy]) -> Value:
        function = pattern.spec.foreign
        assert function is not None
        if self.for_gpu or self.callees is None:
            raise LimitationError(
                f"the C function {function.name} runs on the CPU, so it cannot be called in a "
                'program with loops="gpu"',
                pattern.location,
            )
        if function.is_scalar:
            return self._call_with_scalars(pattern, function, arguments)
        result = result_type(pattern)
        if contains_array(result):
            return self.materialize(
                result, lambda target: self.store_foreign(pattern, arguments, target)
            )
        return self._call_with_arrays(pattern, function, arguments, [])[0]

    @stores(FOREIGN)
    def store_foreign(self, pattern: Pattern, arguments: Sequence[Lazy], target: SSAValue) -> None:
        function = pattern.spec.foreign
        assert function is not None
        if not function.outputs or self.for_gpu:
            self.copy(self.force_data(self.read_foreign(pattern, arguments)), target)
            return
        parts = self._result_parts(target, len(function.results))
        scalars = len(parts) - len(function.outputs)
        buffers: list[SSAValue] = []
        copied: list[tuple[SSAValue, SSAValue]] = []
        for part in parts[scalars:]:
            whole = _contiguous_buffer(part)
            if whole is None:
                (whole,) = self.allocate_buffers(data_type(part))
                copied.append((whole, part))
            buffers.append(whole)
        results = self._call_with_arrays(pattern, function, arguments, buffers)
        for value, part in zip(results, parts[:scalars], strict=True):
            self.copy(value, part)
        for buffer, part in copied:
            self.copy(self.add(codegen.CastOp([buffer], data_type(part))), part)

    def force_data(self, value: Value) -> SSAValue:
        assert isinstance(value, SSAValue)
        return value

    def _result_parts(self, target: SSAValue, count: int) -> list[SSAValue]:
        parts: list[SSAValue] = []
        for _ in range(count - 1):
            assert isinstance(data_type(target), TupleType)
            parts.append(self.component(codegen.FstOp, target))
            target = self.component(codegen.SndOp, target)
        return [*parts, target]

    # Scalars

    def _call_with_scalars(
        self, pattern: Pattern, function: ForeignFunction, arguments: Sequence[Lazy]
    ) -> SSAValue:
        values = [self.read_data(argument) for argument in arguments]
        types, result = uncurry(pattern.type)
        block = Block(arg_types=[_plain(type) for type in types])
        builder = Builder(InsertPoint.at_end(block))
        plain = _plain(result)
        if isinstance(plain, VectorType):
            called = self._call_for_lanes(pattern, function, builder, block.args, plain)
        else:
            called = self._emit_scalar_call(pattern, function, builder, block.args)
        builder.insert(ReturnOp([called]))
        assert isinstance(result, ScalarType) or not contains_array(result)
        return self.add(EmbedOp(values, Region(block), result))  # type: ignore[arg-type]

    def _emit_scalar_call(
        self,
        pattern: Pattern,
        function: ForeignFunction,
        builder: Builder,
        operands: Sequence[SSAValue],
    ) -> SSAValue:
        passed = [
            _extend(builder, operand, each.type)
            for operand, each in zip(operands, function.inputs, strict=True)
        ]
        symbol = self._declare(pattern, [each.type for each in passed])
        call = func.CallOp(symbol, passed, _returned_types(function))
        return _narrow(builder, builder.insert(call).results[0], function.result)

    def _call_for_lanes(
        self,
        pattern: Pattern,
        function: ForeignFunction,
        builder: Builder,
        operands: Sequence[SSAValue],
        result: VectorType,
    ) -> SSAValue:
        """Call the vector variant for the number of lanes, or the function for each lane."""
        assert self.callees is not None
        (lanes,) = result.get_shape()
        types = [operand.type for operand in operands]
        variant = dict(function.vectors).get(lanes)
        if variant is not None:
            symbol = vector_symbol(function, variant)
            self.callees.add_library_function(
                symbol, lambda: func.FuncOp.external(symbol, types, [result])
            )
        else:
            symbol = f"rise_lanes_{_short_name(function)}_{lanes}"
            vectors = [type for type in types if isinstance(type, VectorType)]
            self.callees.add_library_function(
                symbol,
                lambda: lane_function(
                    symbol,
                    vectors,
                    result,
                    lambda inner, each: self._emit_scalar_call(pattern, function, inner, each),
                ),
            )
        return builder.insert(func.CallOp(symbol, list(operands), [result])).results[0]

    def _declare(self, pattern: Pattern, types: Sequence[Attribute]) -> str:
        function = pattern.spec.foreign
        assert function is not None
        assert self.callees is not None
        symbol, results = function.symbol, _returned_types(function)
        declared = self.callees.add_library_function(
            symbol, lambda: func.FuncOp.external(symbol, types, results)
        )
        if declared.function_type != FunctionType.from_lists(types, results):
            raise UserError(
                f"the program has another declaration of the C function {function.name}, with "
                f"other types than {function.declaration!r}; declare it with the types of its "
                "definition everywhere",
                pattern.location,
            )
        return symbol

    # Arrays

    def _call_with_arrays(
        self,
        pattern: Pattern,
        function: ForeignFunction,
        arguments: Sequence[Lazy],
        outputs: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """Call a function with buffers; return its result, if it returns one."""
        assert self.callees is not None
        sizes, remaining, filled = pattern.sizes, list(arguments), list(outputs)
        operands: list[SSAValue] = []
        for parameter in function.parameters:
            match parameter.passing:
                case Passing.LENGTH:
                    operands.append(self.emitter.length_value(sizes[parameter.name]))
                case Passing.SCALAR:
                    operands += self.unwrap(self.read_data(remaining.pop(0)))
                case Passing.INPUT:
                    operands.append(_with_dynamic_lengths(self, self._stored(remaining.pop(0))))
                case Passing.OUTPUT:
                    operands.append(_with_dynamic_lengths(self, filled.pop(0)))
        name = f"rise_arrays_{_short_name(function)}"
        self.callees.add_library_function(name, lambda: self._calling_function(name, pattern))
        results = [] if function.result is None else [function.result]
        plain = [type.storage for type in results]
        call = self.emitter.add(func.CallOp(name, operands, plain))
        return [
            self.add(codegen.CastOp([value], type))
            for value, type in zip(call.results, results, strict=True)
        ]

    def _stored(self, argument: Lazy) -> SSAValue:
        """Return the buffer of an array, which is copied unless it is contiguous in memory."""
        value = self.read_data(argument)
        buffer = _contiguous_buffer(value)
        if buffer is None:
            buffer = _contiguous_buffer(self.store_copy(value))
        assert buffer is not None
        return buffer

    def _calling_function(self, name: str, pattern: Pattern) -> func.FuncOp:
        """Return a function that takes buffers and calls a C function with their addresses."""
        function = pattern.spec.foreign
        assert function is not None
        block = Block(arg_types=[_buffer_type(each) for each in function.parameters])
        builder = Builder(InsertPoint.at_end(block))
        passed = [
            _pass(builder, argument, each)
            for argument, each in zip(block.args, function.parameters, strict=True)
        ]
        symbol = self._declare(pattern, [each.type for each in passed])
        call = builder.insert(func.CallOp(symbol, passed, _returned_types(function)))
        results = [_narrow(builder, value, function.result) for value in call.results]
        builder.insert(func.ReturnOp(*results))
        types = FunctionType.from_lists(block.arg_types, [each.type for each in results])
        return func.FuncOp(name, types, Region(block), visibility="private")


def _short_name(function: ForeignFunction) -> str:
    """Return a name that differs from those of other C functions, and of other declarations."""
    text = f"{function.symbol} {function.declaration}"
    return f"{function.name}_{sha256(text.encode()).hexdigest()[:16]}"


def _plain(type: RiseType) -> Attribute:
    return unwrap_type(type)  # type: ignore[arg-type]


def _buffer_type(parameter: ForeignParameter) -> Attribute:
    if parameter.passing is Passing.LENGTH:
        return IndexType()
    if not parameter.lengths:
        return parameter.type.storage
    return MemRefType(parameter.type.storage, [DYNAMIC_INDEX] * len(parameter.lengths))


def _pass(builder: Builder, value: SSAValue, parameter: ForeignParameter) -> SSAValue:
    """Return an argument of the C function: an address is passed as an integer."""
    if parameter.lengths:
        address = builder.insert(memref.ExtractAlignedPointerAsIndexOp.get(value)).results[0]
        return builder.insert(arith.IndexCastOp(address, i64)).results[0]
    if parameter.passing is Passing.LENGTH:
        storage = parameter.type.storage
        value = builder.insert(arith.IndexCastOp(value, storage)).results[0]
    return _extend(builder, value, parameter.type)


def _extend(builder: Builder, value: SSAValue, type: ScalarType) -> SSAValue:
    """Extend a short integer to an int, as C compilers expect of callers."""
    if not isinstance(value.type, IntegerType) or value.type.width.data >= 32:
        return value
    is_unsigned = type.is_unsigned or type == i1
    op = arith.ExtUIOp(value, i32) if is_unsigned else arith.ExtSIOp(value, i32)
    return builder.insert(op).results[0]


def _returned_types(function: ForeignFunction) -> list[Attribute]:
    if function.result is None:
        return []
    return [i8 if function.result == i1 else function.result.storage]


def _narrow(builder: Builder, value: SSAValue, type: ScalarType | None) -> SSAValue:
    """Convert a returned bool, which takes a byte, to one bit."""
    if type != i1:
        return value
    return builder.insert(arith.TruncIOp(value, IntegerType(1))).results[0]


def _contiguous_buffer(value: SSAValue) -> SSAValue | None:
    """Return the buffer that an array fills, if its elements are contiguous."""
    buffers = whole_buffers(value)
    if buffers is None or len(buffers) != 1:
        return None
    type = buffers[0].type
    return buffers[0] if isinstance(type, MemRefType) and type.layout == NoneAttr() else None


def _with_dynamic_lengths(rules: Translation, buffer: SSAValue) -> SSAValue:
    assert isinstance(buffer.type, MemRefType)
    type = MemRefType(buffer.type.element_type, [DYNAMIC_INDEX] * buffer.type.get_num_dims())
    return buffer if buffer.type == type else rules.add(memref.CastOp.get(buffer, type))

"""Entry points with a C interface: scalars by value and bare pointers.

MLIR passes a buffer as a descriptor. A function in MLIR computes the lengths of arrays from the
other parameters, as declared, and one in LLVM IR takes the arguments that C passes.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FunctionType,
    MemRefType,
    StridedLayoutAttr,
)
from xdsl.ir import Attribute, Block, Region, SSAValue

from riselang.frontends.c.emit.bounds_checks import (
    FAILURE_RECORD_SIZE,
    arrays_of_unknown_length,
    runtime_checks,
)
from riselang.frontends.c.emit.expression_emitter import ExpressionEmitter
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.region_functions import array_type, input_type
from riselang.frontends.c.emit.row_pointers import emit_lengths, emit_table_strides
from riselang.frontends.c.emit.strided_arrays import emit_strides
from riselang.frontends.c.model.aliasing import emit_entry_parameters, emit_overlap_check
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import Access, Expression, Variable

INNER_PREFIX = "rise_c_"
"""The name prefix of the function that does the work."""
SOURCE_ORDER_PREFIX = "rise_plain_"
"""The name prefix of the version with loops in source order, for arrays that alias."""
OUTER_PREFIX = "rise_entry_"
"""The name prefix of the function that turns pointers into buffers."""
_UNKNOWN_LENGTH = 1 << 40
"""The outermost length of an array whose declaration omits it; it is never read."""
_LLVM_FLOATS = {32: "float", 64: "double"}


def llvm_type(type: CType) -> str:
    if type.is_float:
        return _LLVM_FLOATS[type.bits]
    return "i1" if type.is_bool else f"i{type.bits}"


def is_buffer(scop: Scop, variable: Variable) -> bool:
    return isinstance(input_type(scop, variable), MemRefType)


def build_wrapper(scop: Scop, *, has_plain: bool) -> func.FuncOp:
    """Build the function that turns pointers into buffers and calls the one that does the work.

    If there is also a version in source order, that is called for arrays that alias.
    """
    types = [pointer_type(input_type(scop, variable)) for variable in scop.inputs]
    unknown_length_arrays = arrays_of_unknown_length(scop)
    count = len(types)
    types += (
        [*(INDEX for _ in unknown_length_arrays), FAILURE_RECORD_SIZE]
        if runtime_checks(scop)
        else []
    )
    block = Block(arg_types=types)
    emitter = ExpressionEmitter(scop, block)
    sizes = dict(zip(unknown_length_arrays, block.args[count:], strict=False))
    for variable, argument in zip(scop.inputs, block.args, strict=False):
        if not isinstance(argument.type, MemRefType):
            emitter.scalars[variable] = argument
    for parameter in scop.parameters:
        if isinstance(parameter.source, Variable) and parameter.source in emitter.scalars:
            source = parameter.source
            access = Access(source.location, source.type, source, ())
            emitter.indices.symbols[parameter.name] = emitter.emit_index(access)
    call_arguments = [
        _make_buffer(emitter, variable, argument, sizes.get(variable))
        for variable, argument in zip(scop.inputs, block.args, strict=False)
    ]
    call_arguments += [block.args[-1]] if runtime_checks(scop) else []
    outputs = [scop.result.type.mlir_type] if scop.result is not None else []
    if has_plain:
        results = _call_by_aliasing(emitter, call_arguments, outputs)
    else:
        results = emitter.insert(
            func.CallOp(f"{INNER_PREFIX}{scop.name}", call_arguments, outputs)
        ).results
    emitter.insert(func.ReturnOp(*results))
    type = FunctionType.from_lists(types, outputs)
    return func.FuncOp(f"{OUTER_PREFIX}{scop.name}", type, Region(block))


def _call_by_aliasing(
    emitter: ExpressionEmitter, call_arguments: Sequence[SSAValue], outputs: Sequence[Attribute]
) -> Sequence[SSAValue]:
    """Call the version in source order if arrays alias, else the other one; return the results."""
    scop = emitter.scop
    buffers = {
        variable: value
        for variable, value in zip(scop.inputs, call_arguments, strict=True)
        if isinstance(value.type, MemRefType)
    }
    regions: list[Region] = []
    for prefix in (SOURCE_ORDER_PREFIX, INNER_PREFIX):
        block = Block()
        with emitter.inside_block(block):
            call = emitter.insert(func.CallOp(f"{prefix}{scop.name}", call_arguments, outputs))
            emitter.insert(scf.YieldOp(*call.results))
        regions.append(Region(block))
    emit_entry_parameters(emitter)
    condition = emit_overlap_check(emitter, buffers)
    return emitter.insert(scf.IfOp(condition, outputs, regions[0], regions[1])).results


def pointer_type(type: Attribute) -> Attribute:
    """Return the type of an unknown-length buffer: one of a single element."""
    if isinstance(type, MemRefType) and (
        DYNAMIC_INDEX in type.get_shape() or isinstance(type.layout, StridedLayoutAttr)
    ):
        return MemRefType(type.element_type, [1])
    return type


def _make_buffer(
    emitter: ExpressionEmitter, variable: Variable, argument: SSAValue, size: SSAValue | None
) -> SSAValue:
    """Turn a C array into a buffer; `size` is its number of elements, if known."""
    if not variable.is_array:
        return argument
    type = array_type(variable, emitter.scop.views.get(variable))
    if argument.type == type:
        return argument
    view = emitter.scop.views.get(variable)
    extents = view.extents if view is not None else variable.extents
    lengths = [_extent_value(emitter, extent) for extent in extents]
    strides = emit_strides(emitter, variable, lengths)
    if variable.row_pointers:
        strides = emit_table_strides(emitter)
        lengths = lengths if size is None else emit_lengths(emitter, size)
    elif size is not None:
        row = emitter.indices.emit_constant(1)
        for length in lengths[1:]:
            row = emitter.add(arith.MuliOp(row, length))
        row = emitter.add(arith.MaxSIOp(row, emitter.indices.emit_constant(1)))
        lengths[0] = emitter.add(arith.DivSIOp(size, row))
    rank = len(extents)
    last = 0 if variable.row_pointers else 1
    layout = StridedLayoutAttr([None] * (rank - 1) + [last], 0)
    cast = memref.ReinterpretCastOp(
        argument, [], lengths, strides[:-1],
        [0], [DYNAMIC_INDEX] * rank, [*([DYNAMIC_INDEX] * (rank - 1)), last],
        MemRefType(type.element_type, [DYNAMIC_INDEX] * rank, layout),
    )  # fmt: skip
    return emitter.add(memref.CastOp.get(emitter.add(cast), type))


def _extent_value(
    emitter: ExpressionEmitter, extent: Expression | tuple[Linear, ...] | None
) -> SSAValue:
    if extent is None:
        return emitter.indices.emit_constant(_UNKNOWN_LENGTH)
    if isinstance(extent, tuple):
        total = emitter.indices.emit_constant(1)
        for factor in extent:
            total = emitter.add(arith.MuliOp(total, emitter.indices.emit_linear(factor)))
        return total
    return emitter.emit_index(extent)


def format_llvm_entry(scop: Scop, visibility: str = "") -> str:
    """Return LLVM IR of the function that C calls, with LLVM's visibility."""
    entry_parameters: list[str] = []
    call_arguments: list[str] = []
    for position, variable in enumerate(scop.inputs):
        value = f"%p{position}"
        type = pointer_type(input_type(scop, variable))
        if isinstance(type, MemRefType):
            entry_parameters.append(f"ptr {value}")
            call_arguments += buffer_arguments(value, type)
        else:
            entry_parameters.append(f"{llvm_type(variable.type)} {value}")
            call_arguments.append(entry_parameters[-1])
    if runtime_checks(scop):
        for position, _ in enumerate(arrays_of_unknown_length(scop)):
            entry_parameters.append(f"i64 %n{position}")
            call_arguments.append(entry_parameters[-1])
        entry_parameters.append("ptr %failure")
        call_arguments += buffer_arguments("%failure", FAILURE_RECORD_SIZE)
    result = "void" if scop.result is None else llvm_type(scop.result.type)
    call = f'call {result} @"{OUTER_PREFIX}{scop.name}"({", ".join(call_arguments)})'
    body = f"  {call}\n  ret void" if scop.result is None else f"  %r = {call}\n  ret {result} %r"
    # C callers read all bits of a byte.
    extended = f"zeroext {result}" if result == "i1" else result
    header = f"{visibility} {extended}" if visibility else extended
    return f'define {header} @"{scop.name}"({", ".join(entry_parameters)}) {{\n{body}\n}}\n'


def buffer_arguments(address: str, type: MemRefType[Attribute]) -> list[str]:
    """Return the arguments of the descriptor of a buffer at an address."""
    numbers = _descriptor_constants(type.get_shape())
    return [f"ptr {address}", f"ptr {address}", "i64 0", *(f"i64 {number}" for number in numbers)]


def _descriptor_constants(shape: Sequence[int]) -> list[int]:
    """Return the lengths and strides of a descriptor."""
    strides: list[int] = []
    stride = 1
    for length in reversed(shape):
        strides.insert(0, stride)
        stride *= length
    return [*shape, *strides]

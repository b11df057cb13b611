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

from riselang.frontends.c.emit.bounds_checks import FAILURE, checks_of, open_arrays
from riselang.frontends.c.emit.functions import array_type, input_type
from riselang.frontends.c.emit.indices import INDEX
from riselang.frontends.c.emit.values import Emitter
from riselang.frontends.c.model.aliasing import share_memory
from riselang.frontends.c.model.linear import Linear
from riselang.frontends.c.model.scop import Scop
from riselang.frontends.c.parse.c_types import CType
from riselang.frontends.c.parse.syntax import Access, Expression, Variable

INNER = "rise_c_"
"""The name prefix of the function that does the work."""
PLAIN = "rise_plain_"
"""The name prefix of the version with loops in source order, for arrays that alias."""
OUTER = "rise_entry_"
"""The name prefix of the function that turns pointers into buffers."""
_UNKNOWN = 1 << 40
"""The outermost length of an array whose declaration omits it; it is never read."""
_LLVM_FLOATS = {32: "float", 64: "double"}


def llvm_type(type: CType) -> str:
    if type.is_float:
        return _LLVM_FLOATS[type.bits]
    return "i1" if type.is_bool else f"i{type.bits}"


def is_buffer(scop: Scop, variable: Variable) -> bool:
    return isinstance(input_type(scop, variable), MemRefType)


def wrapper(scop: Scop, *, has_plain: bool) -> func.FuncOp:
    """Build the function that turns pointers into buffers and calls the one that does the work.

    If there is also a version in source order, that is called for arrays that alias.
    """
    types = [_bare(input_type(scop, variable)) for variable in scop.inputs]
    open_ = open_arrays(scop)
    count = len(types)
    types += [*(INDEX for _ in open_), FAILURE] if checks_of(scop) else []
    block = Block(arg_types=types)
    emitter = Emitter(scop, block)
    sizes = dict(zip(open_, block.args[count:], strict=False))
    for variable, argument in zip(scop.inputs, block.args, strict=False):
        if not isinstance(argument.type, MemRefType):
            emitter.scalars[variable] = argument
    for parameter in scop.parameters:
        if isinstance(parameter.source, Variable) and parameter.source in emitter.scalars:
            source = parameter.source
            access = Access(source.place, source.type, source, ())
            emitter.indices.symbols[parameter.name] = emitter.as_index(access)
    passed = [
        _buffer(emitter, variable, argument, sizes.get(variable))
        for variable, argument in zip(scop.inputs, block.args, strict=False)
    ]
    passed += [block.args[-1]] if checks_of(scop) else []
    outputs = [scop.result.type.mlir] if scop.result is not None else []
    if has_plain:
        results = _chosen(emitter, passed, outputs)
    else:
        results = emitter.insert(func.CallOp(f"{INNER}{scop.name}", passed, outputs)).results
    emitter.insert(func.ReturnOp(*results))
    type = FunctionType.from_lists(types, outputs)
    return func.FuncOp(f"{OUTER}{scop.name}", type, Region(block))


def _chosen(
    emitter: Emitter, passed: Sequence[SSAValue], outputs: Sequence[Attribute]
) -> Sequence[SSAValue]:
    """Call the version in source order if arrays alias, else the other one; return the results."""
    scop = emitter.scop
    buffers = {
        variable: value
        for variable, value in zip(scop.inputs, passed, strict=True)
        if isinstance(value.type, MemRefType)
    }
    regions: list[Region] = []
    for prefix in (PLAIN, INNER):
        block = Block()
        with emitter.inside(block):
            call = emitter.insert(func.CallOp(f"{prefix}{scop.name}", passed, outputs))
            emitter.insert(scf.YieldOp(*call.results))
        regions.append(Region(block))
    condition = share_memory(emitter, buffers)
    return emitter.insert(scf.IfOp(condition, outputs, regions[0], regions[1])).results


def _bare(type: Attribute) -> Attribute:
    """Return the type of an unknown-length buffer: one of a single element."""
    if isinstance(type, MemRefType) and DYNAMIC_INDEX in type.get_shape():
        return MemRefType(type.element_type, [1])
    return type


def _buffer(
    emitter: Emitter, variable: Variable, argument: SSAValue, size: SSAValue | None
) -> SSAValue:
    """Turn a C array into a buffer; `size` is its number of elements, if known."""
    if not variable.is_array:
        return argument
    type = array_type(variable, emitter.scop.views.get(variable))
    if argument.type == type:
        return argument
    view = emitter.scop.views.get(variable)
    extents = view.extents if view is not None else variable.extents
    lengths = [_length(emitter, extent) for extent in extents]
    strides: list[SSAValue] = [emitter.indices.constant(1)]
    for length in reversed(lengths[1:]):
        strides.insert(0, emitter.add(arith.MuliOp(strides[0], length)))
    if size is not None:
        row = emitter.add(arith.MaxSIOp(strides[0], emitter.indices.constant(1)))
        lengths[0] = emitter.add(arith.DivSIOp(size, row))
    rank = len(extents)
    layout = StridedLayoutAttr([None] * (rank - 1) + [1], 0)
    cast = memref.ReinterpretCastOp(
        argument, [], lengths, strides[:-1],
        [0], [DYNAMIC_INDEX] * rank, [*([DYNAMIC_INDEX] * (rank - 1)), 1],
        MemRefType(type.element_type, [DYNAMIC_INDEX] * rank, layout),
    )  # fmt: skip
    return emitter.add(memref.CastOp.get(emitter.add(cast), type))


def _length(emitter: Emitter, extent: Expression | tuple[Linear, ...] | None) -> SSAValue:
    if extent is None:
        return emitter.indices.constant(_UNKNOWN)
    if isinstance(extent, tuple):
        total = emitter.indices.constant(1)
        for factor in extent:
            total = emitter.add(arith.MuliOp(total, emitter.indices.value(factor)))
        return total
    return emitter.as_index(extent)


def llvm_entry(scop: Scop) -> str:
    """Return LLVM IR of the function that C calls."""
    taken: list[str] = []
    passed: list[str] = []
    for at, variable in enumerate(scop.inputs):
        value = f"%p{at}"
        type = _bare(input_type(scop, variable))
        if isinstance(type, MemRefType):
            taken.append(f"ptr {value}")
            passed += [f"ptr {value}", f"ptr {value}", "i64 0"]
            passed += [f"i64 {number}" for number in _numbers(type.get_shape())]
        else:
            taken.append(f"{llvm_type(variable.type)} {value}")
            passed.append(taken[-1])
    if checks_of(scop):
        for at, _ in enumerate(open_arrays(scop)):
            taken.append(f"i64 %n{at}")
            passed.append(taken[-1])
        taken.append("ptr %failure")
        passed += ["ptr %failure", "ptr %failure", "i64 0"]
        passed += [f"i64 {number}" for number in _numbers(FAILURE.get_shape())]
    result = "void" if scop.result is None else llvm_type(scop.result.type)
    call = f'call {result} @"{OUTER}{scop.name}"({", ".join(passed)})'
    body = f"  {call}\n  ret void" if scop.result is None else f"  %r = {call}\n  ret {result} %r"
    return f'define {result} @"{scop.name}"({", ".join(taken)}) {{\n{body}\n}}\n'


def _numbers(shape: Sequence[int]) -> list[int]:
    """Return the lengths and strides of a descriptor."""
    strides: list[int] = []
    stride = 1
    for length in reversed(shape):
        strides.insert(0, stride)
        stride *= length
    return [*shape, *strides]

"""Pass `outline-gpu-kernels`: outlines the code that accesses memory into kernels.

A parallel loop becomes a kernel with many threads; other consecutive statements become a kernel
with a single thread. A sequential loop with parallel loops in it stays on the host, which launches
its kernels in each iteration. The host does not access memory: a scalar that one kernel computes
for a later one is passed in a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects import func, gpu, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from riselang.dialects.constants import index_constant
from riselang.dialects.module import functions, location_of
from riselang.dialects.tile import AttentionOp, ProductOp
from riselang.lowering.gpu.barriers import READING_OPS, insert_barriers
from riselang.lowering.gpu.blocks import distribute_block, effect_of
from riselang.lowering.gpu.kernel_memory import assign_memory
from riselang.lowering.gpu.mapping import (
    GLOBAL,
    GpuIds,
    Launch,
    check_nesting,
    format_mapping,
    launch_dimensions,
    mapping_of,
)
from riselang.lowering.gpu.pipelining import pipeline_copies
from riselang.lowering.gpu.shuffles import lower_shuffles
from riselang.lowering.gpu.small_float_calls import lower_small_floats
from riselang.lowering.gpu.tile_attention import check_attention, lower_attention
from riselang.lowering.gpu.tile_products import (
    check_products,
    find_products,
    has_many_sums,
    lower_products,
    resident_products,
    with_producers,
)
from riselang.lowering.noalias import is_noalias
from riselang.lowering.parallel_loops import make_sequential
from riselang.support.errors import LimitationError
from riselang.support.recursion import with_deep_stack

KERNELS = "kernels"
PASSED_SCALAR = "rise.passed"
"""Marks a load, to be repeated in each kernel, of a scalar that another kernel computed."""
ALIGNMENT = 16
"""The alignment of each buffer in bytes: that of the widest load of a thread."""
REGISTERS, PIPELINED_REGISTERS, MAX_PIPELINED_THREADS = 65536, 128, 256
"""The registers of a multiprocessor, and the maximum number of them for a thread of a kernel that
loads ahead of time: such a kernel has enough of them for its loads, but several blocks must run at
a time."""
HOST_PREFIXES = ("arith.", "memref.alloc", "memref.dealloc", "memref.cast", "memref.get_global")
"""Prefixes of the names of ops that stay on the host."""


@dataclass(frozen=True)
class OutlineGpuKernelsPass(ModulePass):
    """Outlines GPU kernels into a module `kernels`, and launches them from the functions."""

    name = "outline-gpu-kernels"

    shared_bytes: int = 48 << 10
    """The maximum bytes of shared memory of a block."""
    tensor_unit: str = ""
    """The fastest instruction of the tensor cores: `mma`, `wgmma`, or none."""
    multiprocessors: int = 108
    """The number of multiprocessors."""

    @with_deep_stack
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        kernels = gpu.ModuleOp(StringAttr(KERNELS), Region(Block()))  # type: ignore[arg-type]
        helpers = {each.sym_name.data: each for each in functions(op)}
        for function in functions(op):
            if function.sym_visibility is None or function.sym_visibility.data != "private":
                _check_static_sizes(function)
                outliner = _Outliner(function.sym_name.data, kernels, self)
                outliner.outline_block(function.body.block)
        _copy_helpers(kernels, helpers)
        lower_small_floats(kernels)
        _move_constants(op, kernels)
        op.attributes["gpu.container_module"] = UnitAttr()
        op.body.block.add_op(kernels)


def _check_static_sizes(function: func.FuncOp) -> None:
    for type in function.function_type.inputs:
        if isinstance(type, MemRefType) and DYNAMIC_INDEX in type.get_shape():
            raise LimitationError(
                "the sizes of a GPU program must be known when it is compiled; specify them",
                location_of(function),
            )


def _copy_helpers(kernels: gpu.ModuleOp, functions: dict[str, func.FuncOp]) -> None:
    """Copy the functions that kernels call to the kernels' module."""
    stack = list(kernels.body.block.ops)
    copied = {op.sym_name.data for op in stack if isinstance(op, func.FuncOp)}
    while stack:
        for op in stack.pop().walk():
            name = op.callee.string_value() if isinstance(op, func.CallOp) else None
            if name is not None and name not in copied:
                if name not in functions:
                    raise LimitationError(
                        f"{name} is defined elsewhere, where a GPU cannot call it", location_of(op)
                    )
                copied.add(name)
                copy = functions[name].clone()
                kernels.body.block.add_op(copy)
                stack.append(copy)


def _move_constants(module: ModuleOp, kernels: gpu.ModuleOp) -> None:
    """Move the arrays of constants to the module of the kernels: the host reads no memory."""
    first = kernels.body.block.first_op
    for op in list(module.body.block.ops):
        if isinstance(op, memref.GlobalOp):
            op.detach()
            if first is not None:
                kernels.body.block.insert_op_before(op, first)


@dataclass
class _Outliner:
    """Outlines the kernels of a function."""

    function: str
    kernels: gpu.ModuleOp
    device: OutlineGpuKernelsPass
    count: int = field(default=0)

    def outline_block(self, block: Block) -> None:
        """Outline the code of a host block."""
        run: list[Operation] = []
        for op in list(block.ops):
            op = _sequentialize_host_loop(op)
            if _is_parallel(op):
                self._flush(run)
                self._outline_kernel([op])
            elif _contains_parallel(op) and _is_host_loop(op):
                self._flush(run)
                self.outline_block(op.regions[0].block)
            elif op.next_op is not None and not _stays_on_host(op, run):
                _sequentialize(op)
                run.append(op)
        self._flush(run)
        _erase_unused(block)

    def _flush(self, run: list[Operation]) -> None:
        run_ops = {inner for op in run for inner in op.walk()}
        if any(effect_of(op) is not None or _external_results(op, run_ops) for op in run):
            self._outline_kernel(run)
        else:
            for op in reversed(run):
                _erase(op)
        run.clear()

    def _outline_kernel(self, ops: Sequence[Operation]) -> None:
        """Move consecutive ops to a kernel, and launch it instead."""
        block = ops[0].parent
        assert block is not None
        ops = _store_external_results(ops)
        target = ops[-1].next_op
        assert target is not None
        name = f"{self.function}_{self.count}"
        self.count += 1
        loops = [op for first in ops for op in first.walk() if isinstance(op, scf.ParallelOp)]
        for op in ops:
            if isinstance(op, scf.ParallelOp):
                check_nesting(op)
        products = find_products(ops)
        check_products(products, block)
        device = self.device
        launch = with_producers(launch_dimensions(loops), products, device.tensor_unit)
        resident = resident_products(products, device.tensor_unit, device.shared_bytes)
        if resident is not None:
            launch = launch.limit_blocks(resident * device.multiprocessors)
        kernel, arguments = _build_kernel(name, ops)
        self.kernels.body.block.add_op(kernel)
        check_attention(kernel, launch, device.tensor_unit)
        block_launch = Launch() if _is_global(loops) else launch
        is_pipelined = pipeline_copies(kernel, block_launch)
        assign_memory(kernel, self.kernels, block_launch, max_shared_bytes=device.shared_bytes)
        insert_barriers(kernel, block_launch)
        ids = GpuIds(kernel.body.block, launch)
        if _is_global(loops):
            ids.distribute_loop(loops[0])
        else:
            distribute_block(kernel.body.block, ids)
        lower_products(kernel, self.kernels, ids, device.tensor_unit, device.shared_bytes)
        lower_attention(kernel, self.kernels, ids, device.shared_bytes)
        lower_shuffles(kernel, self.kernels)
        _clean_up(kernel)
        kernel.attributes["nvvm.maxntid"] = _dimension_attribute(launch.block)
        if is_pipelined and launch.threads <= MAX_PIPELINED_THREADS:
            blocks = REGISTERS // (PIPELINED_REGISTERS * launch.threads)
            kernel.attributes["nvvm.minctasm"] = IntegerAttr(blocks, i32)
        if resident is not None:
            kernel.attributes["nvvm.minctasm"] = IntegerAttr(resident, i32)
        kernel.attributes["gpu.known_block_size"] = _dimension_attribute(launch.block)
        kernel.attributes["gpu.known_grid_size"] = _dimension_attribute(launch.grid)
        block.insert_ops_before(_launch_ops(name, launch, arguments), target)


def _clean_up(kernel: gpu.FuncOp) -> None:
    """Erase unused arithmetic."""
    for op in list(kernel.walk(reverse=True)):
        if op.name.startswith("arith.") and not any(result.uses for result in op.results):
            _erase(op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()


def _is_parallel(op: Operation) -> bool:
    return mapping_of(op) is not None


def _contains_parallel(op: Operation) -> bool:
    return any(_is_parallel(inner) for inner in op.walk())


def _has_gpu_mapping(op: Operation) -> bool:
    return mapping_of(op) not in (None, GLOBAL)


def _sequentialize_host_loop(op: Operation) -> Operation:
    """Make a parallel loop around GPU loops sequential, so that the host runs it."""
    if not isinstance(op, scf.ParallelOp) or _has_gpu_mapping(op):
        return op
    return make_sequential(op) if any(_has_gpu_mapping(inner) for inner in op.walk()) else op


def _is_host_loop(op: Operation) -> bool:
    """Whether the host can run a loop: its trip count is known, and it carries only buffers."""
    if isinstance(op, scf.ForOp) and all(
        isinstance(value.type, MemRefType) for value in op.iter_args
    ):
        return True
    wrong = next((inner for inner in op.walk() if _has_gpu_mapping(inner)), None)
    if wrong is not None:
        raise LimitationError(
            "the host can only repeat kernels in loops whose trip count is known and that carry no "
            f"scalars: {format_mapping(mapping_of(wrong) or GLOBAL)} is not supported in this loop",
            location_of(wrong),
        )
    return False


def _sequentialize(op: Operation) -> None:
    """Make parallel loops sequential that the host cannot launch, to run in one thread."""
    for inner in list(op.walk()):
        if isinstance(inner, scf.ParallelOp):
            make_sequential(inner)


def _is_global(loops: Sequence[scf.ParallelOp]) -> bool:
    return any(mapping_of(loop) == GLOBAL for loop in loops)


def _stays_on_host(op: Operation, run: Sequence[Operation]) -> bool:
    """Whether an op accesses no memory and does not depend on a kernel's results."""
    needs = any(operand.owner in run for operand in op.operands)
    return op.name.startswith(HOST_PREFIXES) and not needs


def _external_results(op: Operation, kernel_ops: set[Operation]) -> list[SSAValue]:
    """Return the results of an op that are used outside."""
    return [
        result
        for result in op.results
        if any(use.operation not in kernel_ops for use in result.uses)
    ]


def _store_external_results(ops: Sequence[Operation]) -> list[Operation]:
    """Store the results that are used outside the kernel to buffers, and load them there."""
    kernel_ops = {inner for op in ops for inner in op.walk()}
    stores: list[Operation] = []
    for result in [result for op in ops for result in _external_results(op, kernel_ops)]:
        if isinstance(result.type, MemRefType):
            store, replacement = _store_buffer(result, result.type, ops)
        else:
            store, replacement = _store_scalar(result, ops)
        stores.append(store)
        result.replace_uses_with_if(
            replacement, lambda use: use.operation not in kernel_ops and use.operation not in stores
        )
    return [*ops, *reversed(stores)]


def _store_buffer(
    result: SSAValue, type: MemRefType, ops: Sequence[Operation]
) -> tuple[Operation, SSAValue]:
    """Copy a buffer that depends on the kernel's computation to a buffer known to the host."""
    block = ops[0].parent
    assert block is not None
    target = memref.AllocaOp.get(type.element_type, 64, type.get_shape())
    block.insert_op_before(target, ops[0])
    copy = memref.CopyOp(result, target)
    block.insert_op_after(copy, ops[-1])
    return copy, target.memref


def _store_scalar(result: SSAValue, ops: Sequence[Operation]) -> tuple[Operation, SSAValue]:
    """Store a scalar in a buffer, and load it again for the kernels that use it."""
    block = ops[0].parent
    assert block is not None
    target = memref.AllocaOp.get(result.type, 64, [1])
    zero = index_constant(0)
    block.insert_ops_before([target, zero], ops[0])
    store, load = memref.StoreOp.get(result, target, [zero]), memref.LoadOp.get(target, [zero])
    load.attributes[PASSED_SCALAR] = UnitAttr()
    block.insert_ops_after([store, load], ops[-1])
    return store, load.res


def _build_kernel(name: str, ops: Sequence[Operation]) -> tuple[gpu.FuncOp, list[SSAValue]]:
    """Build a kernel from ops, and return it with its arguments."""
    arguments: list[SSAValue] = []
    copied: list[Operation] = []
    kernel_ops = {inner for op in ops for inner in op.walk()}
    inner_blocks = {block for op in kernel_ops for region in op.regions for block in region.blocks}
    for op in (inner for each in ops for inner in each.walk()):
        for operand in op.operands:
            if operand.owner not in kernel_ops and operand.owner not in inner_blocks:
                _record_need(operand, arguments, copied)
    empty = [value for value in arguments if _is_empty(value)]
    arguments = [value for value in arguments if value not in empty]
    body = Block(arg_types=[value.type for value in arguments])
    mapper: dict[SSAValue, SSAValue] = dict(zip(arguments, body.args, strict=True))
    for value in empty:
        # MLIR cannot pass an empty buffer, and nothing is read from it.
        type = value.type
        assert isinstance(type, MemRefType)
        empty_buffer = memref.AllocaOp.get(type.element_type, 64, type.get_shape())
        body.add_op(empty_buffer)
        mapper[value] = empty_buffer.memref
    for value, argument in zip(arguments, body.args, strict=True):
        argument.name_hint = value.name_hint
    for op in copied:
        copy = op.clone(mapper)
        copy.attributes.pop(PASSED_SCALAR, None)
        body.add_op(copy)
        mapper |= dict(zip(op.results, copy.results, strict=True))
    for op in ops:
        op.detach()
        body.add_op(op)
    for value, inner in mapper.items():
        value.replace_uses_with_if(inner, lambda use: use.operation in kernel_ops)
    body.add_op(gpu.ReturnOp([]))
    types = [value.type for value in arguments]
    kernel = gpu.FuncOp(name, (types, []), Region(body), kernel=True)
    written = [_is_written(argument) for argument in body.args]
    distinct = list(map(is_noalias, arguments))
    are_stores_distinct = all(
        is_distinct for is_distinct, stores in zip(distinct, written, strict=True) if stores
    )
    if are_stores_distinct and not has_many_sums(find_products(ops)):
        # What is only read overlaps nothing that is written, so its loads need not wait. They need
        # registers.
        distinct = [True] * len(distinct)
    kernel.attributes["arg_attrs"] = ArrayAttr(map(_argument_attributes, arguments, distinct))
    return kernel, arguments


def _is_written(argument: BlockArgument) -> bool:
    """Whether a kernel may write to an argument: it does more than load elements of it."""
    return isinstance(argument.type, MemRefType) and any(
        use.operation.name not in READING_OPS
        or (isinstance(use.operation, ProductOp | AttentionOp) and use.index == 0)
        for use in argument.uses
    )


def _argument_attributes(value: SSAValue, is_distinct: bool) -> DictionaryAttr:
    """Return the alignment of a buffer; mark one that overlaps nothing that is written."""
    if not isinstance(value.type, MemRefType):
        return DictionaryAttr({})
    noalias = {"llvm.noalias": UnitAttr()} if is_distinct else {}
    return DictionaryAttr({**noalias, "llvm.align": IntegerAttr(ALIGNMENT, i64)})


def _is_empty(value: SSAValue) -> bool:
    return isinstance(value.type, MemRefType) and 0 in value.type.get_shape()


def _record_need(value: SSAValue, arguments: list[SSAValue], copied: list[Operation]) -> None:
    """Record how a kernel gets a value from outside: it is recomputed, or passed."""
    owner = value.owner
    if isinstance(owner, Operation) and owner in copied:
        return
    if isinstance(owner, Operation) and (
        owner.name.startswith(("arith.", "memref.get_global")) or PASSED_SCALAR in owner.attributes
    ):
        for operand in owner.operands:
            _record_need(operand, arguments, copied)
        copied.append(owner)
    elif value not in arguments:
        arguments.append(value)


def _dimension_attribute(counts: tuple[int, int, int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, counts)


def _launch_ops(name: str, launch: Launch, arguments: Sequence[SSAValue]) -> list[Operation]:
    counts = [index_constant(count) for count in (*launch.grid, *launch.block)]
    symbol = SymbolRefAttr(KERNELS, [name])
    return [*counts, gpu.LaunchFuncOp(symbol, counts[:3], counts[3:], kernelOperands=arguments)]


def _erase_unused(block: Block) -> None:
    """Erase scalars that no kernel uses."""
    for op in reversed(list(block.ops)):
        is_idle = (
            op.name.startswith(("arith.", "memref.get_global")) or PASSED_SCALAR in op.attributes
        )
        if is_idle and not any(result.uses for result in op.results):
            _erase(op)

"""Translate functions that launch kernels to plans that the host executes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue, Use

from riselang.compiler.tensor_functions import tensor_maps
from riselang.lowering.gpu.barriers import READING_OPS, STORING_OPS
from riselang.lowering.gpu.tensor_products import ELEMENT_BYTES
from riselang.lowering.temporaries import allocation_bytes
from riselang.native import cuda
from riselang.runtime.launches import Allocate, HostPlan, Launch, Repeat, Step, TensorMap
from riselang.support.errors import InternalError


def host_plan(
    function: FuncOp,
    kernels: gpu.ModuleOp,
    overwritten_parameters: Set[int],
    shared_bytes: Mapping[str, int],
) -> HostPlan:
    """Return the host's plan for a function; it overwrites `overwritten_parameters` fully.

    `shared_bytes` is the shared memory that some kernels ask for at launch.
    """
    values = _ValueNumbers(shared_bytes, kernels)
    for argument in function.body.block.args:
        values.number(argument)
    steps = tuple(_lower_steps(function.body.block, values))
    memory = _ParameterAccesses(function, kernels)
    # The rest of a partially written parameter must be copied to the GPU, too.
    return HostPlan(
        function.sym_name.data,
        steps,
        read=tuple(sorted(memory.read | (memory.stored - overwritten_parameters))),
        written=tuple(sorted(memory.stored)),
    )


class _ParameterAccesses:
    """The parameters that a function's kernels read and store to, directly or as loop-carried
    values."""

    def __init__(self, function: FuncOp, kernels: gpu.ModuleOp):
        self._parents: dict[SSAValue, SSAValue] = {}
        self._arguments = list(function.body.block.args)
        for op in function.walk():
            if isinstance(op, scf.ForOp):
                self._unite_loop_values(op)
        uses = list(_kernel_uses(function, kernels))
        read = [value for value, use in uses if not _is_target(use)]
        self.read = self._parameters(iter([*read, *_mapped_buffers(function, kernels)]))
        self.stored = self._parameters(value for value, use in uses if _may_store(use))

    def _unite_loop_values(self, op: scf.ForOp) -> None:
        body = op.body.block
        last = body.last_op
        assert last is not None
        for values in (op.iter_args, last.operands, op.results):
            for value, carried in zip(values, body.args[1:], strict=True):
                first, second = self._root(value), self._root(carried)
                if first is not second:
                    self._parents[first] = second

    def _root(self, value: SSAValue) -> SSAValue:
        while value in self._parents:
            value = self._parents[value]
        return value

    def _parameters(self, values: Iterator[SSAValue]) -> frozenset[int]:
        roots = {self._root(value) for value in values}
        numbered = enumerate(self._arguments)
        return frozenset(position for position, value in numbered if self._root(value) in roots)


class _ValueNumbers:
    """Numbers of SSA values, by which the host's plan refers to them; the kernels."""

    def __init__(self, shared_bytes: Mapping[str, int], kernels: gpu.ModuleOp) -> None:
        self._numbers: dict[object, int] = {}
        self.shared_bytes = shared_bytes
        self.kernels = kernels

    def number(self, value: object) -> int:
        return self._numbers.setdefault(value, len(self._numbers))

    def kernel(self, op: gpu.LaunchFuncOp) -> gpu.FuncOp:
        return kernel_of_launch(op, self.kernels)

    def numbers(self, values: Iterator[SSAValue]) -> tuple[int, ...]:
        return tuple(self.number(value) for value in values)


def _lower_steps(block: Block, values: _ValueNumbers) -> Iterator[Step]:
    for op in block.ops:
        match op:
            case memref.AllocOp() | memref.AllocaOp():
                yield Allocate(values.number(op.memref), max(allocation_bytes(op), 1))
            case gpu.LaunchFuncOp():
                maps = list(_lower_maps(op, values))
                yield from maps
                yield _lower_launch(op, values, [each.value for each in maps])
            case scf.ForOp():
                yield _lower_loop(op, values)
            case _ if not op.name.startswith(IGNORED_OPS):
                raise InternalError(f"unexpected {op.name} in a host function")
            case _:
                pass


IGNORED_OPS = ("arith.constant", "memref.dealloc", "func.return", "scf.yield")
"""Ops that need no action of the host; memory is freed at the end of a call."""


def _lower_maps(op: gpu.LaunchFuncOp, values: _ValueNumbers) -> Iterator[TensorMap]:
    """Yield the tensor maps that a kernel takes after its other arguments."""
    for number, map in enumerate(tensor_maps(values.kernel(op), values.kernels)):
        shape = map.operand.shape
        element_bytes = ELEMENT_BYTES[map.element]
        yield TensorMap(
            values.number((op, number)),
            values.number(op.kernelOperands[map.buffer]),
            cuda.TENSOR_TYPES[map.element],
            tuple(reversed(map.operand.lengths)),
            tuple(map.operand.stride(each) * element_bytes for each in range(len(shape) - 1))[::-1],
            map.box,
        )


def kernel_of_launch(op: gpu.LaunchFuncOp, kernels: gpu.ModuleOp) -> gpu.FuncOp:
    name = op.kernel.nested_references.data[0].data
    return next(
        each
        for each in kernels.body.block.ops
        if isinstance(each, gpu.FuncOp) and each.sym_name.data == name
    )


def _lower_launch(op: gpu.LaunchFuncOp, values: _ValueNumbers, maps: Sequence[int]) -> Launch:
    grid = (
        _constant_value(op.gridSizeX),
        _constant_value(op.gridSizeY),
        _constant_value(op.gridSizeZ),
    )
    block = (
        _constant_value(op.blockSizeX),
        _constant_value(op.blockSizeY),
        _constant_value(op.blockSizeZ),
    )
    name = op.kernel.nested_references.data[0].data
    shared_bytes = values.shared_bytes.get(name, 0)
    arguments = (*values.numbers(iter(op.kernelOperands)), *maps)
    return Launch(name, grid, block, shared_bytes, arguments)


def _lower_loop(op: scf.ForOp, values: _ValueNumbers) -> Repeat:
    body = op.body.block
    last = body.last_op
    assert last is not None
    return Repeat(
        _constant_value(op.lb),
        _constant_value(op.ub),
        _constant_value(op.step),
        values.number(body.args[0]),
        values.numbers(iter(body.args[1:])),
        values.numbers(iter(op.iter_args)),
        tuple(_lower_steps(body, values)),
        values.numbers(iter(last.operands)),
        values.numbers(iter(op.results)),
    )


def _constant_value(value: SSAValue) -> int:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    raise InternalError(f"expected a constant, but found {value}")


def _kernel_uses(function: FuncOp, kernels: gpu.ModuleOp) -> Iterator[tuple[SSAValue, Use]]:
    """Yield the buffers that the host passes to kernels, with each of their uses in a kernel."""
    for op in function.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            arguments = kernel_of_launch(op, kernels).body.block.args
            for value, argument in zip(op.kernelOperands, arguments, strict=False):
                if isinstance(value.type, MemRefType):
                    yield from ((value, use) for use in argument.uses)


def _mapped_buffers(function: FuncOp, kernels: gpu.ModuleOp) -> Iterator[SSAValue]:
    """Yield the buffers that kernels read through tensor maps."""
    for op in function.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            for map in tensor_maps(kernel_of_launch(op, kernels), kernels):
                yield op.kernelOperands[map.buffer]


def _is_target(use: Use) -> bool:
    """Return whether a use only stores to the buffer."""
    return use.operation.name in STORING_OPS and use.index > 0


def _may_store(use: Use) -> bool:
    return use.operation.name not in (*READING_OPS, ADDRESS)


ADDRESS = "memref.extract_aligned_pointer_as_index"
"""The address of an operand of a product of tiles, which is only read."""


def kernel_module(module: ModuleOp) -> gpu.ModuleOp:
    (result,) = (op for op in module.ops if isinstance(op, gpu.ModuleOp))
    return result

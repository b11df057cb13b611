"""From a function that launches kernels to what the host does when it is called."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, gpu, memref, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from riselang.errors import InternalError
from riselang.lowering.gpu.blocks import STORING
from riselang.lowering.temporaries import bytes_of
from riselang.runtime.launches import Allocate, HostPlan, Launch, Repeat, Step


def host_plan(function: FuncOp, kernels: gpu.ModuleOp) -> HostPlan:
    """What the host does for a call of the function."""
    values = _Values()
    arguments = function.body.block.args
    for argument in arguments:
        values.number(argument)
    steps = tuple(_steps(function.body.block, values))
    read = {values.number(value) for value in _read(function, kernels)}
    return HostPlan(function.sym_name.data, steps, tuple(sorted(read & set(range(len(arguments))))))


class _Values:
    """The positions of values in the list of those that the host knows."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, int] = {}

    def number(self, value: SSAValue) -> int:
        return self._known.setdefault(value, len(self._known))

    def numbers(self, values: Iterator[SSAValue]) -> tuple[int, ...]:
        return tuple(self.number(value) for value in values)


def _steps(block: Block, values: _Values) -> Iterator[Step]:
    for op in block.ops:
        match op:
            case memref.AllocOp() | memref.AllocaOp():
                yield Allocate(values.number(op.memref), max(bytes_of(op), 1))
            case gpu.LaunchFuncOp():
                yield _launch(op, values)
            case scf.ForOp():
                yield _repeat(op, values)
            case _ if not op.name.startswith(IGNORED):
                raise InternalError(f"the host is left with {op.name}")
            case _:
                pass


IGNORED = ("arith.constant", "memref.dealloc", "func.return", "scf.yield")
"""What the host has nothing to do for; memory goes at the end of a call."""


def _launch(op: gpu.LaunchFuncOp, values: _Values) -> Launch:
    grid = _constant(op.gridSizeX), _constant(op.gridSizeY), _constant(op.gridSizeZ)
    block = _constant(op.blockSizeX), _constant(op.blockSizeY), _constant(op.blockSizeZ)
    name = op.kernel.nested_references.data[0].data
    return Launch(name, grid, block, values.numbers(iter(op.kernelOperands)))


def _repeat(op: scf.ForOp, values: _Values) -> Repeat:
    body = op.body.block
    last = body.last_op
    assert last is not None
    return Repeat(
        _constant(op.lb),
        _constant(op.ub),
        _constant(op.step),
        values.number(body.args[0]),
        values.numbers(iter(body.args[1:])),
        values.numbers(iter(op.iter_args)),
        tuple(_steps(body, values)),
        values.numbers(iter(last.operands)),
        values.numbers(iter(op.results)),
    )


def _constant(value: SSAValue) -> int:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    raise InternalError(f"the host does not know {value}")


def _read(function: FuncOp, kernels: gpu.ModuleOp) -> Iterator[SSAValue]:
    """The values of the host that kernels read."""
    known = {op.sym_name.data: op for op in kernels.body.block.ops if isinstance(op, gpu.FuncOp)}
    for op in function.walk():
        if isinstance(op, gpu.LaunchFuncOp):
            kernel = known[op.kernel.nested_references.data[0].data]
            pairs = zip(op.kernelOperands, kernel.body.block.args, strict=True)
            yield from (value for value, argument in pairs if _is_read(argument))


def _is_read(argument: SSAValue) -> bool:
    return any(use.operation.name not in STORING or use.index == 0 for use in argument.uses)


def kernels_of(module: ModuleOp) -> gpu.ModuleOp:
    (found,) = (op for op in module.ops if isinstance(op, gpu.ModuleOp))
    return found

"""A GPU that is none: kernels as code of this processor, each thread of a block a thread here.

Barriers are those of the C library, so that threads really wait for each other, and a race is one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from math import prod
from threading import Thread
from typing import Any, NoReturn

import pytest
from xdsl.dialects import arith, func, gpu, memref
from xdsl.dialects.builtin import (
    Float32Type,
    Float64Type,
    IndexType,
    IntegerType,
    MemRefType,
    ModuleOp,
    i32,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Operation, Region, SSAValue

from riselang import pipelines
from riselang.api.lowered import Lowered
from riselang.compiler.gpu_code import GpuCode
from riselang.compiler.host_plans import kernel_module
from riselang.compiler.module_facts import collect_facts
from riselang.compiler.tensor_functions import tensor_products, tile_attentions
from riselang.lowering.gpu.shuffles import SHUFFLE
from riselang.lowering.temporaries import memref_bytes
from riselang.native import code_loading, cuda
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm.small_floats import add_small_float_functions
from riselang.native.mlir import bindings as mlir
from riselang.native.mlir.generic_printer import native_text
from support.emulated_attention import define_attentions
from support.emulated_products import define_products
from support.emulated_shuffles import SHARES, define_shuffles

SECONDS = 60
"""After which threads that wait for each other are taken to wait for ever."""
NUMBERS = [f"{level}_{axis}" for level in ("block", "thread") for axis in "xyz"]
BARRIER = "pthread_barrier_wait"
C = ctypes.CDLL(None)


@dataclass
class EmulatedGpu:
    """What `native.cuda.Driver` is, on this processor."""

    code: GpuCode
    others: Sequence[GpuCode] = ()
    """The code of other programs that run on it."""
    name: str = "emulated"
    runs_threads_in_turn: bool = False
    held: set[int] = field(default_factory=set[int])
    launched: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = field(default_factory=list)
    streams: list[int | None] = field(default_factory=list)
    """The stream of each launch."""
    loaded: list[Kernel] = field(default_factory=list)
    errors: list[BaseException] = field(default_factory=list)
    context: int = 7

    def __post_init__(self) -> None:
        if not hasattr(C, BARRIER):
            pytest.skip("the C library has no barriers for threads")

    @contextmanager
    def make_current(self) -> Generator[None]:
        yield

    def load(self, ptx: str) -> EmulatedModule:
        (code,) = (each for each in (self.code, *self.others) if each.ptx == ptx)
        return EmulatedModule(self, kernel_module(code.module))

    def allocate(self, bytes: int) -> int:
        # CUDA aligns memory to 256 bytes.
        C.aligned_alloc.restype = ctypes.c_void_p
        size = max(1, -(-bytes // 256)) * 256
        address = C.aligned_alloc(ctypes.c_size_t(256), ctypes.c_size_t(size))
        ctypes.memset(address, 0xFF, bytes)  # what was never written is no number
        self.held.add(address)
        return int(address)

    def synchronize(self) -> None:
        """Nothing runs when a launch has returned."""

    def is_on_device(self, address: int) -> bool:
        return any(held <= address < held + 256 for held in self.held)

    def free(self, address: int) -> None:
        self.held.remove(address)
        C.free(ctypes.c_void_p(address))

    def copy_in(self, target: int, source: int, bytes: int) -> None:
        ctypes.memmove(target, source, bytes)

    copy_out = copy_within = copy_in

    @cached_property
    def host_functions(self) -> dict[str, int]:
        """The addresses of functions that do what the driver's do."""
        number, size, place = ctypes.c_uint64, ctypes.c_uint, ctypes.c_void_p
        arguments: dict[str, list[Any]] = {
            "current": [place], "push": [number], "pop": [place],
            "allocate": [place, number, place], "free": [number, place],
            "launch": [number, *[size] * 7, place, place, place],
            "describe": [place, size, size, number, *[place] * 4, *[size] * 4],
        }  # fmt: skip
        self._kept = [
            ctypes.CFUNCTYPE(ctypes.c_int, *arguments[name])(
                partial(self._answer, getattr(self, f"_{name}"))
            )
            for name in cuda.HOST_FUNCTIONS
        ]
        addresses = [ctypes.cast(each, place).value or 0 for each in self._kept]
        return dict(zip(cuda.HOST_FUNCTIONS, addresses, strict=True))

    def _answer(self, function: Callable[..., None], *arguments: Any) -> int:
        try:
            function(*arguments)
        except BaseException as error:
            self.errors.append(error)
            return 1
        return 0

    def raise_host_error(self, result: int) -> NoReturn:
        raise self.errors.pop()

    def _current(self, place: int) -> None:
        """Each call has to make the context current."""

    def _push(self, context: int) -> None:
        assert context == self.context

    def _pop(self, place: int) -> None:
        """There is one context."""

    def _allocate(self, place: int, bytes: int, stream: int | None) -> None:
        ctypes.c_uint64.from_address(place).value = self.allocate(bytes)

    def _free(self, address: int, stream: int | None) -> None:
        self.free(address)

    def _launch(self, number: int, *arguments: Any) -> None:
        kernel, grid, block = self.loaded[number], arguments[:3], arguments[3:6]
        *_, stream, places, _ = arguments
        values = kernel.arguments(places)
        self.streams.append(stream)
        self.launched.append((kernel.name, grid, block))
        for index in product(*(range(count) for count in reversed(grid))):
            kernel.run_block(tuple(reversed(index)), block, values)

    def _describe(self, place: int, *description: Any) -> None:
        """Store the address of the buffer: emulated products know what they read."""
        ctypes.c_uint64.from_address(place).value = description[2]


@dataclass
class EmulatedModule:
    driver: EmulatedGpu
    kernels: gpu.ModuleOp

    def __post_init__(self) -> None:
        ops = list(self.kernels.body.block.ops)
        globals = [op for op in ops if isinstance(op, memref.GlobalOp)]
        constants = [op for op in globals if op.constant is not None]
        buffers = {op.sym_name.data: _near(op.type) for op in globals if op not in constants}
        self._shared = {name: type for name, type in buffers.items() if memref_bytes(type)}
        self._empty = {name: type for name, type in buffers.items() if not memref_bytes(type)}
        module = ModuleOp([])
        for op in ops:
            if isinstance(op, gpu.FuncOp):
                module.body.block.add_op(self._function(op))
            elif isinstance(op, func.FuncOp) or op in constants:
                module.body.block.add_op(op.clone())
        module.body.block.add_op(func.FuncOp.external(BARRIER, [IndexType()], []))
        module.body.block.add_op(func.FuncOp.external(SHARES, [i32, i32, i32], [i32]))
        text = native_text(module)
        pipeline = pipelines.cpu_pipeline(threads=False, bf16=collect_facts(module).has_bf16)
        bare = tuple(
            "convert-func-to-llvm{use-bare-ptr-memref-call-conv=1}"
            if each == "convert-func-to-llvm"
            else each
            for each in pipeline
        )
        ir = "\n".join([mlir.to_llvm_ir(text, bare), llvm.float_conversions()])
        ir = define_products(ir, list(tensor_products(self.kernels)))
        ir = define_attentions(ir, list(tile_attentions(self.kernels)))
        ir = define_shuffles(ir)
        ir = add_small_float_functions(ir, has_instructions=False)
        self._code = code_loading.load_objects([llvm.jit_object(ir)])

    def _function(self, kernel: gpu.FuncOp) -> func.FuncOp:
        """A kernel that is told its numbers, its barrier and the memory of its block."""
        kernel = kernel.clone()
        body = kernel.body.detach_block(0)
        numbers: dict[str, SSAValue] = {}
        for name in (*NUMBERS, "barrier"):
            numbers[name] = body.insert_arg(IndexType(), len(body.args))
        for name, type in self._shared.items():
            numbers[name] = body.insert_arg(type, len(body.args))
        for name, type in self._empty.items():
            # A pointer alone, as arguments are passed, cannot stand for each empty memref.
            alloca = memref.AllocaOp.get(type.element_type, shape=type.get_shape())
            first = body.first_op
            assert first is not None
            body.insert_op_before(alloca, first)
            numbers[name] = alloca.memref
        region = Region(body)
        for op in list(region.walk()):
            _replace(op, numbers)
        return func.FuncOp(kernel.sym_name.data, (list(body.arg_types), []), region)

    def get_function(self, name: str, shared_bytes: int = 0) -> int:
        sizes = [memref_bytes(type) for type in self._shared.values()]
        (kernel,) = (
            op
            for op in self.kernels.body.block.ops
            if isinstance(op, gpu.FuncOp) and op.sym_name.data == name
        )
        kinds = [_kind(each) for each in kernel.function_type.inputs]
        waits = any(isinstance(op, gpu.BarrierOp | func.CallOp) for op in kernel.walk())
        in_turn = self.driver.runs_threads_in_turn and not waits
        self.driver.loaded.append(Kernel(name, self._code.address(name), kinds, sizes, in_turn))
        return len(self.driver.loaded) - 1


def _kind(type: Attribute) -> Any:
    """The ctypes type of a kernel's argument."""
    match type:
        case MemRefType() | LLVMPointerType():
            return ctypes.c_uint64
        case IndexType():
            return ctypes.c_int64
        case Float32Type():
            return ctypes.c_float
        case Float64Type():
            return ctypes.c_double
        case _:
            assert isinstance(type, IntegerType)
            return {1: ctypes.c_bool, 8: ctypes.c_int8, 16: ctypes.c_int16, 32: ctypes.c_int32,
                    64: ctypes.c_int64}[type.width.data]  # fmt: skip


def _near(type: Attribute) -> MemRefType:
    assert isinstance(type, MemRefType)
    return MemRefType(type.element_type, type.get_shape())


def _replace(op: Operation, numbers: dict[str, SSAValue]) -> None:
    block = op.parent
    assert block is not None
    made: SSAValue | None = None
    match op:
        case gpu.BlockIdOp() | gpu.ThreadIdOp():
            level = "block" if isinstance(op, gpu.BlockIdOp) else "thread"
            made = numbers[f"{level}_{op.dimension.data.value}"]
        case memref.MemorySpaceCastOp():
            got = op.source.owner
            assert isinstance(got, memref.GetGlobalOp)
            made = numbers[got.name_.string_value()]
        case gpu.BarrierOp():
            block.insert_op_before(func.CallOp(BARRIER, [numbers["barrier"]], []), op)
        case func.CallOp() if op.callee.string_value() == SHUFFLE:
            thread = arith.IndexCastOp(numbers["thread_x"], i32)
            shared = func.CallOp(SHARES, [*op.arguments, thread.result], [i32])
            block.insert_ops_before([thread, shared], op)
            made = shared.results[0]
        case gpu.ReturnOp():
            block.insert_op_before(func.ReturnOp(), op)
        case memref.GetGlobalOp():
            if any(isinstance(use.operation, memref.MemorySpaceCastOp) for use in op.memref.uses):
                return  # goes with its cast, which is the next op
            made = numbers.get(op.name_.string_value())
            if made is None:
                return  # a constant
        case _:
            return
    if made is not None:
        op.results[0].replace_all_uses_with(made)
    if isinstance(op, memref.MemorySpaceCastOp):
        got = op.source.owner
        op.detach()
        op.erase()
        assert isinstance(got, Operation)
        op = got
    op.detach()
    op.erase()


@dataclass(frozen=True)
class Kernel:
    """Machine code of a kernel."""

    name: str
    address: int
    kinds: Sequence[Any]
    shared: Sequence[int]
    in_turn: bool = False
    """Whether threads that never wait for each other run in turn, which is faster."""

    def arguments(self, places: int) -> list[Any]:
        """The arguments that lie at some places."""
        addresses = (ctypes.c_uint64 * len(self.kinds)).from_address(places)
        pairs = zip(self.kinds, addresses, strict=True)
        return [kind.from_buffer_copy(ctypes.string_at(address, 8)) for kind, address in pairs]

    def run_block(
        self, number: tuple[int, ...], block: tuple[int, ...], arguments: Sequence[Any]
    ) -> None:
        barrier = ctypes.create_string_buffer(64)
        C.pthread_barrier_init(barrier, None, prod(block))
        shared = [ctypes.create_string_buffer(b"\xff" * size, size) for size in self.shared]
        near = [ctypes.c_uint64(ctypes.addressof(each)) for each in shared]
        kinds = [*self.kinds]
        kinds += [ctypes.c_int64] * (len(NUMBERS) + 1) + [ctypes.c_uint64] * len(near)
        function = ctypes.CFUNCTYPE(None, *kinds)(self.address)
        if self.in_turn:
            for thread in product(*(range(count) for count in reversed(block))):
                function(*arguments, *number, *reversed(thread), 0, *near)
            return
        threads = [
            Thread(
                target=function,
                args=(*arguments, *number, *reversed(thread), ctypes.addressof(barrier), *near),
                daemon=True,
            )
            for thread in product(*(range(count) for count in reversed(block)))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(SECONDS)
            assert not thread.is_alive(), f"the threads of {self.name} wait for each other"
        C.pthread_barrier_destroy(barrier)


Emulate = Callable[[Lowered], EmulatedGpu]
"""Lets a program run without a GPU."""

"""Compile the kernels of a module for a GPU."""

from __future__ import annotations

import re
from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute

from riselang import pipelines
from riselang.compiler.dynamic_shared_memory import (
    DynamicMemory,
    dynamic_memory,
    place_buffers,
)
from riselang.compiler.host_plans import host_plan, kernel_module
from riselang.compiler.lowered_module import LoweredModule
from riselang.compiler.signatures import is_public
from riselang.compiler.tensor_functions import add_tensor_functions
from riselang.dialects.module import functions, location_of, module_text, walk
from riselang.native.gpu_targets import gpu_target
from riselang.native.llvm import codegen as llvm
from riselang.native.llvm.gpu_functions import add_shuffles, round_to_bf16
from riselang.native.llvm.short_loops import mark_short_loops
from riselang.native.llvm.small_floats import add_small_float_functions
from riselang.native.mlir import bindings as mlir
from riselang.native.mlir.generic_printer import native_text
from riselang.runtime.launches import Kernels
from riselang.support.errors import LimitationError
from riselang.support.lazy import cached_property

DATA_LAYOUT = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
"""The LLVM data layout of NVIDIA GPUs; with it, 64-bit values are loaded by one instruction."""


class GpuCode:
    """The GPU code of a module whose kernels have been outlined."""

    def __init__(self, lowered: LoweredModule):
        self.lowered = lowered
        self.module = lowered.module
        _refuse_remainders(self.module)

    @property
    def text(self) -> str:
        """The host functions and the kernels, as MLIR text."""
        return module_text(self.module)

    @cached_property
    def dynamic_memory(self) -> DynamicMemory:
        return dynamic_memory(kernel_module(self.module))

    @cached_property
    def llvm_ir(self) -> str:
        """The LLVM IR of the kernels."""
        return self._lower_kernels(pipelines.NVIDIA, {"llvm.data_layout": StringAttr(DATA_LAYOUT)})

    def _lower_kernels(self, dialect: str, attributes: Mapping[str, Attribute]) -> str:
        kernels = kernel_module(self.module).clone()
        text = native_text(ModuleOp([kernels], dict(attributes)))
        rounds_to_bf16 = dialect == pipelines.NVIDIA and gpu_target().rounds_to_bf16
        pipeline = pipelines.gpu_pipeline(
            bf16=self.lowered.facts.has_bf16, dialect=dialect, rounds_to_bf16=rounds_to_bf16
        )
        ir = add_tensor_functions(mlir.to_llvm_ir(text, pipeline), kernels)
        has_conversions = dialect == pipelines.NVIDIA and gpu_target().converts_small_floats
        ir = add_small_float_functions(ir, has_instructions=has_conversions)
        ir = add_shuffles(round_to_bf16(ir) if rounds_to_bf16 else ir)
        return mark_short_loops(place_buffers(ir, self.dynamic_memory), for_gpu=True)

    @cached_property
    def ptx(self) -> str:
        target = gpu_target()
        return llvm.ptx(self.llvm_ir, target.chip, target.ptx_version, self.lowered.options.effort)

    def amd_assembly(self, chip: str) -> str:
        """Return the kernels for an AMD GPU, such as gfx90a; there is no runtime for them."""
        ir = _in_private_memory(self._lower_kernels(pipelines.AMD, {}))
        return llvm.amd_assembly(ir, chip, self.lowered.options.effort)

    @cached_property
    def kernels(self) -> Kernels:
        kernels = kernel_module(self.module)
        results = {each.name: each.written for each in self.lowered.signatures}
        plans = [
            host_plan(each, kernels, results[each.sym_name.data], self.dynamic_memory.bytes)
            for each in functions(self.module)
            if is_public(each)
        ]
        return Kernels(self.ptx, tuple(plans))


def _in_private_memory(ir: str) -> str:
    """Allocate local variables in the address space of AMD GPUs for private memory."""
    return re.sub(
        r"(?m)^( *)%(\S+) = alloca (.*)$",
        r"\1%private\2 = alloca \3, addrspace(5)\n"
        r"\1%\2 = addrspacecast ptr addrspace(5) %private\2 to ptr",
        ir,
    )


def _refuse_remainders(module: ModuleOp) -> None:
    for op in walk(module):
        if op.name == "arith.remf":
            raise LimitationError(
                "the remainder of floats is not supported on GPUs yet; compute it from a quotient "
                "that is rounded down",
                location_of(op),
            )

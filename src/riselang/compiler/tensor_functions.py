"""The device functions of a module that use tensor cores, and the tensor maps of its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, gpu
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, StringAttr

from riselang.lowering.gpu.attention_tiles import TileAttention
from riselang.lowering.gpu.kernel_memory import SHARED
from riselang.lowering.gpu.tensor_products import TensorProduct, TileOperand, shared_sizes
from riselang.lowering.gpu.tile_attention import SUFFIX, TILE_ATTENTION, shared_name
from riselang.lowering.gpu.tile_products import TENSOR_MAPS, TENSOR_PRODUCT
from riselang.native.llvm.attention import attention_function
from riselang.native.llvm.mma_sync import mma_function
from riselang.native.llvm.wgmma import box, wgmma_function

MAP_BYTES = 128
"""The bytes of a tensor map."""


@dataclass(frozen=True)
class TensorMapParameter:
    """A tensor map that a kernel takes: the part of a buffer that one copy brings."""

    buffer: int
    """The number of the buffer in the parameters of the kernel."""
    element: str
    operand: TileOperand
    box: tuple[int, ...]


def tensor_products(kernels: gpu.ModuleOp) -> Iterator[TensorProduct]:
    """Yield the products of tiles of a module's kernels, in order."""
    for op in kernels.body.block.ops:
        text = op.attributes.get(TENSOR_PRODUCT)
        if isinstance(op, func.FuncOp) and isinstance(text, StringAttr):
            yield TensorProduct.from_text(text.data)


def tile_attentions(kernels: gpu.ModuleOp) -> Iterator[TileAttention]:
    """Yield the attentions of tiles of a module's kernels, in order."""
    for op in kernels.body.block.ops:
        text = op.attributes.get(TILE_ATTENTION)
        if isinstance(op, func.FuncOp) and isinstance(text, StringAttr):
            yield TileAttention.from_text(text.data)


def tensor_maps(kernel: gpu.FuncOp, kernels: gpu.ModuleOp) -> list[TensorMapParameter]:
    """Return the tensor maps that a kernel takes after its other parameters."""
    buffers = kernel.attributes.get(TENSOR_MAPS)
    if not isinstance(buffers, DenseArrayBase):
        return []
    numbers = cast("DenseArrayBase[IntegerType]", buffers).get_values()
    called = {op.callee.string_value() for op in kernel.walk() if isinstance(op, func.CallOp)}
    operands = [
        (product, operand, count)
        for product in tensor_products(kernels)
        if product.name in called and product.unit == "wgmma"
        for operand, count in (
            (product.rows, product.row_count),
            (product.columns, product.column_count),
        )
    ]
    return [
        TensorMapParameter(
            int(buffer), product.element, operand, box(operand, count, product.element_bytes)
        )
        for buffer, (product, operand, count) in zip(numbers, operands, strict=True)
    ]


def add_tensor_functions(ir: str, kernels: gpu.ModuleOp) -> str:
    """Define the device functions in LLVM IR, and pass tensor maps by value."""
    for product in tensor_products(kernels):
        kernel = product.name.rpartition("_product_")[0]
        names = [
            f"{kernel}{SHARED}{product.name}_{number}"
            for number in range(len(shared_sizes(product)))
        ]
        ir = re.sub(rf"(?m)^declare .*@{re.escape(product.name)}\(.*\n", "", ir)
        function = wgmma_function if product.unit == "wgmma" else mma_function
        ir = f"{ir}\n{function(product, *names)}"
    for attention in tile_attentions(kernels):
        kernel = attention.name.rpartition(SUFFIX)[0]
        ir = re.sub(rf"(?m)^declare .*@{re.escape(attention.name)}\(.*\n", "", ir)
        ir = f"{ir}\n{attention_function(attention, shared_name(attention, kernel))}"
    for op in kernels.body.block.ops:
        if isinstance(op, gpu.FuncOp) and (maps := tensor_maps(op, kernels)):
            ir = _pass_by_value(ir, op.sym_name.data, len(op.body.block.args) - len(maps))
    return ir


def _pass_by_value(ir: str, kernel: str, first: int) -> str:
    """Pass the parameters of a kernel from the `first` one on by value, in constant memory."""

    def change(match: re.Match[str]) -> str:
        parameters = match[2].split(", ")
        by_value = f'ptr byval([{MAP_BYTES} x i8]) "nvvm.grid_constant"'
        changed = [each.replace("ptr", by_value, 1) for each in parameters[first:]]
        return f"{match[1]}{', '.join([*parameters[:first], *changed])})"

    return re.sub(rf"(?m)^(define ptx_kernel void @{re.escape(kernel)}\()(.*?)\)", change, ir)

"""Device functions for tensor cores, as code of this processor: each thread computes its sums."""

from __future__ import annotations

import re

from riselang.lowering.gpu.tensor_products import TensorProduct, TileOperand
from riselang.native.llvm.ir_writer import IrWriter
from riselang.native.llvm.product_writer import function_parameters

STORED = {
    "bf16": "i16", "f16": "half", "f32": "float", "i8": "i8", "f8E4M3FN": "i8", "f8E5M2": "i8",
}  # fmt: skip


def define_products(ir: str, products: list[TensorProduct]) -> str:
    """Define the functions that are only declared."""
    for product in products:
        ir = re.sub(rf"(?m)^declare .*@{re.escape(product.name)}\(.*\n", "", ir)
        ir = f"{ir}\n{_Writer(product).function()}"
    return ir


class _Writer(IrWriter):
    def __init__(self, product: TensorProduct):
        super().__init__()
        self.product = product

    def function(self) -> str:
        product = self.product
        type, count = product.accumulator, product.registers
        self.label("entry")
        sums = self.let(f"alloca [{count} x {type}]")
        warp, lane = self.let("udiv i32 %thread, 32"), self.let("urem i32 %thread, 32")
        holds = self.let(f"icmp ult i32 {warp}, {product.warps}")
        self.branch(holds, "registers", "end")
        self.label("registers")
        self.emit("%register = phi i32 [ 0, %entry ], [ %next_register, %store ]")
        row, column = self._position(warp, lane)
        self.jump("depth")
        self.label("depth")
        self.emit("%k = phi i32 [ 0, %registers ], [ %next_k, %added ]")
        self.emit(f"%sum = phi {type} [ %init, %registers ], [ %next_sum, %added ]")
        one = self._element("rows", "r", product.rows, row)
        other = self._element("columns", "c", product.columns, column)
        operation = "mul" if type == "i32" else "fmul"
        factor = self.let(f"{operation} {type} {one}, {other}")
        addition = "add" if type == "i32" else "fadd"
        self.jump("added")
        self.label("added")
        self.emit(f"%next_sum = {addition} {type} %sum, {factor}")
        self.emit("%next_k = add i32 %k, 1")
        # The copy engine brings complete steps.
        depth = -(-product.depth // product.step) * product.step
        more = self.let(f"icmp ult i32 %next_k, {depth}")
        self.branch(more, "depth", "store")
        self.label("store")
        place = self.let(f"getelementptr {type}, ptr {sums}, i32 %register")
        self.emit(f"store {type} %next_sum, ptr {place}")
        self.emit("%next_register = add i32 %register, 1")
        again = self.let(f"icmp ult i32 %next_register, {count}")
        self.branch(again, "registers", "end")
        self.label("end")
        result = self.let(f"load <{count} x {type}>, ptr {sums}, align 4")
        self.emit(f"ret <{count} x {type}> {result}")
        parameters = ", ".join(function_parameters(product))
        header = f"define <{count} x {type}> @{product.name}({parameters}) {{"
        return "\n".join([header, *self.lines, "}", ""])

    def _position(self, warp: str, lane: str) -> tuple[str, str]:
        product = self.product
        tile = self.let("udiv i32 %register, 4")
        row = self._scaled(
            (self.let(f"udiv i32 {warp}, {product.column_warps}"), product.row_tiles * 16),
            (self.let(f"udiv i32 {tile}, {product.column_tiles}"), 16),
            (self.let(f"urem i32 {self.let('udiv i32 %register, 2')}, 2"), 8),
            (self.let(f"udiv i32 {lane}, 4"), 1),
        )
        column = self._scaled(
            (self.let(f"urem i32 {warp}, {product.column_warps}"), product.column_tiles * 8),
            (self.let(f"urem i32 {tile}, {product.column_tiles}"), 8),
            (self.let(f"urem i32 {lane}, 4"), 2),
            (self.let("urem i32 %register, 2"), 1),
        )
        return row, column

    def _scaled(self, *parts: tuple[str, int]) -> str:
        total = "0"
        for value, factor in parts:
            product = self.let(f"mul i32 {value}, {factor}")
            total = self.let(f"add i32 {total}, {product}")
        return total

    def _element(self, name: str, prefix: str, operand: TileOperand, row: str) -> str:
        """An element, or zero outside of the matrix."""
        offset, inside = "0", "true"
        for dimension, size in enumerate(operand.lengths):
            index = f"%{prefix}{dimension}"
            if dimension == operand.row_dimension:
                index = self.let(f"add i32 {index}, {row}")
            elif dimension == operand.depth_dimension:
                index = self.let(f"add i32 {index}, %k")
            is_below = self.let(f"icmp ult i32 {index}, {size}")
            inside = self.let(f"and i1 {inside}, {is_below}")
            scaled = self.let(f"mul i32 {index}, {operand.stride(dimension)}")
            offset = self.let(f"add i32 {offset}, {scaled}")
        safe = self.let(f"select i1 {inside}, i32 {offset}, i32 0")
        stored = STORED[self.product.element]
        place = self.let(f"getelementptr {stored}, ptr %{name}, i32 {safe}")
        value = self._widened(self.let(f"load {stored}, ptr {place}"))
        type = self.product.accumulator
        zero = "0" if type == "i32" else "0.0"
        return self.let(f"select i1 {inside}, {type} {value}, {type} {zero}")

    def _widened(self, value: str) -> str:
        match self.product.element:
            case "bf16":
                wide = self.let(f"zext i16 {value} to i32")
                high = self.let(f"shl i32 {wide}, 16")
                return self.let(f"bitcast i32 {high} to float")
            case "f8E5M2":
                wide = self.let(f"zext i8 {value} to i16")
                half = self.let(f"bitcast i16 {self.let(f'shl i16 {wide}, 8')} to half")
                return self.let(f"fpext half {half} to float")
            case "f8E4M3FN":
                # The exponents of f16 are greater by eight; no test has a NaN.
                wide = self.let(f"sext i8 {value} to i16")
                bits = self.let(f"and i16 {self.let(f'shl i16 {wide}, 7')}, {0xBF80}")
                half = self.let(f"bitcast i16 {bits} to half")
                return self.let(f"fmul float {self.let(f'fpext half {half} to float')}, 256.0")
            case "f16":
                return self.let(f"fpext half {value} to float")
            case "i8":
                return self.let(f"sext i8 {value} to i32")
            case _:
                return value
